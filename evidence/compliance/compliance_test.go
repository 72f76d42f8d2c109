package compliance_test

import (
	"fmt"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/evidence/template"
)

// expected is a template that requires one attestation of the trail and two artifacts.
const expected = `
version: 1
trail:
  attestations:
    - {name: ticket, type: jira}
  artifacts:
    - name: api
      attestations:
        - {name: tests, type: junit}
        - {name: free, type: "*"}
    - name: web
      attestations:
        - {name: approved, type: decision}
`

// builder builds a trail from attestations and artifacts, reported one after the other.
type builder struct {
	template template.Template
	trail    evidence.Trail
	slots    map[string]evidence.Slot
	now      float64
}

func begin(t *testing.T, content string) *builder {
	t.Helper()
	parsed, err := template.Parse([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return &builder{template: parsed, trail: evidence.Trail{Template: "t"}, slots: map[string]evidence.Slot{}}
}

func (s *builder) entry(name, kind string, compliant bool) evidence.Entry {
	s.now++
	return evidence.Entry{Name: name, Type: kind, ID: fmt.Sprint("id", s.now), Time: s.now, Compliant: compliant}
}

// ofTrail reports an attestation of the trail.
func (s *builder) ofTrail(name, kind string, compliant bool) *builder {
	entry := s.entry(name, kind, compliant)
	s.trail.Entries = evidence.AddEntry(s.trail.Entries, entry)
	s.trail.EntriesAt = s.now
	s.trail.Touch(s.now)
	return s
}

func (s *builder) change(name string, change func(*evidence.Slot)) *builder {
	slot := s.slots[name]
	slot.Name = name
	change(&slot)
	slot.Version++
	s.slots[name] = slot
	s.trail.Summarize(name, compliance.Summarize("t", &s.template, s.trail.Author(), &slot))
	s.trail.Touch(s.now)
	return s
}

// report reports an artifact with a commit.
func (s *builder) report(name, fingerprint, commit string) *builder {
	s.now++
	return s.change(name, func(slot *evidence.Slot) {
		slot.Report(evidence.SlotArtifact{
			Fingerprint: fingerprint, Commit: commit, Record: fmt.Sprint("r", s.now), Filename: name + ".tgz", Time: s.now,
		})
	})
}

// byName reports an attestation of the artifact with a reference name and a commit.
func (s *builder) byName(slot, commit, name, kind string, compliant bool) *builder {
	entry := evidence.SlotEntry{Entry: s.entry(name, kind, compliant), Commit: commit}
	return s.change(slot, func(slot *evidence.Slot) { slot.Attest(entry) })
}

// byPrint reports an attestation of the artifact with a fingerprint.
func (s *builder) byPrint(slot, fingerprint, name, kind string, compliant bool) *builder {
	entry := evidence.SlotEntry{Entry: s.entry(name, kind, compliant), Fingerprint: fingerprint}
	return s.change(slot, func(slot *evidence.Slot) { slot.Attest(entry) })
}

// full is a trail with all that is expected, all compliant.
func full(t *testing.T) *builder {
	return begin(t, expected).
		ofTrail("ticket", "jira", true).
		report("api", "a", "c").report("web", "w", "c").
		byPrint("api", "a", "tests", "junit", true).byName("api", "c", "free", "snyk", true).
		byName("web", "", "approved", "system:decision", true)
}

// words returns a report as one line: the status of the trail, its attestations, and each artifact with its own. A !
// marks what is unexpected, a - what is not compliant, a ? what is missing.
func words(report compliance.Report) string {
	out := string(report.Status) + list(report.Attestations)
	for _, artifact := range report.Artifacts {
		out += " | " + mark(artifact.Unexpected, "!") + artifact.Name
		if artifact.Artifact != nil {
			out += "=" + artifact.Artifact.Fingerprint
		}
		out += " " + string(artifact.Status) + list(artifact.Attestations)
	}
	return out
}

func list(all []compliance.AttestationStatus) string {
	var out []string
	for _, one := range all {
		text := mark(one.Unexpected, "!") + one.Name + ":" + one.Type
		if one.Entry == nil {
			text += "?"
		} else {
			text += mark(!one.Entry.Compliant, "-")
		}
		out = append(out, text)
	}
	return " [" + strings.Join(out, " ") + "]"
}

func mark(set bool, sign string) string {
	if set {
		return sign
	}
	return ""
}

// TestTrailIsEvaluatedUnderItsTemplate tests docs/semantics.md 7.2 rule by rule.
func TestTrailIsEvaluatedUnderItsTemplate(t *testing.T) {
	const (
		goodTicket = " [ticket:jira]"
		goodAPI    = " | api=a COMPLIANT [tests:junit free:snyk]"
		goodWeb    = " | web=w COMPLIANT [approved:system:decision]"
	)
	for name, c := range map[string]struct {
		builder *builder
		want    string
	}{
		"nothing was reported": {begin(t, expected),
			"INCOMPLETE [ticket:jira?] | api MISSING [tests:junit? free:*?] | web MISSING [approved:decision?]"},
		"the empty template requires nothing": {begin(t, template.Empty), "COMPLIANT []"},
		"the empty template and unexpected reports": {begin(t, template.Empty).ofTrail("x", "generic", true).report("api", "a", ""),
			"COMPLIANT [!x:generic] | !api=a COMPLIANT []"},
		"all is there": {full(t), "COMPLIANT" + goodTicket + goodAPI + goodWeb},
		"a trail's attestation is missing": {begin(t, expected).report("api", "a", "c").
			byPrint("api", "a", "tests", "junit", true).byPrint("api", "a", "free", "snyk", true).
			report("web", "w", "c").byPrint("web", "w", "approved", "system:decision", true),
			"INCOMPLETE [ticket:jira?] | api=a INCOMPLETE [tests:junit free:snyk] | web=w INCOMPLETE [approved:system:decision]"},
		"a trail's attestation is not compliant": {full(t).ofTrail("ticket", "jira", false),
			"NON-COMPLIANT [ticket:jira-] | api=a NON-COMPLIANT [tests:junit free:snyk] | web=w NON-COMPLIANT [approved:system:decision]"},
		"an unexpected one of the trail is compliant": {full(t).ofTrail("more", "generic", true),
			"COMPLIANT [ticket:jira !more:generic]" + goodAPI + goodWeb},
		"an unexpected one of the trail is not": {full(t).ofTrail("more", "generic", false),
			"NON-COMPLIANT [ticket:jira !more:generic-] | api=a NON-COMPLIANT [tests:junit free:snyk] | web=w NON-COMPLIANT [approved:system:decision]"},
		"an unexpected one of an artifact is not": {full(t).byPrint("api", "a", "more", "generic", false),
			"NON-COMPLIANT" + goodTicket + " | api=a NON-COMPLIANT [tests:junit free:snyk !more:generic-]" + goodWeb},
		"a wrong type leaves the expected one missing": {full(t).ofTrail("ticket", "generic", true),
			"INCOMPLETE [ticket:jira? !ticket:generic] | api=a INCOMPLETE [tests:junit free:snyk] | web=w INCOMPLETE [approved:system:decision]"},
		"a wrong type of an artifact": {full(t).byPrint("api", "a", "tests", "snyk", true),
			"INCOMPLETE" + goodTicket + " | api=a INCOMPLETE [tests:junit? free:snyk !tests:snyk]" + goodWeb},
		"a wrong type that is not compliant": {full(t).byPrint("api", "a", "tests", "snyk", false),
			"NON-COMPLIANT" + goodTicket + " | api=a NON-COMPLIANT [tests:junit? free:snyk !tests:snyk-]" + goodWeb},
		"a decision is no custom type of that name": {full(t).byPrint("web", "w", "approved", "custom:decision", true),
			"INCOMPLETE" + goodTicket + goodAPI + " | web=w INCOMPLETE [approved:decision? !approved:custom:decision]"},
		"non-compliant takes precedence over missing": {begin(t, expected).report("api", "a", "c").byPrint("api", "a", "free", "snyk", false),
			"NON-COMPLIANT [ticket:jira?] | api=a NON-COMPLIANT [tests:junit? free:snyk-] | web MISSING [approved:decision?]"},
		"an artifact that was attested by name before it is reported": {begin(t, expected).byName("api", "c", "tests", "junit", true),
			"INCOMPLETE [ticket:jira?] | api MISSING [tests:junit free:*?] | web MISSING [approved:decision?]"},
		"a failing attestation of an artifact that is not reported": {begin(t, expected).byName("api", "c", "tests", "junit", false),
			"NON-COMPLIANT [ticket:jira?] | api MISSING [tests:junit- free:*?] | web MISSING [approved:decision?]"},
		"an unexpected artifact that is not reported": {full(t).byName("job", "", "x", "generic", true),
			"INCOMPLETE" + goodTicket + goodAPI + goodWeb + " | !job MISSING [!x:generic]"},
		"an unexpected artifact that is not reported, and fails": {full(t).byName("job", "", "x", "generic", false),
			"NON-COMPLIANT" + goodTicket + goodAPI + goodWeb + " | !job MISSING [!x:generic-]"},
		"an attestation by name of another commit": {begin(t, expected).report("api", "a", "c").byName("api", "d", "tests", "junit", true),
			"INCOMPLETE [ticket:jira?] | api=a INCOMPLETE [tests:junit? free:*?] | web MISSING [approved:decision?]"},
		"only the newest artifact of a name counts": {full(t).byPrint("api", "a", "free", "snyk", false).report("api", "b", "c").
			byPrint("api", "b", "tests", "junit", true),
			"COMPLIANT" + goodTicket + " | api=b COMPLIANT [tests:junit free:snyk]" + goodWeb},
		"a later report replaces one that was not compliant": {full(t).byPrint("api", "a", "tests", "junit", false).byName("api", "c", "tests", "junit", true),
			"COMPLIANT" + goodTicket + goodAPI + goodWeb},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.builder
			report := compliance.Describe(&s.template, &s.trail, s.slots)
			if got := words(report); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if report.EvaluatedAt != s.now {
				t.Errorf("evaluated at %v, want %v", report.EvaluatedAt, s.now)
			}
		})
	}
}

