package evidence

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestOriginsKeepNoLongTexts(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	record := ArtifactRecord{CommitURL: long, Commit: &GitCommit{SHA1: "abc", Message: &long, Author: &long, Branch: &long, URL: &long}}
	origin := record.Origin()
	for what, text := range map[string]*string{"message": origin.Commit.Message, "author": origin.Commit.Author, "branch": origin.Commit.Branch} {
		if text == nil || *text == "" || len(*text) > maxBriefMessage+len("…") || !utf8.ValidString(*text) || !strings.HasSuffix(*text, "…") {
			t.Errorf("the %s is %v", what, text)
		}
	}
	if origin.CommitURL != "" || origin.Commit.URL != nil {
		t.Errorf("addresses are %.20q and %v", origin.CommitURL, origin.Commit.URL)
	}
	if *record.Commit.Message != long {
		t.Error("the record has been cut as well")
	}
}

func TestOriginsKeepShortTextsAsTheyAre(t *testing.T) {
	short := "short"
	origin := (&ArtifactRecord{CommitURL: short, Commit: &GitCommit{SHA1: "abc", Message: &short, Author: &short, URL: &short}}).Origin()
	if c := origin.Commit; *c.Message != short || *c.Author != short || c.Branch != nil || *c.URL != short || origin.CommitURL != short {
		t.Errorf("got %+v with %+v", origin, c)
	}
}
