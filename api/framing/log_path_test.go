package framing

import "testing"

func TestTilesOfLogsBecomeOneSegment(t *testing.T) {
	const logs = "/api/v2/log"
	for sent, want := range map[string]string{
		"/-/log/acme/checkpoint":            logs + "/acme/checkpoint",
		"/-/log/acme/tile/0/x001/067.p/5":   logs + "/acme/tile/0%2Fx001%2F067.p%2F5",
		"/-/log/tile/tile/entries/000":      logs + "/tile/tile/entries%2F000",
		logs + "/acme/tile/0%2F000":         logs + "/acme/tile/0%2F000",
		logs + "/acme/proof/policy/a":       logs + "/acme/proof/policy/a",
		logs + "/acme/proof/policy/tile/a":  logs + "/acme/proof/policy/tile/a",
		logs + "/acme":                      logs + "/acme",
		"/log/acme/checkpoint":              "/log/acme/checkpoint",
		"/api/v2/flows/acme/tile/-/log/a/b": "/api/v2/flows/acme/tile/-/log/a/b",
	} {
		if got := LogPath(sent); got != want {
			t.Errorf("%s became %s, want %s", sent, got, want)
		}
	}
}