// fourEyes is a template that requires the approval of two others.
const fourEyes = `
trail:
  attestations:
    - {name: pr, type: pull_request, independent_approval: {approvers: 2}}
  artifacts:
    - {name: api, attestations: [{name: own, type: pull_request, independent_approval: true}]}
`

// TestTemplatesRequireIndependentApproval tests docs/semantics.md 18.12.
func TestTemplatesRequireIndependentApproval(t *testing.T) {
	for name, c := range map[string]struct {
		author    string
		approvers int // of the trail's pull request, which is absent if this is -1
		change    func(*evidence.Entry)
		want      string
		lack      string
	}{
		"two approved":      {"Ada <ada@example.com>", 2, nil, "COMPLIANT [pr:pull_request] | api=a COMPLIANT [own:pull_request]", ""},
		"one approved":      {"Ada <ada@example.com>", 1, nil, "NON-COMPLIANT [pr:pull_request-] | api=a NON-COMPLIANT [own:pull_request]", "an author has the approval of 1 after the last commit, the rule asks for 2"},
		"nobody approved":   {"", 0, func(e *evidence.Entry) { e.Unapproved = "ada has none" }, "NON-COMPLIANT [pr:pull_request-] | api=a NON-COMPLIANT [own:pull_request]", "ada has none"},
		"an override":       {"", 0, func(e *evidence.Entry) { e.Override, e.Finding = true, "overridden by eve: agreed" }, "COMPLIANT [pr:pull_request] | api=a COMPLIANT [own:pull_request]", ""},
		"a refusal":         {"", 2, func(e *evidence.Entry) { e.Override, e.Compliant, e.Finding = true, false, "overridden by eve: hasty" }, "NON-COMPLIANT [pr:pull_request-] | api=a NON-COMPLIANT [own:pull_request]", ""},
		"no attestation":    {"Ada <ada@example.com>", -1, nil, "INCOMPLETE [pr:pull_request?] | api=a INCOMPLETE [own:pull_request]", ""},
		"a machine":         {"svc_deploy", -1, nil, "COMPLIANT [] | api=a COMPLIANT [own:pull_request]", ""},
		"a machine's none":  {"dependabot[bot]", 0, func(e *evidence.Entry) { e.Compliant = false }, "COMPLIANT [pr:pull_request] | api=a COMPLIANT [own:pull_request]", ""},
		"a refused machine": {"svc_deploy", 0, func(e *evidence.Entry) { e.Override, e.Compliant = true, false }, "NON-COMPLIANT [pr:pull_request-] | api=a NON-COMPLIANT [own:pull_request]", ""},
		"another type":      {"svc_deploy", 0, func(e *evidence.Entry) { e.Type, e.Compliant = "generic", false }, "NON-COMPLIANT [!pr:generic-] | api=a NON-COMPLIANT [own:pull_request]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, fourEyes)
			s.trail.Commit = &evidence.GitCommit{Author: &c.author}
			s.report("api", "a", "c")
			own := s.entry("own", "pull_request", true)
			own.Approvers = 1
			s.change("api", func(slot *evidence.Slot) { slot.Attest(evidence.SlotEntry{Entry: own, Fingerprint: "a"}) })
			if c.approvers >= 0 {
				entry := s.entry("pr", "pull_request", true)
				entry.Approvers = c.approvers
				if c.change != nil {
					c.change(&entry)
				}
				s.trail.Entries = evidence.AddEntry(s.trail.Entries, entry)
			}
			report := compliance.Describe(&s.template, &s.trail, s.slots)
			if got := words(report); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if got := compliance.Trail(&s.template, &s.trail); got != report.Status {
				t.Errorf("by its summaries it is %s", got)
			}
			lack := ""
			report.Each(func(_ string, status *compliance.AttestationStatus) { lack += status.Lack })
			if lack != c.lack {
				t.Errorf("it lacks %q, want %q", lack, c.lack)
			}
		})
	}
}

