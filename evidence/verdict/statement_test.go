package verdict_test

import (
	"strings"
	"testing"
	"time"

	"attestry/evidence/verdict"
)

// example is a verdict by one policy.
func example() verdict.Verdict {
	digest := strings.Repeat("ab", 32)
	return verdict.Verdict{
		Passed: true, Verifier: "https://a.example", Resource: "https://a.example/x", Name: "web <1> & more", Fingerprint: strings.Repeat("01", 32),
		At: time.Date(2026, 11, 25, 13, 30, 0, 999, time.FixedZone("", 3600)), PolicyURI: "https://a.example/p", PolicySum: digest,
		Policies: []verdict.Policy{{Name: "p", Version: 3, URI: "https://a.example/p", Digest: verdict.DigestSet{SHA256: digest}}},
	}
}

func TestStatementIsAVerificationSummary(t *testing.T) {
	digest, fingerprint := strings.Repeat("ab", 32), strings.Repeat("01", 32)
	begin := `{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"web <1> & more","digest":{"sha256":"` + fingerprint +
		`"}}],"predicateType":"https://slsa.dev/verification_summary/v1","predicate":{"verifier":{"id":"https://a.example"},` +
		`"timeVerified":"2026-11-25T12:30:00Z","resourceUri":"https://a.example/x","policy":`
	for name, test := range map[string]struct {
		change func(*verdict.Verdict)
		want   string
	}{
		"passed": {func(*verdict.Verdict) {}, `{"uri":"https://a.example/p","digest":{"sha256":"` + digest + `"},"annotations":{"policies":[{"name":"p","version":3,` +
			`"uri":"https://a.example/p","digest":{"sha256":"` + digest + `"}}]}},"verificationResult":"PASSED","verifiedLevels":["SLSA_BUILD_LEVEL_UNEVALUATED"],"slsaVersion":"1.1"}}`},
		"failed without policies": {func(v *verdict.Verdict) { v.Passed, v.Policies, v.PolicySum = false, nil, "" },
			`{"uri":"https://a.example/p","annotations":{"policies":[]}},"verificationResult":"FAILED","verifiedLevels":["FAILED"],"slsaVersion":"1.1"}}`},
		"allowed": {func(v *verdict.Verdict) { v.Policies, v.PolicySum, v.AllowlistID = nil, "", "7" },
			`{"uri":"https://a.example/p","annotations":{"policies":[],"allowlist_id":"7"}},"verificationResult":"PASSED","verifiedLevels":["SLSA_BUILD_LEVEL_UNEVALUATED"],"slsaVersion":"1.1"}}`},
		"with entries of a log": {func(v *verdict.Verdict) {
			index := int64(9)
			v.Policies[0].LogIndex, v.PolicySum = &index, ""
			v.Inputs = []verdict.Input{{URI: "https://a.example/e", Digest: verdict.DigestSet{SHA256: digest}, Index: 0}}
		}, `{"uri":"https://a.example/p","annotations":{"policies":[{"name":"p","version":3,"uri":"https://a.example/p","digest":{"sha256":"` + digest + `"},"log_index":9}]}},` +
			`"inputAttestations":[{"uri":"https://a.example/e","digest":{"sha256":"` + digest + `"},"annotations":{"log_index":0}}],` +
			`"verificationResult":"PASSED","verifiedLevels":["SLSA_BUILD_LEVEL_UNEVALUATED"],"slsaVersion":"1.1"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			given := example()
			test.change(&given)
			got, err := given.Statement()
			if err != nil || string(got) != begin+test.want {
				t.Errorf("%v\n%s\nnot\n%s", err, got, begin+test.want)
			}
		})
	}
}
