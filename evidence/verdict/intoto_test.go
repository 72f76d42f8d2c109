package verdict_test

import (
	"strings"
	"testing"
	"time"

	vsa "github.com/in-toto/attestation/go/predicates/vsa/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"attestry/evidence/verdict"
)

// TestInTotoReadsStatements reads a statement with in-toto's own types, which refuse unknown members.
func TestInTotoReadsStatements(t *testing.T) {
	given := example()
	given.Inputs = []verdict.Input{{URI: "https://a.example/e", Digest: verdict.DigestSet{SHA256: strings.Repeat("cd", 32)}, Index: 3}}
	content, err := given.Statement()
	if err != nil {
		t.Fatal(err)
	}
	var statement intoto.Statement
	if err := protojson.Unmarshal(content, &statement); err != nil {
		t.Fatal(err)
	}
	if err := statement.Validate(); err != nil {
		t.Error(err)
	}
	// SLSA defines the policy as a resource descriptor. The Go type of the summary has fewer members.
	policy, err := statement.Predicate.Fields["policy"].MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var descriptor intoto.ResourceDescriptor
	if err := protojson.Unmarshal(policy, &descriptor); err != nil {
		t.Fatal(err)
	}
	if err := descriptor.Validate(); err != nil || descriptor.Uri != given.PolicyURI || descriptor.Digest["sha256"] != given.PolicySum {
		t.Errorf("%v: the policy is %s", err, policy)
	}
	delete(statement.Predicate.Fields["policy"].GetStructValue().Fields, "annotations")
	for _, input := range statement.Predicate.Fields["inputAttestations"].GetListValue().Values {
		delete(input.GetStructValue().Fields, "annotations")
	}
	predicate, err := statement.Predicate.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var summary vsa.VerificationSummary
	if err := protojson.Unmarshal(predicate, &summary); err != nil {
		t.Fatal(err)
	}
	if !summary.TimeVerified.AsTime().Equal(given.At.Truncate(time.Second)) || summary.VerificationResult != "PASSED" ||
		summary.ResourceUri != given.Resource || summary.Verifier.Id != given.Verifier || len(summary.VerifiedLevels) != 1 ||
		len(summary.InputAttestations) != 1 || summary.InputAttestations[0].Uri != given.Inputs[0].URI {
		t.Errorf("the summary is %s", predicate)
	}
}