func TestSummariesDependOnTheAuthorWhereApprovalIsRequired(t *testing.T) {
	s := begin(t, fourEyes).report("api", "a", "c")
	slot := s.slots["api"]
	for author, lacking := range map[string]bool{"Ada <ada@example.com>": true, "svc_deploy": false} {
		if got := compliance.Summarize("t", &s.template, author, &slot); got.Lacking != lacking {
			t.Errorf("%s: %+v", author, got)
		}
	}
}

// TestTrailsAreApprovedByAnyOfTheirPullRequests tests docs/semantics.md 18.12.
func TestTrailsAreApprovedByAnyOfTheirPullRequests(t *testing.T) {
	pull := func(approvers int, override, compliant bool) evidence.Entry {
		return evidence.Entry{Name: fmt.Sprint("pr-", approvers), Type: evidence.TypePullRequest, Approvers: approvers, Override: override, Compliant: compliant}
	}
	other := evidence.Entry{Name: "other", Type: evidence.TypeGeneric, Compliant: true, Approvers: 1}
	for name, c := range map[string]struct {
		author      string
		ofTrail, of []evidence.Entry // of the trail and of its artifact
		want        bool
	}{
		"nothing":                       {},
		"a machine account":             {author: "dependabot[bot] <bot@example.com>", want: true},
		"another type":                  {ofTrail: []evidence.Entry{other}},
		"nobody approved":               {ofTrail: []evidence.Entry{pull(0, false, true)}, of: []evidence.Entry{pull(0, false, true)}},
		"of the trail":                  {ofTrail: []evidence.Entry{pull(0, false, true), pull(1, false, true)}, want: true},
		"of the artifact":               {of: []evidence.Entry{pull(1, false, false)}, want: true},
		"overridden":                    {ofTrail: []evidence.Entry{pull(0, true, true)}, want: true},
		"overridden to non-compliant":   {ofTrail: []evidence.Entry{pull(1, true, false)}},
		"of an artifact, by its commit": {of: []evidence.Entry{pull(0, false, true), pull(2, false, true)}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, "version: 1\n").report("api", "a", "c")
			s.trail.Commit, s.trail.Entries = &evidence.GitCommit{Author: &c.author}, c.ofTrail
			s.change("api", func(slot *evidence.Slot) {
				for _, entry := range c.of {
					slot.Attest(evidence.SlotEntry{Entry: entry, Commit: "c"})
				}
			})
			if compliance.Update(&s.template, &s.trail); s.trail.Approved != c.want {
				t.Errorf("it is approved: %t", s.trail.Approved)
			}
		})
	}
}

