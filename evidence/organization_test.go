package evidence_test

import (
	"strings"
	"testing"

	"attestry/evidence"
)

func TestOrganizationNamesAreOnePathSegment(t *testing.T) {
	for _, name := range []string{"acme", "first-user", "A.b_c~d-9", "7", strings.Repeat("a", 64), "apiary"} {
		if err := evidence.CheckOrganizationName(name); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
	bad := []string{"", "-a", ".", "..", "a b", "a/b", "a%2Fb", "ä", "a\n", "a\x00", strings.Repeat("a", 65)}
	for _, name := range bad {
		if evidence.CheckOrganizationName(name) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

func TestOrganizationNamesCannotShadowAddresses(t *testing.T) {
	for _, name := range []string{"default-org", "system-attestation-types", "api", "API", "ready", "openapi.json"} {
		if evidence.CheckOrganizationName(name) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}
