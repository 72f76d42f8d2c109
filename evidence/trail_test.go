package evidence

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

func pointer[T any](value T) *T { return &value }

func begunTrail() Trail {
	return Trail{
		Description: "before", Commit: &GitCommit{SHA1: "c"}, OriginURL: pointer("https://a.example"),
		ExternalURLs: map[string]ExternalURL{"a": {Href: "https://b.example"}},
		UserData:     json.RawMessage(`{"a":1}`), Template: "one",
	}
}

func TestApplyChangesOnlyWhatWasSent(t *testing.T) {
	for name, c := range map[string]struct {
		change  TrailChange
		changed []string
	}{
		"nothing": {TrailChange{}, nil},
		"the same again": {TrailChange{
			Description: pointer("before"), Commit: &GitCommit{SHA1: "c"}, OriginURL: pointer("https://a.example"),
			ExternalURLs: map[string]ExternalURL{"a": {Href: "https://b.example"}},
			UserData:     json.RawMessage(`{"a":1}`), Template: "one",
		}, nil},
		"empty description": {TrailChange{Description: pointer("")}, []string{"description"}},
		"commit":            {TrailChange{Commit: &GitCommit{SHA1: "c", Message: pointer("m")}}, []string{"git_commit_info"}},
		"origin":            {TrailChange{OriginURL: pointer("https://c.example")}, []string{"origin_url"}},
		"no more addresses": {TrailChange{ExternalURLs: map[string]ExternalURL{}}, []string{"external_urls"}},
		"user data":         {TrailChange{UserData: json.RawMessage(`[]`)}, []string{"user_data"}},
		"template":          {TrailChange{Template: "two"}, []string{"template"}},
		"a repository":      {TrailChange{Repo: "r"}, nil},
		"two at once":       {TrailChange{Description: pointer("after"), Template: "two"}, []string{"description", "template"}},
	} {
		trail := begunTrail()
		if got := trail.Apply(c.change); !slices.Equal(got, c.changed) {
			t.Errorf("%s: changed %v, want %v", name, got, c.changed)
		}
		if c.changed == nil {
			continue
		}
		if again := trail.Apply(c.change); again != nil {
			t.Errorf("%s: sent again, it changes %v", name, again)
		}
	}
}

func TestRepositoriesAreNotedOnce(t *testing.T) {
	var trail Trail
	for _, id := range []string{"b", "", "a", "b"} {
		trail.Apply(TrailChange{Repo: id})
	}
	if !slices.Equal(trail.RepoIDs, []string{"b", "a"}) {
		t.Errorf("noted %v", trail.RepoIDs)
	}
}

func TestOlderSummaryOfASlotChangesNothing(t *testing.T) {
	var trail Trail
	trail.Summarize("a", SlotSummary{Version: 2, Fingerprint: "f"})
	trail.Summarize("a", SlotSummary{Version: 1, Fingerprint: "g"})
	if got := trail.Slots["a"].Fingerprint; got != "f" {
		t.Errorf("the trail knows %s", got)
	}
	trail.Summarize("a", SlotSummary{Version: 3, Fingerprint: "h"})
	trail.Summarize("b", SlotSummary{Version: 1})
	if got := trail.Fingerprints(); !slices.Equal(got, []string{"h"}) {
		t.Errorf("the trail knows %v", got)
	}
	trail.Flow, trail.Name = "flow", "trail"
	if got := trail.SlotIDs(); !slices.Equal(got, []string{"flow/trail/a", "flow/trail/b"}) {
		t.Errorf("slots %v", got)
	}
}

// TestFingerprintsAreFoundUnderTheirNames tests docs/semantics.md 6.2: a fingerprint has every name under which it was
// reported.
func TestFingerprintsAreFoundUnderTheirNames(t *testing.T) {
	trail := Trail{Slots: map[string]SlotSummary{
		"only": {Fingerprint: "1"}, "replaced": {Fingerprint: "2", HasOlder: true}, "again": {Fingerprint: "1", HasOlder: true}, "unreported": {},
	}}
	for fingerprint, c := range map[string]struct{ newest, possible []string }{
		"1": {[]string{"again", "only"}, []string{"again", "only", "replaced"}},
		"2": {[]string{"replaced"}, []string{"again", "replaced"}},
		"3": {nil, []string{"again", "replaced"}},
		"":  {nil, nil},
	} {
		t.Run("fingerprint "+fingerprint, func(t *testing.T) {
			if got := trail.NamesOf(fingerprint); !slices.Equal(got, c.newest) {
				t.Errorf("it is the newest of %v, want %v", got, c.newest)
			}
			if got := trail.PossibleNamesOf(fingerprint); !slices.Equal(got, c.possible) {
				t.Errorf("it may be one of %v, want %v", got, c.possible)
			}
		})
	}
}

func TestTimesOfATrailDoNotGoBack(t *testing.T) {
	var trail Trail
	trail.Touch(5)
	trail.Touch(3)
	if trail.LastModifiedAt != 5 || trail.EvaluatedAt != 5 {
		t.Errorf("modified at %v, evaluated at %v", trail.LastModifiedAt, trail.EvaluatedAt)
	}
}

func TestFullTrailAdmitsOnlyWhatItKnows(t *testing.T) {
	trail := Trail{Name: "t", Slots: map[string]SlotSummary{}}
	for i := range MaxTrailArtifacts {
		trail.Slots[fmt.Sprint("a", i)] = SlotSummary{}
	}
	for i := range MaxTrailAttestations {
		trail.Entries = append(trail.Entries, Entry{Name: fmt.Sprint("n", i)})
	}
	trail.Slots["a0"] = SlotSummary{Entries: MaxTrailAttestations}
	for what, admitted := range map[string]struct {
		artifacts   []string
		attestation string
		want        bool
	}{
		"known artifact":                    {[]string{"a1"}, "", true},
		"new artifact":                      {[]string{"a1", "new"}, "", false},
		"report of a full artifact":         {[]string{"a0"}, "", true},
		"attestation of a full artifact":    {[]string{"a0"}, "x", false},
		"attestation of an artifact":        {[]string{"a1"}, "x", true},
		"known attestation of the trail":    {nil, "n5", true},
		"new attestation of the full trail": {nil, "new", false},
	} {
		err := trail.Admits(admitted.artifacts, admitted.attestation)
		if (err == nil) != admitted.want || err != nil && CodeOf(err) != Invalid {
			t.Errorf("%s: %v", what, err)
		}
	}
}
