package evidence

import "testing"

func TestContainsFoldIgnoresLetterCase(t *testing.T) {
	for _, row := range []struct {
		text, part string
		want       bool
	}{
		{"Release-Web", "web", true}, {"release-web", "E-WEB", true}, {"ÉTÉ", "été", true}, {"web", "", true}, {"web", "webs", false},
	} {
		if got := ContainsFold(row.text, row.part); got != row.want {
			t.Errorf("%q in %q: got %t", row.part, row.text, got)
		}
	}
}
