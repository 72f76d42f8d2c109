package snapshot

import (
	"fmt"
	"strings"
	"testing"
)

// failing returns an artifact that is not compliant, with an explanation.
func failing(name string, sentences ...string) string {
	return fmt.Sprintf(`{"name":%q,"fingerprint":"%sf","compliant":false,"annotation":{"type":"unchanged","now":1},"explanation":[%s]}`,
		name, name, strings.Join(sentences, ","))
}

// sentence returns a finding of a policy about a trail of the flow build.
func sentence(trail, text, remedy string) string {
	return fmt.Sprintf(`{"failing":true,"text":"In trail '%s' of flow 'build' %s","remedy":%q,"policy_name":"production","flow_name":"build","trail_name":%q}`,
		trail, text, remedy, trail)
}

func TestArtifactsThatFailForOneReasonAreOneCause(t *testing.T) {
	got := decode(t, snapshotText(
		failing("a", sentence("t1", "there is no scan.", "Scan a.")),
		failing("b", sentence("t2", "there is no test.", "Test b."), sentence("t2", "there is no scan.", "Scan b.")),
		failing("c", sentence("t3", "there is no test.", "Test c.")),
		failing("d", sentence("t3", "there is no test.", "Test d."), `{"failing":false,"text":"All is well."}`),
		failing("e"),
	), Filter{}).Causes
	if len(got.List) != 2 || got.Others != 1 {
		t.Fatalf("there are %d causes and %d others", len(got.List), got.Others)
	}
	for i, want := range []struct{ text, names, remedy string }{{"There is no test.", "b c d", "Test b."}, {"There is no scan.", "a b", "Scan a."}} {
		cause := got.List[i]
		var names []string
		for _, artifact := range cause.Artifacts {
			names = append(names, artifact.Name)
		}
		if cause.Text != want.text || strings.Join(names, " ") != want.names || cause.Count != len(names) || cause.Artifacts[0].Remedy != want.remedy || cause.Policy != "production" {
			t.Errorf("cause %d is %+v", i, cause)
		}
	}
}

func TestCausesOfDifferentPoliciesAreKeptApart(t *testing.T) {
	const other = `{"failing":true,"text":"In trail 't1' of flow 'build' there is no scan.","policy_name":"other","flow_name":"build","trail_name":"t1"}`
	got := decode(t, snapshotText(failing("a", sentence("t1", "there is no scan.", ""), other)), Filter{}).Causes
	if len(got.List) != 2 || got.List[0].Policy != "production" || got.List[1].Policy != "other" {
		t.Errorf("there are the causes %+v", got.List)
	}
}

func TestCausesAndTheirArtifactsAreLimited(t *testing.T) {
	var artifacts []string
	for i := range maxOfCause + 5 {
		name := fmt.Sprintf("a%02d", i)
		artifacts = append(artifacts, artifactText("gone", "false", "exited", ""), failing(name, sentence("t1", "there is no scan.", "")))
	}
	for i := range maxCauses + 3 {
		artifacts = append(artifacts, failing("b", sentence("t1", fmt.Sprintf("there is no test %d.", i), "")))
	}
	got := decode(t, snapshotText(artifacts...), Filter{State: "compliant"})
	first := got.Causes.List[0]
	if first.Count != maxOfCause+5 || len(first.Artifacts) != maxOfCause || first.More() != 5 || first.Artifacts[0].Name != "a00" {
		t.Errorf("%d artifacts are named of %d", len(first.Artifacts), first.Count)
	}
	if len(got.Causes.List) != maxCauses || got.Causes.Others != 4 || len(got.Artifacts) > 0 {
		t.Errorf("%d causes are kept, and %d others", len(got.Causes.List), got.Causes.Others)
	}
}

func TestArtifactsThatNoFlowKnowsAreOneCause(t *testing.T) {
	const one = `{"failing":true,"cause":"missing_provenance","text":"No flow knows the artifact, and the policy requires provenance.","policy_name":"production"}`
	const other = `{"failing":true,"cause":"no_provenance","text":"No flow knows the artifact, so it cannot have an attestation 'scan'.","policy_name":"production"}`
	got := decode(t, snapshotText(failing("a", one, other), failing("b", one, other)), Filter{}).Causes
	if len(got.List) != 1 || got.List[0].Count != 2 || !strings.HasPrefix(got.List[0].Text, "No flow knows the artifact") {
		t.Errorf("there are the causes %+v", got.List)
	}
}
