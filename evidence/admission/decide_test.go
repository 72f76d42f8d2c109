package admission

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"attestry/evidence"
)

func image(reference, fingerprint string) Image {
	return Image{Reference: reference, Fingerprint: fingerprint}
}

func TestDecisionsFollowTheSettings(t *testing.T) {
	t.Parallel()
	known := Finding{Image: image("web@sha256:a", "a"), Valid: true, Known: true}
	compliant, failing, allowed := known, known, known
	compliant.Compliant = true
	failing.Reasons = []string{"The scan is missing. Attest it."}
	allowed.Allowed = true
	unknown := Finding{Image: image("new@sha256:b", "b"), Valid: true}
	unknownCompliant, unknownAllowed := unknown, unknown
	unknownCompliant.Compliant, unknownAllowed.Allowed = true, true
	tagged := Finding{Image: image("web:1", ""), Valid: true}
	invalid := Finding{Image: image("W E B", "")}
	for _, one := range []struct {
		name     string
		settings func(*evidence.AdmissionSettings)
		finding  Finding
		want     Outcome
		says     string
	}{
		{"compliant", nil, compliant, Admitted, ""},
		{"failing", nil, failing, Denied, "The scan is missing. Attest it."},
		{"failing where it warns", func(s *evidence.AdmissionSettings) { s.Mode = evidence.AdmissionWarn }, failing, Warned, "The scan is missing."},
		{"allow-listed", nil, allowed, Admitted, ""},
		{"unknown", nil, unknown, Denied, "No flow knows the artifact."},
		{"unknown, but compliant with policies", nil, unknownCompliant, Admitted, ""},
		{"unknown and denied", func(s *evidence.AdmissionSettings) { s.UnknownArtifacts = evidence.RuleDeny }, unknownCompliant, Denied, "No flow knows"},
		{"unknown and warned of", func(s *evidence.AdmissionSettings) { s.UnknownArtifacts = evidence.RuleWarn }, unknown, Warned, "No flow knows"},
		{"unknown and admitted", func(s *evidence.AdmissionSettings) { s.UnknownArtifacts = evidence.RuleAdmit }, unknown, Admitted, ""},
		{"unknown, denied and allow-listed", func(s *evidence.AdmissionSettings) { s.UnknownArtifacts = evidence.RuleDeny }, unknownAllowed, Admitted, ""},
		{"tag alone", nil, tagged, Denied, "no digest"},
		{"tag alone, warned of", func(s *evidence.AdmissionSettings) { s.Tags = evidence.RuleWarn }, tagged, Warned, "no digest"},
		{"tag that was not reported", func(s *evidence.AdmissionSettings) { s.Tags = evidence.RuleResolve }, tagged, Denied, "No artifact was reported under this name and tag."},
		{"no reference", func(s *evidence.AdmissionSettings) { s.Tags = evidence.RuleWarn }, invalid, Denied, "Correct it."},
	} {
		t.Run(one.name, func(t *testing.T) {
			settings := evidence.DefaultAdmission()
			settings.Mode = evidence.AdmissionDeny
			if one.settings != nil {
				one.settings(&settings)
			}
			decision := Decide(&settings, &Workload{}, []Finding{compliant, one.finding})
			if decision.Outcome != one.want || (len(decision.Refusals) == 0) != (one.says == "") {
				t.Fatalf("decided %+v", decision)
			}
			if one.says != "" && !strings.Contains(decision.Refusals[0].Reason, one.says) {
				t.Errorf("says %q", decision.Refusals[0].Reason)
			}
		})
	}
}

func TestBreakGlassReasonAdmitsARefusedWorkload(t *testing.T) {
	t.Parallel()
	settings := evidence.DefaultAdmission()
	settings.Mode, settings.BreakGlass = evidence.AdmissionDeny, "why"
	workload := NewWorkload("Pod", "shop", map[string]string{"why": "INC-1"})
	if got := Decide(&settings, workload, []Finding{{Image: image("W", "")}}); got.Outcome != BreakGlass || got.Reason != "INC-1" || !got.Allowed() {
		t.Errorf("decided %+v", got)
	}
	if got := Decide(&settings, workload, []Finding{{Valid: true, Compliant: true, Known: true, Image: image("a", "a")}}); got.Outcome != Admitted {
		t.Errorf("decided %+v", got)
	}
}

