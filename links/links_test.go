package links

import "testing"

func TestLinksEscapeTheirSegments(t *testing.T) {
	const host = "https://attestry.example.com"
	l := Links{Base: host}
	for got, want := range map[string]string{
		l.API():                                      host + "/api/v2",
		l.Environment("acme", "prod 1"):              host + "/acme/environments/prod%201",
		l.Snapshot("acme", "prod", 7):                host + "/acme/environments/prod/snapshots/7",
		l.Flow("acme", "a~b"):                        host + "/acme/flows/a~b",
		l.Trail("acme", "web", "x/y#1"):              host + "/acme/flows/web/trails/x%2Fy%231",
		l.Attestation("a", "f", "t", "1 2"):          host + "/a/flows/f/trails/t?attestation_id=1+2",
		l.Artifact("a", "f", "ab", ""):               host + "/a/flows/f/artifacts/ab",
		l.Artifact("a", "f", "ab", "1-2"):            host + "/a/flows/f/artifacts/ab?artifact_id=1-2",
		l.SnapshotSelf("acme", "prod", 3):            host + "/api/v2/snapshots/acme/prod/3",
		l.FlowSelf("acme", "a~b"):                    host + "/api/v2/flows/acme/a~b",
		l.FlowsSelf("acme"):                          host + "/api/v2/flows/acme",
		l.AssertSelf("acme", "a/b"):                  host + "/api/v2/asserts/acme/fingerprint/a%2Fb",
		l.PoliciesSelf("acme", []string{"b", "a c"}): host + "/api/v2/policies/acme?policy_name=b&policy_name=a+c",
		l.ArtifactSelf("acme", "web", "abc"):         host + "/api/v2/artifacts/acme/web/fingerprint/abc",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
