package evidence

import (
	"strings"
	"testing"
)

func TestSHAsUnderSevenCharactersAreShownAsUnknown(t *testing.T) {
	for name, c := range map[string]struct{ sha, want string }{
		"unknown":          {"", NoCommit},
		"too short":        {"v1.0.0", NoCommit},
		"just long enough": {"v1.0.00", "v1.0.00"},
		"a whole SHA":      {strings.Repeat("a", 40), strings.Repeat("a", 40)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ShownSHA(c.sha); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
