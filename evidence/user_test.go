package evidence_test

import (
	"testing"

	"attestry/evidence"
)

func TestCheckEmailAcceptsPlainAddressesOnly(t *testing.T) {
	if err := evidence.CheckEmail("first-user@example.com"); err != nil {
		t.Errorf("a plain address is refused: %v", err)
	}
	for _, email := range []string{"", "first-user", "a b@example.com", "First <first@example.com>", "a@b, c@d", "a@"} {
		if evidence.CheckEmail(email) == nil {
			t.Errorf("%q is accepted", email)
		}
	}
}
