package command

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"attestry/app"
	"attestry/app/verify"
	"attestry/config"
	"attestry/evidence"
	"attestry/process/cli"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// emptySite returns the settings of a service with empty stores, and with the log key of another service.
func emptySite(t *testing.T, like *site) []string {
	t.Helper()
	folder := t.TempDir()
	return append([]string{
		"ATTESTRY_DATABASE_URL=pebble://" + filepath.Join(folder, "documents"), "ATTESTRY_OBJECTS_URL=file://" + filepath.Join(folder, "objects"),
	}, like.environ[2:]...)
}

// path returns the path of a store, by the index of its setting.
func (s *site) path(setting int) string {
	_, path, _ := strings.Cut(s.environ[setting], "://")
	return path
}

func TestBackupIsRestoredElsewhereWithItsLogHalted(t *testing.T) {
	s := withLog(t)
	s.logMore("a", "b")
	place := filepath.Join(t.TempDir(), "backups")
	status, out, errs := s.run("backup", place)
	if status != cli.Success || !strings.HasPrefix(out, "made the backup 20") || !strings.Contains(errs, "objects: 1 copied") {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	for arguments, halted := range map[string]bool{"": true, "--continue-logs ": false} {
		environ := emptySite(t, s)
		var stdout, stderr strings.Builder
		status = Run(t.Context(), append(strings.Fields("restore "+arguments), place), environ, &stdout, &stderr)
		if status != cli.Success || !strings.HasPrefix(stdout.String(), "restored the backup 20") ||
			strings.Contains(stdout.String(), "the transparency log of the organization "+s.org+" is not continued") != halted {
			t.Fatalf("status %d: %s%s", status, stdout.String(), stderr.String())
		}
		other := &site{t: t, environ: environ, org: s.org, environments: map[string]string{}}
		other.open()
		other.want(cli.Success, "verify", "", ": all is as it must be")
		before, err := other.store.Logs.Get(t.Context(), s.org)
		s.must(err)
		if log := other.logMore("c"); (log.Tree.Size == before.Tree.Size) != halted {
			t.Errorf("the log has %d entries, and had %d", log.Tree.Size, before.Tree.Size)
		}
		if halted {
			other.want(cli.Failure, "restore "+place, "", "the folder of the database is not empty")
			status, out, _ := other.run("log", "continue", "acme")
			if status != cli.Success || !strings.HasPrefix(out, "logs.example/acme/1+") {
				t.Errorf("status %d: %s", status, out)
			}
		}
		s.must(other.process.Close())
	}
}

func TestImpossibleBackupsAndRestoresFail(t *testing.T) {
	s := newSite(t)
	folder := filepath.Dir(s.path(0))
	for line, row := range map[string]struct {
		status int
		errs   string
	}{
		"backup":                                {cli.Misuse, "backup: wrong arguments"},
		"backup a b":                            {cli.Misuse, "backup: wrong arguments"},
		"backup ftp://host/x":                   {cli.Misuse, "DIR must begin with"},
		"backup pebble:///tmp/x":                {cli.Misuse, "DIR must begin with"},
		"backup " + folder:                      {cli.Failure, "must not lie in one another"},
		"backup " + s.path(0) + "/x":            {cli.Failure, "must not lie in one another"},
		"backup " + s.path(1):                   {cli.Failure, "the backup would be in the object store of the service"},
		"restore":                               {cli.Misuse, "restore: wrong arguments"},
		"restore --all x":                       {cli.Misuse, "restore: wrong arguments"},
		"restore " + folder + "/nowhere":        {cli.Failure, "no such file or directory"},
		"restore " + s.t.TempDir():              {cli.Failure, "there is no complete backup"},
		"restore " + s.t.TempDir() + " 2026-01": {cli.Failure, "there is no complete backup"},
		"verify all":                            {cli.Misuse, "verify: wrong arguments"},
	} {
		s.want(row.status, line, "", row.errs)
	}
	s.environ[0] = "ATTESTRY_DATABASE_URL=mongodb://127.0.0.1:1/x"
	var out, errs strings.Builder
	if status := Run(t.Context(), []string{"restore", folder + "/x"}, s.environ, &out, &errs); status != cli.Failure || !strings.Contains(errs.String(), "a backup is restored to a pebble:// database") {
		t.Errorf("status %d: %s", status, errs.String())
	}
	s.environ[0] = "ATTESTRY_DATABASE_URL=pebble://" + filepath.Join(folder, "documents")
}

func TestBackupIsNotMadeInTheBucketOfTheServiceWithOtherCredentials(t *testing.T) {
	var stores config.Stores
	for name, refused := range map[string]bool{"http://backup:other@127.0.0.1:1/bucket": true, "http://backup:other@127.0.0.1:1/backups": false} {
		to, err := parseBackupStore(name)
		if err == nil {
			err = stores.Objects.UnmarshalText([]byte("http://service:secret@127.0.0.1:1/bucket"))
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := checkApart(to, stores); (err != nil) != refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBackupDoesNotDeleteAnEarlierOneInTheFolderOfItsCheckpoint(t *testing.T) {
	s := newSite(t)
	for _, end := range []string{".backup", ".restoring"} {
		made, place := s.path(0)+".made", s.path(0)+end
		s.want(cli.Failure, "backup "+place, "", "must not lie in one another") // nothing is there yet
		if status, out, errs := s.run("backup", made); status != cli.Success {
			t.Fatalf("status %d: %s%s", status, out, errs)
		}
		s.must(os.Rename(made, place))
		for _, command := range []string{"backup ", "restore "} {
			s.want(cli.Failure, command+place, "", "must not lie in one another")
		}
		if _, err := os.Stat(filepath.Join(place, "backup-manifests")); err != nil {
			t.Error(err)
		}
	}
}

func TestBackupOfAnOpenDatabaseIsRefused(t *testing.T) {
	s := newSite(t)
	var out, errs strings.Builder
	if status := Run(t.Context(), []string{"backup", t.TempDir()}, s.environ, &out, &errs); status != cli.Failure || !strings.Contains(errs.String(), "another process has opened it") {
		t.Errorf("status %d: %s%s", status, out.String(), errs.String())
	}
}

// TestVerifyAndBackupWriteNothing stores a document that processes without a log key delete when they store facts.
func TestVerifyAndBackupWriteNothing(t *testing.T) {
	s := withLog(t)
	schemas := app.Schemas()
	schema := schemas[slices.IndexFunc(schemas, func(schema *storage.Schema) bool { return schema.Name == "log_search" })]
	record := storage.Record{ID: "artifacts", Revision: 1, Body: []byte(`{"collection":"artifacts"}`)}
	s.must(storagetest.Put(t.Context(), s.process.Engines.Documents, schema, record))
	for _, args := range [][]string{{"verify"}, {"backup", filepath.Join(t.TempDir(), "x")}} {
		s.must(s.process.Close())
		var out, errs strings.Builder
		if status := Run(t.Context(), args, s.environ[:3], &out, &errs); status != cli.Success {
			t.Errorf("%v: status %d: %s%s", args, status, out.String(), errs.String())
		}
		s.open()
		if _, err := s.process.Engines.Documents.Get(t.Context(), schema, record.ID); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestFindingsAreListed(t *testing.T) {
	s := newSite(t)
	object, err := s.store.Objects.Put(t.Context(), s.org, strings.NewReader("content"), -1)
	s.must(err)
	s.must(os.WriteFile(filepath.Join(s.path(1), object.Key), []byte("other"), 0o600))
	s.want(cli.Failure, "verify", object.Key+": the content does not have the SHA-256 of its key: it is "+evidence.SHA256([]byte("other"))+"\n", "1 findings")
	status, out, _ := s.run("verify", "--json")
	var found verify.Finding
	s.must(json.Unmarshal([]byte(out), &found))
	if status != cli.Failure || found.Where != object.Key {
		t.Errorf("status %d: %s", status, out)
	}
	status, out, errs := s.run("backup", filepath.Join(t.TempDir(), "x"))
	if status != cli.Failure || !strings.Contains(out, "it was not copied") || !strings.Contains(out, "made the backup") || !strings.Contains(errs, "what is listed is damaged or missing") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}

func TestRunningServiceMakesBackupsInTheFolderOfTheCaller(t *testing.T) {
	s := newSite(t)
	s.listen()
	folder, args := t.TempDir(), []string{"backup", "made"}
	act, err := parse(args)
	s.must(err)
	var out, errs strings.Builder
	status := caller{args: args, environ: s.environ, folder: folder, out: &out, errs: &errs}.run(t.Context(), act)
	if status != cli.Success || !strings.HasPrefix(out.String(), "made the backup 20") {
		t.Fatalf("status %d: %s%s", status, out.String(), errs.String())
	}
	status = Run(t.Context(), []string{"restore", filepath.Join(folder, "made")}, emptySite(t, s), &out, &errs)
	if status != cli.Success || !strings.Contains(out.String(), "restored the backup 20") {
		t.Errorf("status %d: %s%s", status, out.String(), errs.String())
	}
}

func TestOnlyCreatingAUserMakesADatabase(t *testing.T) {
	s := withLog(t)
	absent := filepath.Join(t.TempDir(), "absent")
	environ := append(slices.Clone(s.environ[:3]), "ATTESTRY_DATABASE_URL=pebble://"+absent)
	for _, args := range [][]string{
		{"verify"}, {"backup", filepath.Join(t.TempDir(), "x")}, {"users", "list"}, {"keys", "issue", "anna", "laptop"}, {"jobs", "list"}, {"log", "key"},
	} {
		var out, errs strings.Builder
		status := Run(t.Context(), args, environ, &out, &errs)
		if status != cli.Failure || !strings.Contains(errs.String(), "there is no database at "+absent) {
			t.Errorf("%v: status %d: %s%s", args, status, out.String(), errs.String())
		}
		if _, err := os.Stat(absent); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: %v", args, err)
		}
	}
	var out, errs strings.Builder
	if status := Run(t.Context(), []string{"users", "create", "anna"}, environ, &out, &errs); status != cli.Success {
		t.Errorf("status %d: %s%s", status, out.String(), errs.String())
	}
}

func TestNoCommandMakesAFolderOfObjects(t *testing.T) {
	s := withLog(t)
	s.must(s.process.Close())
	absent := filepath.Join(t.TempDir(), "absent")
	environ := append(slices.Clone(s.environ), "ATTESTRY_OBJECTS_URL=file://"+absent)
	for _, args := range [][]string{{"verify"}, {"backup", filepath.Join(t.TempDir(), "x")}} {
		var out, errs strings.Builder
		status := Run(t.Context(), args, environ, &out, &errs)
		if status != cli.Failure || !strings.Contains(errs.String(), "there is no object store: stat "+absent) {
			t.Errorf("%v: status %d: %s%s", args, status, out.String(), errs.String())
		}
	}
	s.open()
}
