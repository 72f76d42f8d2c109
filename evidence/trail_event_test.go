package evidence

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestAttestationsMakeAnEventForEachArtifact tests docs/semantics.md 4.4.
func TestAttestationsMakeAnEventForEachArtifact(t *testing.T) {
	trail := Trail{Org: "o", Flow: "f", Name: "t", Slots: map[string]SlotSummary{
		"lib": {Fingerprint: "1"}, "app": {Fingerprint: "1"}, "web": {Fingerprint: "2"},
	}}
	for name, c := range map[string]struct {
		attestation Attestation
		want        []string // id, type, fingerprint, file name and target
	}{
		"of the trail":                       {Attestation{}, []string{"a trail_attestation_reported :: "}},
		"by one name":                        {Attestation{Targets: []string{"web"}}, []string{"a trail_attestation_for_artifact_reported :: web"}},
		"by two names":                       {Attestation{Targets: []string{"web", "new"}}, []string{"a trail_attestation_for_artifact_reported :: web", "a-1 trail_attestation_for_artifact_reported :: new"}},
		"by fingerprint":                     {Attestation{Fingerprint: "2", ArtifactName: "w.tgz", Targets: []string{"web"}}, []string{"a artifact_attestation_reported 2:w.tgz: web"}},
		"by one of two names":                {Attestation{Fingerprint: "1", Targets: []string{"lib"}}, []string{"a artifact_attestation_reported 1:: app"}},
		"of an older artifact":               {Attestation{Fingerprint: "0", Targets: []string{"web"}}, []string{"a artifact_attestation_reported 0:: web"}},
		"a decision on one of another trail": {Attestation{Fingerprint: "9"}, []string{"a artifact_attestation_reported 9:: "}},
	} {
		t.Run(name, func(t *testing.T) {
			c.attestation.ID, c.attestation.Name, c.attestation.CreatedAt = "a", "n", 5
			var got []string
			for _, event := range trail.AttestationEvents(&c.attestation, nil) {
				data := event.Data.(*AttestationReportData)
				got = append(got, fmt.Sprintf("%s %s %s:%s: %s", event.ID, event.Type, data.Fingerprint, data.Filename, data.Target))
				if event.Trail != "f/t" || event.Time != 5 || data.Attestation != "a" || data.Name != "n" {
					t.Errorf("event %+v with %+v", event, data)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestBeginsWithoutRepositoriesHaveAnEmptyList(t *testing.T) {
	trail := begunTrail()
	for want, event := range map[bool]TrailEvent{true: trail.BeginEvent(nil), false: trail.ChangeEvent("e", "you", 2, nil, nil)} {
		stored, err := json.Marshal(event)
		if err == nil {
			err = json.Unmarshal(stored, &event)
		}
		shown, showErr := json.Marshal(event.Data)
		if err != nil || showErr != nil || strings.Contains(string(shown), `"repo_ids":[]`) != want || strings.Contains(string(shown), "repo_ids") != want {
			t.Errorf("%s: %s, %v, %v", event.Type, shown, err, showErr)
		}
	}
}

func TestEventsKeepTheStateOfTheTrailAtTheirTime(t *testing.T) {
	trail := begunTrail()
	trail.Org, trail.Flow, trail.Name, trail.CreatedAt, trail.CreatedByID = "o", "f", "t", 1, "me"
	trail.AddRepo("r")
	begun := trail.BeginEvent(nil)
	changes := trail.Apply(TrailChange{Description: pointer("after"), Commit: &GitCommit{SHA1: "d"}, ExternalURLs: map[string]ExternalURL{}, Repo: "s"})
	changed := trail.ChangeEvent("e", "you", 2, changes, nil)
	first, second := begun.Data.(*TrailBeginData), changed.Data.(*TrailBeginData)
	if begun.ID >= NewID() || begun.Time != 1 || first.SettingUserID != "me" || first.Trail.Name != "t" || first.Trail.Description != "before" ||
		first.Trail.Commit.SHA1 != "c" || len(first.Trail.ExternalURLs) != 1 || first.Trail.UserData != `{"a":1}` || !slices.Equal(first.Trail.RepoIDs, []string{"r"}) {
		t.Errorf("begun %+v with %+v", begun, first)
	}
	if changed.ID != "e" || changed.Time != 2 || second.SettingUserID != "you" || second.Trail.Name != "" || second.Trail.Description != "after" ||
		second.Trail.Commit.SHA1 != "d" || second.Trail.RepoIDs != nil || !slices.Equal(second.Changes, changes) {
		t.Errorf("changed %+v with %+v", changed, second)
	}
}