func TestOverrideShowsItsOwnVerdictUntilTheNextReport(t *testing.T) {
	s := full(t).ofTrail("ticket", "jira", false)
	override := s.entry("ticket", "jira", true)
	override.Overridden = s.trail.Entries[0].ID
	s.trail.Entries = evidence.AddEntry(s.trail.Entries, override)
	report := compliance.Describe(&s.template, &s.trail, s.slots)
	if got := report.Attestations[0].Entry; report.Status != evidence.Compliant || got.ID != override.ID || got.Overridden == "" {
		t.Errorf("%s, %+v", report.Status, got)
	}
	s.ofTrail("ticket", "jira", false)
	if got := compliance.Trail(&s.template, &s.trail); got != evidence.NonCompliant {
		t.Errorf("a later report leaves the trail %s", got)
	}
}

func TestOlderArtifactKeepsItsOwnState(t *testing.T) {
	s := full(t).byPrint("api", "a", "tests", "junit", false).report("api", "b", "d")
	slot := s.slots["api"]
	for fingerprint, want := range map[string]evidence.Status{"a": evidence.NonCompliant, "b": evidence.Incomplete} {
		artifact, _ := slot.Artifact(fingerprint)
		if got := compliance.Artifact(&s.template, &s.trail, &slot, artifact); got != want {
			t.Errorf("%s is %s, want %s", fingerprint, got, want)
		}
	}
	if summary := s.trail.Slots["api"]; !summary.HasOlder || summary.Failing || !summary.Lacking || summary.Fingerprint != "b" {
		t.Errorf("summary %+v", summary)
	}
}

