package people

import (
	"maps"
	"strings"
	"testing"

	"attestry/evidence"
)

func TestAccountsAreAssignedToTheirPeople(t *testing.T) {
	got, err := Parse([]byte("people:\n  - {name: Ada Lovelace, accounts: [ada, Ada@Example.com]}\n  - {name: Grace}\n"))
	want := evidence.Accounts{"ada lovelace": "Ada Lovelace", "ada": "Ada Lovelace", "ada@example.com": "Ada Lovelace", "grace": "Grace"}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("read %v, %v", got, err)
	}
	for _, none := range []string{"people: []\n", "{}\n"} {
		if got, err := Parse([]byte(none)); err != nil || len(got) > 0 {
			t.Errorf("%q: read %v, %v", none, got, err)
		}
	}
}

func TestRepeatedPeopleAndAccountsAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ file, says string }{
		"a person twice":      {"people:\n  - {name: Ada}\n  - {name: ada}\n", "people.1.name (line 3, column 12)"},
		"an account of two":   {"people:\n  - {name: Ada, accounts: [a]}\n  - {name: Grace, accounts: [A]}\n", "this is an account of 'Ada' already [input: A]"},
		"a name of another":   {"people:\n  - {name: Ada, accounts: [grace]}\n  - {name: Grace}\n", "people.1.name (line 3"},
		"one's own name":      {"people: [{name: Ada, accounts: [ada]}]", "people.0.accounts.0 (line 1"},
		"no name":             {"people: [{accounts: [a]}]", "people.0.name"},
		"a list for the file": {"[]", "File of people"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Parse([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("read %v, %v", got, err)
			}
		})
	}
}
