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
