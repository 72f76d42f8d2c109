package settings

import (
	"strings"
	"testing"

	"attestry/api/jsonstream"
)

func TestAnswersOfListsHaveRows(t *testing.T) {
	for name, row := range map[string]struct {
		answer, names string
		pages         int
	}{
		"an array":                  {`[{"name":"a"},{"name":"b","more":{"x":[1]}}]`, "a b", 0},
		"an empty array":            {`[]`, "", 0},
		"an object with pages":      {`{"_links":{"x":[1]},"page":1,"total_pages":7,"entries":[{"name":"a"}]}`, "a", 7},
		"an object with pagination": {`{"data":[{"name":"a"},{"name":"b"}],"pagination":{"page":2,"page_count":3}}`, "a b", 3},
		"an object without numbers": {`{"data":[],"pagination":null}`, "", 0},
		"a single object":           {`{"name":"acme","kind":"shared"}`, "acme", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var found list
			if err := found.decode(jsonstream.NewDecoder(strings.NewReader(row.answer))); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, one := range found.rows {
				names = append(names, one.text("name"))
			}
			if strings.Join(names, " ") != row.names || found.pages != row.pages {
				t.Errorf("%q on %d pages", names, found.pages)
			}
		})
	}
}

func TestTimesThatAreZeroAreShownInWords(t *testing.T) {
	for name, row := range map[string]struct {
		column string
		value  any
		shown  any
	}{
		"a time":               {"expires_at", 1700000000.0, 1700000000.0},
		"a key without an end": {"expires_at", 0.0, "never"},
		"an unknown time":      {"created_at", 0.0, ""},
		"a number":             {"version", 0.0, "0"},
		"a time in an object":  {"entry", map[string]any{"expires_at": 1700000000.0}, "expires_at: 2023-11-14T22:13:20Z"},
		"no end in an object":  {"entry", map[string]any{"expires_at": 0.0}, "expires_at: never"},
	} {
		t.Run(name, func(t *testing.T) {
			if shown := cell(row.column, row.value); shown != row.shown {
				t.Errorf("%v, not %v", shown, row.shown)
			}
		})
	}
}

func TestRowsKeepNoLongMembers(t *testing.T) {
	var found list
	answer := `[{"name":"a","versions":[{"policy_yaml":"` + strings.Repeat("x", 1<<20) + `"}],"type":"env"}]`
	if err := found.decode(jsonstream.NewDecoder(strings.NewReader(answer))); err != nil {
		t.Fatal(err)
	}
	if one := found.rows[0]; one.text("name") != "a" || one.text("type") != "env" || len(one) != 2 {
		t.Errorf("kept are %d members", len(one))
	}
}

func TestMalformedAnswersAreErrors(t *testing.T) {
	for _, answer := range []string{"", `[{"name":"a"`, `{"data":[{"name":"a"},`, `7`} {
		var found list
		if err := found.decode(jsonstream.NewDecoder(strings.NewReader(answer))); err == nil {
			t.Errorf("%q has %d rows", answer, len(found.rows))
		}
	}
}