func TestExemptWorkloadsAreNotJudged(t *testing.T) {
	t.Parallel()
	settings := evidence.DefaultAdmission()
	workload := NewWorkload("Pod", "shop", nil, "web:1")
	if Judged(&settings, workload) {
		t.Error("it is judged although the mode is off")
	}
	settings.Mode = evidence.AdmissionWarn
	if !Judged(&settings, workload) || Judged(&settings, NewWorkload("Pod", "kube-system", nil, "web:1")) || Judged(&settings, NewWorkload("Pod", "shop", nil)) {
		t.Error("what is judged is wrong")
	}
	settings.ExemptNamespaces = []string{""}
	if !Judged(&settings, NewWorkload("Pod", "", nil, "web:1")) {
		t.Error("a workload of an unknown namespace is exempt")
	}
}

func TestRunningImagesAreNotJudgedAgain(t *testing.T) {
	t.Parallel()
	workload := NewWorkload("Pod", "shop", nil, "web:1", "new:1")
	workload.Without(NewWorkload("Pod", "shop", nil, "web:1"))
	if len(workload.Images) != 1 || workload.Images[0] != "new:1" {
		t.Errorf("judged are %v", workload.Images)
	}
}

func TestMessagesAndWarningsStayShort(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		images, length int
		more           string
	}{{1, 10, ""}, {1, 5000, ""}, {3, 900, "... and 1 image more"}, {1000, 100, "images more"}, {1000, 5000, "... and 999 images more"}} {
		t.Run(fmt.Sprintf("%d of %d", one.images, one.length), func(t *testing.T) {
			decision := Decision{Outcome: Denied}
			for i := range one.images {
				decision.Refusals = append(decision.Refusals, Refusal{Image: fmt.Sprintf("web-%d", i), Reason: strings.Repeat("é", one.length/2), Denied: true})
			}
			decision.Refusals = append(decision.Refusals, Refusal{Image: "only warned of", Reason: "x"})
			message := decision.Message("prod", "https://example.com/acme/environments/prod")
			if len(message) > 2048 || !utf8.ValidString(message) || strings.Contains(message, "only warned of") ||
				!strings.HasSuffix(message, "\nSee https://example.com/acme/environments/prod") || !strings.Contains(message, "web-0: ") || !strings.Contains(message, one.more) {
				t.Errorf("%d bytes: %s", len(message), message)
			}
			for _, warning := range decision.Warnings() {
				if utf8.RuneCountInString(warning) > 256 {
					t.Errorf("a warning has %d characters", utf8.RuneCountInString(warning))
				}
			}
			if len(decision.Warnings()) > 15 {
				t.Errorf("%d warnings", len(decision.Warnings()))
			}
		})
	}
}

func TestRepeatedDecisionsWithinAMinuteAreOneRecord(t *testing.T) {
	t.Parallel()
	workload := NewWorkload("Pod", "shop", nil, "web:1")
	decision := Decision{Outcome: Denied, Refusals: []Refusal{{Image: "web:1", Reason: "x"}}}
	first := NewRecord("o", "e", "u", workload, &decision, 600)
	if same := NewRecord("o", "e", "u", workload, &decision, 659); same.ID != first.ID {
		t.Error("a repeat is another record")
	}
	first.Repeat(NewRecord("o", "e", "u", workload, &decision, 659))
	if first.Count != 2 || first.FirstAt != 600 || first.LastAt != 659 {
		t.Errorf("counted %+v", first)
	}
	other := decision
	other.Outcome = Warned
	for name, record := range map[string]Record{
		"minute": NewRecord("o", "e", "u", workload, &decision, 660), "environment": NewRecord("o", "f", "u", workload, &decision, 600),
		"user": NewRecord("o", "e", "v", workload, &decision, 600), "outcome": NewRecord("o", "e", "u", workload, &other, 600),
		"namespace": NewRecord("o", "e", "u", NewWorkload("Pod", "bank", nil, "web:1"), &decision, 600),
	} {
		if record.ID == first.ID {
			t.Errorf("another %s is the same record", name)
		}
	}
}

func TestRecordsAreBounded(t *testing.T) {
	t.Parallel()
	decision := Decision{Outcome: Denied}
	for range 1000 {
		decision.Refusals = append(decision.Refusals, Refusal{Image: strings.Repeat("i", 5000), Reason: strings.Repeat("r", 5000)})
	}
	record := NewRecord("o", "e", "u", NewWorkload("Pod", "shop", nil), &decision, 1)
	if len(record.Refusals) != 50 || record.Others != 950 || len([]rune(record.Refusals[0].Image)) != 1000 || len([]rune(record.Refusals[0].Reason)) != 1000 {
		t.Errorf("%d images and %d others", len(record.Refusals), record.Others)
	}
}
