package audit

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestInvalidJSONIsNotRefusedForItsSize cuts and damages JSON at every byte.
func TestInvalidJSONIsNotRefusedForItsSize(t *testing.T) {
	const whole = `{"reports":[{"fingerprint":"a","annotations":{"b":[1,{"c":null}]},"targets":["d",true]}],"states":[],"x":-1.5}`
	for i := range len(whole) {
		for _, content := range []string{whole[:i], whole[:i] + "\x00" + whole[i:], whole[:i] + `"` + whole[i:], whole[:i] + whole[i+1:]} {
			if err := checkSize([]byte(content), &ArtifactDocument{}, 1<<20); err != nil {
				t.Errorf("%s: %v", content, err)
			}
		}
	}
}

// TestSizeBehindDeepNestingIsCounted nests as deep as encoding/json allows, before elements that decode to far more.
func TestSizeBehindDeepNestingIsCounted(t *testing.T) {
	for depth := 9_990; depth <= 10_010; depth++ {
		content := []byte(`{"x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `,"reports":[` +
			strings.TrimSuffix(strings.Repeat(`{},`, 10_000), ",") + `]}`)
		if json.Valid(content) && checkSize(content, &ArtifactDocument{}, 1<<20) == nil {
			t.Errorf("10,000 reports behind %d levels take no more than 1 MB", depth)
		}
	}
}

func TestEstimatedSizeCoversDecoding(t *testing.T) {
	content := []byte(`{"reports":[` + strings.TrimSuffix(strings.Repeat(`{},`, 1_000), ",") + `]}`)
	var document ArtifactDocument
	if err := json.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	if checkSize(content, &document, 100_000) == nil || checkSize(content, &document, 10_000_000) != nil {
		t.Error("1,000 empty reports take less than 100 KB, or more than 10 MB")
	}
}

// TestEstimatedSizeIsThatOfEachForm has 1,000 values of each form. The least size is what decoding them takes.
func TestEstimatedSizeIsThatOfEachForm(t *testing.T) {
	many := func(value string) string { return strings.TrimSuffix(strings.Repeat(value+",", 1_000), ",") }
	type fields struct {
		List []int64 `json:"items,omitempty"`
		Raw  json.RawMessage
	}
	for name, c := range map[string]struct {
		content     string
		value       any
		least, most int64
	}{
		"pointers":             {"[" + many("null") + "]", new([]*[100]byte), 116_000, 122_000},
		"a map":                {"{" + many(`"a name with 26 characters":1`) + "}", new(map[string]int64), 97_000, 101_000},
		"any value":            {"[" + many("0") + "]", new(any), 16_000, 16_100},
		"a field's other case": {`{"Items":[` + many("1") + "]}", new(fields), 16_000, 18_100},
		"an unknown member":    {`{"list":[` + many("1") + "]}", new(fields), 2_000, 2_010},
		"raw JSON":             {`{"raw":[` + many("1") + "]}", new(fields), 2_000, 2_010},
	} {
		if checkSize([]byte(c.content), c.value, c.least-1) == nil || checkSize([]byte(c.content), c.value, c.most) != nil {
			t.Errorf("%s: the estimate is not from %d to %d bytes", name, c.least, c.most)
		}
	}
}
