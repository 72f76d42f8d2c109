package verdict_test

import (
	"strings"
	"testing"
	"time"

	vsa "github.com/in-toto/attestation/go/predicates/vsa/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"attestry/evidence/evidencetest"
	"attestry/evidence/verdict"
)

// TestInTotoReadsStatements reads a statement with in-toto's own types, which refuse unknown members.
func TestInTotoReadsStatements(t *testing.T) {
	given := example()
	given.Inputs = []verdict.Input{{URI: "https://a.example/e", Digest: verdict.DigestSet{SHA256: strings.Repeat("cd", 32)}, Index: 3}}
	content, err := given.Statement()
	evidencetest.Must(t, err)
	var statement intoto.Statement
	evidencetest.Must(t, protojson.Unmarshal(content, &statement))
	evidencetest.Check(t, statement.Validate())
	// SLSA defines the policy as a resource descriptor. The Go type of the summary has fewer members.
	policy, err := statement.Predicate.Fields["policy"].MarshalJSON()
	evidencetest.Must(t, err)
	var descriptor intoto.ResourceDescriptor
	evidencetest.Must(t, protojson.Unmarshal(policy, &descriptor))
	if err := descriptor.Validate(); err != nil || descriptor.Uri != given.PolicyURI || descriptor.Digest["sha256"] != given.PolicySum {
		t.Errorf("%v: the policy is %s", err, policy)
	}
	delete(statement.Predicate.Fields["policy"].GetStructValue().Fields, "annotations")
	for _, input := range statement.Predicate.Fields["inputAttestations"].GetListValue().Values {
		delete(input.GetStructValue().Fields, "annotations")
	}
	predicate, err := statement.Predicate.MarshalJSON()
	evidencetest.Must(t, err)
	var summary vsa.VerificationSummary
	evidencetest.Must(t, protojson.Unmarshal(predicate, &summary))
	if !summary.TimeVerified.AsTime().Equal(given.At.Truncate(time.Second)) || summary.VerificationResult != "PASSED" ||
		summary.ResourceUri != given.Resource || summary.Verifier.Id != given.Verifier || len(summary.VerifiedLevels) != 1 ||
		len(summary.InputAttestations) != 1 || summary.InputAttestations[0].Uri != given.Inputs[0].URI {
		t.Errorf("the summary is %s", predicate)
	}
}
