package snapshot

import (
	"testing"

	"attestry/evidence"
)

func TestExpressionsPickSnapshots(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "3": 3, "-1": 3, "-3": 1, "~0": 3, "~2": 1, "#2": 2, "#-1": 3} {
		e, err := ParseExpression(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := e.Resolve(3, "acme", "prod")
		if err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestExpressionsOutsideAreNotFoundInTheWordsOfTheContract(t *testing.T) {
	for _, c := range []struct {
		text   string
		latest int64
		want   string
	}{
		{"-1", 0, "Org: 'acme'. Snapshot 'prod#-1' resolves to 'prod#0'. len(snapshots) == 0. Indexes are 1-based"},
		{"23", 3, "Org: 'acme'. Snapshot 'prod#23' resolves to 'prod#23'. len(snapshots) == 3. Indexes are 1-based"},
		{"0", 3, "Org: 'acme'. Snapshot 'prod#0' resolves to 'prod#0'. len(snapshots) == 3. Indexes are 1-based"},
		{"~5", 3, "Org: 'acme'. Snapshot 'prod#-6' resolves to 'prod#-2'. len(snapshots) == 3. Indexes are 1-based"},
	} {
		e, err := ParseExpression(c.text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Resolve(c.latest, "acme", "prod")
		if evidence.CodeOf(err) != evidence.NotFound || err.Error() != c.want {
			t.Errorf("%s: got %v", c.text, err)
		}
	}
}

func TestGarbledExpressionsAreInvalid(t *testing.T) {
	for _, text := range []string{"", "five", "1.5", "~", "~-1", "~x", "##1", "#", "+1", "#+1", "99999999999999999999", "1 "} {
		_, err := ParseExpression(text)
		if evidence.CodeOf(err) != evidence.Invalid || err.Error() != "Bad snappish "+text {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func FuzzParseExpression(f *testing.F) {
	for _, seed := range []string{"1", "-1", "~3", "#5", "@{now}", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseExpression(text)
		if err != nil {
			return
		}
		if n, err := e.Resolve(10, "o", "e"); err == nil && (n < 1 || n > 10) {
			t.Errorf("%q resolves to %d of 10", text, n)
		}
	})
}
