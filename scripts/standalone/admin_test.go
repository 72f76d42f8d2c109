package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admin "attestry/scripts/admin/command"
)

// TestAdminWorksOnARunningStandalone runs commands of scripts/admin with no setting but that of the database.
func TestAdminWorksOnARunningStandalone(t *testing.T) {
	data, err := os.MkdirTemp("", "a") // t.TempDir may be too long for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(data) })
	documents := "pebble://" + data + "/documents"
	call := func(line string) (status int, out, errs string) {
		var stdout, stderr bytes.Buffer
		status = admin.Run(t.Context(), strings.Fields(line), []string{"ATTESTRY_DATABASE_URL=" + documents}, &stdout, &stderr)
		return status, stdout.String(), stderr.String()
	}
	t.Run("while it runs", func(t *testing.T) {
		newTrial().serve(t, "--data", data, "--listen", freeAddress(t))
		for _, row := range []struct {
			line      string
			status    int
			out, errs string
		}{
			{"users create anna", 0, "user anna is created", ""},
			{"users create anna", 1, "", "User 'anna' already exists"},
			{"organizations list --json", 0, `"name":"acme"`, ""},
			{"jobs list", 0, "KIND", ""},
			{"log continue acme", 1, "", "no new log is begun for acme"},
			{"copy --from " + documents + " --to pebble://" + data + "/copy", 1, "", "another process has opened it"},
		} {
			status, out, errs := call(row.line)
			if status != row.status || !strings.Contains(out, row.out) || !strings.Contains(errs, row.errs) || (out == "") != (row.out == "") || (errs == "") != (row.errs == "") {
				t.Errorf("%s: status %d, %q, %q", row.line, status, out, errs)
			}
		}
		_, out, errs := call("doctor --json")
		for _, check := range []string{"settings", "retention", "clock", "keys", "work", "log", "memory"} {
			if !strings.Contains(out, `{"check":"`+check+`","state":"ok"`) {
				t.Errorf("%s is not ok: %s%s", check, out, errs)
			}
		}
	})
	if left, err := filepath.Glob(data + "/documents/admin*"); err != nil || len(left) > 0 {
		t.Errorf("the standalone left %v, %v", left, err)
	}
	if _, out, errs := call("users list"); !strings.Contains(out, "anna") || errs != "" {
		t.Errorf("after the standalone stopped: %q, %q", out, errs)
	}
	if _, err := os.Stat(data + "/copy"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a copy was begun: %v", err)
	}
}
