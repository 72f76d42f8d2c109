package command

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/process/cli"
)

// emptyStores returns the settings of a service that was never started.
func emptyStores(t *testing.T) []string {
	folder := shortFolder(t)
	return []string{
		"ATTESTRY_DATABASE_URL=pebble://" + filepath.Join(folder, "documents"), "ATTESTRY_OBJECTS_URL=file://" + filepath.Join(folder, "objects"),
		"ATTESTRY_REDIS_URL=redis://127.0.0.1:1", "ATTESTRY_MONITOR_LISTEN=off",
	}
}

// call runs the command and returns its status and output.
func call(t *testing.T, environ []string, args ...string) (status int, printed string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = Run(t.Context(), args, environ, &out, &errs)
	return status, out.String() + errs.String()
}

func TestOperatorManagesUsersMembersAndKeys(t *testing.T) {
	t.Run("stopped", func(t *testing.T) { makeAndRemove(t, emptyStores(t)) })
	t.Run("running", func(t *testing.T) {
		environ := emptyStores(t)
		startService(t, environ, nil)
		makeAndRemove(t, environ)
	})
}

func makeAndRemove(t *testing.T, environ []string) {
	for _, step := range []struct {
		args   string
		status int
		want   string
	}{
		{"users create anna anna@example.com", cli.Success, "user anna is created"},
		{"users create bert", cli.Success, "user bert is created"},
		{"users create bert", cli.Failure, "User 'bert' already exists"},
		{"organizations create acme carl", cli.Failure, "there is no user carl"},
		{"organizations create acme anna", cli.Success, "organization acme is created, anna administers it"},
		{"organizations create acme bert", cli.Failure, "Organization named 'acme' already exists"},
		{"members set acme bert reader", cli.Success, "user bert is reader of organization acme"},
		{"members set nowhere bert reader", cli.Failure, "there is no organization nowhere"},
		{"members remove acme anna", cli.Failure, "User 'anna' is the last admin of organization 'acme'"},
		{"members list acme", cli.Success, "user  bert  reader"},
		{"users remove bert", cli.Success, "user bert is removed"},
		{"users remove carl", cli.Failure, "there is no user carl"},
		{"members remove acme bert", cli.Failure, "user bert is not a member of organization acme"},
		{"keys list bert", cli.Failure, "there is no user bert"},
		{"keys list acme/robot", cli.Failure, "organization acme has no service account robot"},
		{"keys issue anna laptop 2001-01-01", cli.Failure, "the key would have expired already"},
		{"keys revoke anna unknown", cli.Failure, "anna has no key unknown that works"},
		{"organizations list --json", cli.Success, `"name":"acme","kind":"shared","beta":true,"public":false`},
	} {
		status, printed := call(t, environ, strings.Fields(step.args)...)
		if status != step.status || !strings.Contains(printed, step.want) {
			t.Errorf("%s: status %d, want %d, printed\n%s\nwant %s", step.args, status, step.status, printed, step.want)
		}
	}
	_, users := call(t, environ, "users", "list", "--json")
	var listed listedUser
	if err := json.Unmarshal([]byte(users), &listed); err != nil || listed.Name != "anna" || listed.Email != "anna@example.com" {
		t.Errorf("users are %s (%v)", users, err)
	}
}

func TestIssuedKeyIsShownOnceAndRevoked(t *testing.T) {
	environ := emptyStores(t)
	call(t, environ, "users", "create", "anna")
	status, printed := call(t, environ, "keys", "issue", "anna", "after the fire", "2099-01-01")
	secret := regexp.MustCompile(evidence.APIKeyPattern).FindString(printed)
	id := strings.Fields(printed)[1]
	if status != cli.Success || secret == "" || evidence.MistypedAPIKey(secret) {
		t.Fatalf("status %d, printed %s", status, printed)
	}
	_, listed := call(t, environ, "keys", "list", "anna")
	if !strings.Contains(listed, id) || !strings.Contains(listed, "2099-01-01T00:00:00Z  never      after the fire") || strings.Contains(listed, secret) {
		t.Errorf("listed as %s", listed)
	}
	if status, printed := call(t, environ, "keys", "revoke", "anna", id); status != cli.Success {
		t.Error(printed)
	}
	if _, listed := call(t, environ, "keys", "list", "anna"); strings.Contains(listed, id) {
		t.Errorf("the revoked key is listed: %s", listed)
	}
}

func TestWrongArgumentsAreRefusedBeforeAStoreIsOpened(t *testing.T) {
	for _, args := range [][]string{
		{"users", "list", "all"}, {"users", "create"}, {"users", "create", "a/b"}, {"users", "create", "anna", "no e-mail"},
		{"users", "remove"}, {"organizations", "create", "acme"}, {"organizations", "create", "..", "anna"}, {"organizations", "list", "--all"},
		{"members", "list"}, {"members", "set", "acme", "anna", "owner"}, {"members", "remove", "acme"},
		{"keys", "list"}, {"keys", "issue", "anna"}, {"keys", "issue", "anna", ""}, {"keys", "issue", "anna", "x", "soon"},
		{"keys", "issue", "anna", "x", "2101-01-01"}, {"keys", "issue", "anna", "x", "1970-01-01"}, {"keys", "revoke", "anna"}, {"keys", "revoke", "--all", "anna"},
	} {
		// Without settings, a command that opens the stores fails instead.
		if status, printed := call(t, nil, args...); status != cli.Misuse {
			t.Errorf("%q: status %d, printed %s", args, status, printed)
		}
	}
}

func TestUserCommandsNeedOnlyTheDatabase(t *testing.T) {
	database := "ATTESTRY_DATABASE_URL=pebble://" + filepath.Join(t.TempDir(), "documents")
	for _, args := range []string{
		"users create anna", "organizations create acme anna", "members list acme", "keys issue anna laptop 2099-01-01", "users list", "users remove anna",
	} {
		if status, printed := call(t, []string{database}, strings.Fields(args)...); status != cli.Success {
			t.Errorf("%s: status %d, printed %s", args, status, printed)
		}
	}
	if status, printed := call(t, nil, "users", "list"); status != cli.Failure || !strings.Contains(printed, "ATTESTRY_DATABASE_URL: is required") || strings.Contains(printed, "REDIS") {
		t.Errorf("without any store: status %d, printed %s", status, printed)
	}
	if status, printed := call(t, []string{database}, "jobs", "list"); status != cli.Failure || !strings.Contains(printed, "ATTESTRY_OBJECTS_URL: is required") {
		t.Errorf("reports without objects: status %d, printed %s", status, printed)
	}
}
