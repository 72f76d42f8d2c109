package evidence

import (
	"encoding/json"
	"testing"
)

func TestRolesAreOrderedFromReaderToAdmin(t *testing.T) {
	ordered := []Role{NoRole, Reader, Snapshotter, Member, Admin}
	for i, held := range ordered {
		for j, least := range ordered {
			if got, want := held.Allows(least), i >= j; got != want {
				t.Errorf("%v.Allows(%v) = %v, want %v", held, least, got, want)
			}
		}
	}
}

func TestParseRoleReadsWhatStringWrites(t *testing.T) {
	for _, role := range []Role{Reader, Snapshotter, Member, Admin} {
		got, err := ParseRole(role.String())
		if err != nil || got != role {
			t.Errorf("ParseRole(%q) = %v, %v", role.String(), got, err)
		}
	}
	for _, name := range []string{"", "none", "Admin", "owner"} {
		if role, err := ParseRole(name); err == nil {
			t.Errorf("ParseRole(%q) = %v, want an error", name, role)
		}
	}
}

func TestRoleSurvivesJSON(t *testing.T) {
	for _, role := range []Role{NoRole, Reader, Snapshotter, Member, Admin} {
		text, err := json.Marshal(role)
		if err != nil {
			t.Fatal(err)
		}
		var got Role
		if err := json.Unmarshal(text, &got); err != nil || got != role {
			t.Errorf("%s came back as %v, %v", text, got, err)
		}
	}
	var role Role
	if err := json.Unmarshal([]byte(`"owner"`), &role); err == nil {
		t.Errorf("an unknown role was read as %v", role)
	}
}

func TestARoleThatIsNotKnownIsNone(t *testing.T) {
	for _, role := range []Role{-1, NoRole, Admin + 1} {
		if got := role.String(); got != "none" {
			t.Errorf("role %d is %q", int(role), got)
		}
	}
}