// TestStateOfAnArtifactIsTheSameFromSlotAndTrail tests docs/semantics.md 7.2, rules 4 and 8.
func TestStateOfAnArtifactIsTheSameFromSlotAndTrail(t *testing.T) {
	replaced := full(t).byPrint("api", "a", "tests", "junit", false).report("api", "b", "d").byPrint("api", "b", "tests", "junit", true)
	pruned := replaced.slots["api"]
	pruned.Pruned = true
	dropped := pruned
	dropped.Artifacts = dropped.Artifacts[1:]
	rebuilt := evidence.RebuildSlot(&evidence.ArtifactRecord{ID: "r", Name: "api", Fingerprint: "a", CommitSHA: "c"}, pruned.Entries)
	for name, c := range map[string]struct {
		slot        evidence.Slot
		fingerprint string
		want        evidence.Status
		complete    bool
		newest      bool
	}{
		"the newest of its name":                    {replaced.slots["api"], "b", evidence.Incomplete, true, true},
		"the only one of its name":                  {replaced.slots["web"], "w", evidence.Compliant, true, true},
		"an older one":                              {replaced.slots["api"], "a", evidence.NonCompliant, true, false},
		"the newest in a slot that dropped another": {dropped, "b", evidence.Incomplete, true, true},
		"one whose attestations may be dropped":     {pruned, "a", evidence.NonCompliant, false, false},
		"one that was dropped":                      {dropped, "a", evidence.Incomplete, false, false},
		"one that was dropped, rebuilt":             {rebuilt, "a", evidence.NonCompliant, true, false},
		"one that was never reported":               {evidence.Slot{Name: "api"}, "x", evidence.Incomplete, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			artifact, status, complete := compliance.State(&replaced.template, &replaced.trail, &c.slot, c.fingerprint)
			if status != c.want || complete != c.complete || complete && artifact.Fingerprint != c.fingerprint {
				t.Errorf("%s is %s, complete %v", artifact.Fingerprint, status, complete)
			}
			status, ok := compliance.NewestState(&replaced.template, &replaced.trail, c.slot.Name, c.fingerprint)
			if ok != c.newest || ok && status != c.want {
				t.Errorf("by the trail it is %s, %v", status, ok)
			}
		})
	}
}

func TestStateByAnotherTemplateIsNotKnownFromTheTrail(t *testing.T) {
	s := full(t)
	s.trail.Template = "another"
	if status, ok := compliance.NewestState(&s.template, &s.trail, "api", "a"); ok {
		t.Errorf("it is %s", status)
	}
}

func TestArtifactIsEvaluatedWithItsTrail(t *testing.T) {
	s := full(t)
	before := s.now
	s.ofTrail("ticket", "jira", true)
	report := compliance.Describe(&s.template, &s.trail, s.slots)
	if got := report.Artifacts[0].EvaluatedAt; got != before+1 {
		t.Errorf("evaluated at %v, want %v", got, before+1)
	}
	s.byPrint("web", "w", "approved", "system:decision", true)
	report = compliance.Describe(&s.template, &s.trail, s.slots)
	if got := report.Artifacts[0].EvaluatedAt; got != before+1 {
		t.Errorf("an attestation of the other artifact moves it to %v", got)
	}
}
