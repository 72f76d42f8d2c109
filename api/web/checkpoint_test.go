package web

import (
	"fmt"
	"net/http"
	"testing"
)

func TestCheckpointIsShownWithItsSignatures(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{
		"GET /log/acme": canned(`{"origin": "attestry.example.com/acme", "verifier_keys": ["attestry.example.com/acme+1+AA", "` + script + `"], "size": 1057,
			"root_hash": "l1bg+HgA=", "timestamp": 1774900000, "lag_seconds": 4, "continues": "` + script + `"}`),
		"GET /log/acme/checkpoint": canned("attestry.example.com/acme\n1057\nl1bg+HgA=\n\n— attestry.example.com/acme AAAA\n— " + script + " BBBB\nx\n"),
	})
	api.open(t, "/acme/log").has(t, "1,057 entries", "<code>l1bg&#43;HgA=</code>", "facts of the last 4.0 s", "signed</span> by the log", "cosigned</span> by the witness <bdi>"+escapedScript,
		"--log-key 'attestry.example.com/acme&#43;1&#43;AA' --log http://localhost/-/log/acme", `href="/-/log/acme/checkpoint" download`)
}

func TestOrganizationWithoutALogSaysSo(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{"GET /log/acme": refused(http.StatusNotFound, `{"message": "none"}`)})
	api.open(t, "/acme/log").has(t, "no transparency log yet")
	api.answers["GET /log/acme"] = refused(http.StatusForbidden, fmt.Sprintf(`{"message": %q}`, script))
	api.open(t, "/acme/log").answers(t, http.StatusForbidden, escapedScript)
}
