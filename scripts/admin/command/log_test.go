package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"attestry/evidence/translog"
	"attestry/process/cli"
	"attestry/storage/logs"
	"attestry/tasks/sequencer"
)

// withLog makes a site with a key for its transparency logs, whose origins begin with logs.example.
func withLog(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	key, err := translog.NewKeyFile()
	s.must(err)
	file := filepath.Join(t.TempDir(), "log.key")
	s.must(os.WriteFile(file, key, 0o600))
	s.environ = append(s.environ, "ATTESTRY_LOG_KEY_FILE="+file, "ATTESTRY_BASE_URL=https://logs.example")
	s.must(s.process.Close())
	s.open()
	return s
}

// logMore creates environments, and logs that as a worker does.
func (s *site) logMore(names ...string) (log logs.Log) {
	s.t.Helper()
	for _, name := range names {
		s.create(name)
	}
	keys, err := s.process.Settings.Log.Keys()
	s.must(err)
	worker := sequencer.New(s.store.Logs, keys, s.store.Tenancy, "logs.example", s.process.Clock)
	s.must(worker.Sequence(s.t.Context(), s.org))
	s.must(worker.Keep(s.t.Context(), s.store.Retention))
	log, err = s.store.Logs.Get(s.t.Context(), s.org)
	s.must(err)
	return log
}

func TestLogIsContinuedAfterARestore(t *testing.T) {
	t.Run("stopped", func(t *testing.T) { continueAfterRestore(t, false) })
	t.Run("running", func(t *testing.T) { continueAfterRestore(t, true) })
}

func continueAfterRestore(t *testing.T, running bool) {
	s := withLog(t)
	s.logMore("a", "b")
	s.want(cli.Failure, "log continue acme", "", "no new log is begun for acme: the database has all entries of the last checkpoint that was published")
	documents := strings.TrimPrefix(s.environ[0], "ATTESTRY_DATABASE_URL=pebble://")
	backup := filepath.Join(t.TempDir(), "backup")
	s.must(s.process.Close())
	s.must(os.CopyFS(backup, os.DirFS(documents)))
	s.open()
	published := s.logMore("c")

	s.must(s.process.Close())
	s.must(os.RemoveAll(documents))
	s.must(os.CopyFS(documents, os.DirFS(backup)))
	s.open()
	if log := s.logMore("d"); log.Tree.Size != published.Tree.Size-1 || !strings.Contains(s.store.Logs.Halted(), "logs.example/acme: ") {
		t.Errorf("%d entries, halted %q", log.Tree.Size, s.store.Logs.Halted())
	}
	if running {
		s.listen()
	} else {
		s.must(s.process.Close())
	}
	var out, errs strings.Builder
	withoutRedis := slices.DeleteFunc(slices.Clone(s.environ), func(variable string) bool { return strings.HasPrefix(variable, "ATTESTRY_REDIS_URL=") })
	status := Run(t.Context(), []string{"log", "continue", "acme"}, withoutRedis, &out, &errs)
	if !running {
		s.open()
	}
	log := s.logMore("e")
	if halted := s.store.Logs.Halted(); halted != "" {
		t.Errorf("the log is still halted: %s", halted)
	}
	if status != cli.Success || errs.String() != "" || out.String() != strings.Join(log.Verifiers, "\n")+"\n" || !strings.HasPrefix(out.String(), "logs.example/acme/1+") {
		t.Errorf("status %d: %s%s, want %v", status, out.String(), errs.String(), log.Verifiers)
	}
	// The log has the entries of the backup, the citation, and the two environments that were created since.
	if log.Signed != published.Signed+2 || log.Continues != published.Checkpoint {
		t.Errorf("the log has %d entries and continues %q", log.Signed, log.Continues)
	}
}

func TestImpossibleContinuationsOfLogsFail(t *testing.T) {
	s := withLog(t)
	for line, row := range map[string]struct {
		status int
		errs   string
	}{
		"log continue":           {cli.Misuse, "log continue: wrong arguments"},
		"log continue acme more": {cli.Misuse, "log continue: wrong arguments"},
		"log continue nowhere":   {cli.Failure, "there is no organization nowhere"},
		"log continue other":     {cli.Failure, "no new log is begun for other"},
	} {
		s.want(row.status, line, "", row.errs)
	}
	s.environ = s.environ[:4]
	s.want(cli.Failure, "log continue acme", "", "there is no ATTESTRY_LOG_KEY_FILE")
}
