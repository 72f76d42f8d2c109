package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"attestry/app"
	"attestry/config"
	"attestry/evidence/evidencetest"
	"attestry/process/buildinfo"
	"attestry/storage"
)

// trial is a command on embedded stores. Its work ends at once unless a test sets another.
type trial struct {
	command
	out, errs *bytes.Buffer
	folder    string
}

func newTrial(t *testing.T, environ ...string) *trial {
	t.Helper()
	tr := &trial{out: &bytes.Buffer{}, errs: &bytes.Buffer{}, folder: t.TempDir()}
	tr.command = command{
		name:    "api",
		program: NewProgram("attestry-api", "Answers the API."),
		work:    func(context.Context, *Process) error { return nil },
		environ: slices.Concat([]string{
			"ATTESTRY_DATABASE_URL=pebble://" + tr.folder + "/documents",
			"ATTESTRY_OBJECTS_URL=file://" + tr.folder + "/objects",
			"ATTESTRY_REDIS_URL=redis://:open-sesame@127.0.0.1:1",
			"ATTESTRY_MONITOR_LISTEN=off",
		}, environ),
		out:  tr.out,
		errs: tr.errs,
	}
	return tr
}

// bootstrap gives the command a bootstrap file.
func (tr *trial) bootstrap(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(tr.folder, "bootstrap.yaml")
	evidencetest.Must(t, os.WriteFile(file, []byte(text), 0o600))
	tr.environ = append(tr.environ, "ATTESTRY_BOOTSTRAP_FILE="+file)
}

// documents reads all documents of the database, by collection.
func (tr *trial) documents(t *testing.T) map[string][]storage.Record {
	t.Helper()
	docs, err := OpenDocuments(t.Context(), config.Database{Engine: config.Pebble, Path: tr.folder + "/documents"}, nil)
	evidencetest.Must(t, err)
	defer docs.Close()
	all := map[string][]storage.Record{}
	for _, schema := range app.Schemas() {
		records, err := docs.List(t.Context(), schema, "", storage.MaxMany, storage.MaxBody)
		evidencetest.Must(t, err)
		if len(records) > 0 {
			all[schema.Name] = records
		}
	}
	return all
}

// expect runs the command and checks its exit status.
func (tr *trial) expect(t *testing.T, ctx context.Context, want int, args ...string) {
	t.Helper()
	if got := tr.main(ctx, args); got != want {
		t.Fatalf("exit status %d, want %d: %s", got, want, tr.errs)
	}
}

func TestProcessReportsEveryInvalidSettingWithoutSecrets(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent.yaml")
	tr := newTrial(t, "ATTESTRY_LISTEN=off", "ATTESTRY_REDIS_URL=http://:open-sesame@localhost", "ATTESTRY_DATABSE_URL=x", "ATTESTRY_BOOTSTRAP_FILE="+absent)
	tr.expect(t, t.Context(), 1)
	for _, fault := range []string{"ATTESTRY_LISTEN: ", "ATTESTRY_BOOTSTRAP_FILE: cannot be read: stat " + absent, "ATTESTRY_REDIS_URL: ", "ATTESTRY_DATABSE_URL: "} {
		if !strings.Contains(tr.errs.String(), "\n"+fault) {
			t.Errorf("nothing of %s in %s", fault, tr.errs)
		}
	}
	if strings.Contains(tr.errs.String(), "sesame") {
		t.Errorf("a secret shows in %s", tr.errs)
	}
}

// An operator may remove the file after the start.
func TestHealthcheckDoesNotNeedTheBootstrapFile(t *testing.T) {
	tr := newTrial(t, "ATTESTRY_BOOTSTRAP_FILE="+filepath.Join(t.TempDir(), "absent.yaml"))
	tr.expect(t, t.Context(), 1, "healthcheck")
	if tr.errs.String() != "the monitoring port is off\n" {
		t.Errorf("it says %s", tr.errs)
	}
}

func TestHelpAndVersionNeedNoSettings(t *testing.T) {
	for argument, want := range map[string]string{"--help": "ATTESTRY_DATABASE_URL", "--version": "attestry-api "} {
		tr := newTrial(t)
		tr.environ = nil
		tr.expect(t, t.Context(), 0, argument)
		if !strings.Contains(tr.out.String(), want) || tr.errs.Len() != 0 {
			t.Errorf("%s prints %s and %s", argument, tr.out, tr.errs)
		}
	}
}

func TestProcessLogsItsVersionFirst(t *testing.T) {
	tr := newTrial(t)
	tr.expect(t, t.Context(), 0)
	var first struct{ Msg, Process, Version, Commit string }
	evidencetest.Must(t, json.NewDecoder(tr.errs).Decode(&first))
	build := buildinfo.Read()
	if first.Msg != "starting" || first.Process != "api" || first.Version != build.Version || first.Commit != build.Commit {
		t.Errorf("the first line is %+v", first)
	}
}

func TestProcessDoesNotStartWithAnInvalidCommandLine(t *testing.T) {
	for _, argument := range []string{"--frobnicate", "frobnicate"} {
		tr := newTrial(t)
		tr.work = func(context.Context, *Process) error {
			t.Errorf("the process works in spite of %s", argument)
			return nil
		}
		tr.expect(t, t.Context(), 2, argument)
	}
}

func TestFlagsOverrideTheEnvironment(t *testing.T) {
	tr := newTrial(t, "ATTESTRY_QUEUES=packages=1")
	tr.program.Setting("queues", "ATTESTRY_QUEUES", "serve `QUEUES`")
	tr.work = func(_ context.Context, p *Process) error {
		if want := (config.Queues{"reports": 2}); !maps.Equal(p.Settings.Worker.Queues, want) {
			t.Errorf("queues %v, want %v", p.Settings.Worker.Queues, want)
		}
		return nil
	}
	tr.expect(t, t.Context(), 0, "--queues", "reports=2")
	tr.expect(t, t.Context(), 1, "--queues", "repots=2")
	evidencetest.Contains(t, tr.errs.String(), "\n--queues: ")
}

func TestProcessDoesNotStartWithAnInvalidBootstrapFile(t *testing.T) {
	tr := newTrial(t)
	tr.work = func(context.Context, *Process) error {
		t.Error("the process works")
		return nil
	}
	tr.bootstrap(t, "users:\n  - name: anna\n    api_keys:\n      - key: short\n")
	tr.expect(t, t.Context(), 1)
	evidencetest.Contains(t, tr.errs.String(), filepath.Join(tr.folder, "bootstrap.yaml")+":4: ")
	left, err := os.ReadDir(tr.folder)
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds more than the bootstrap file: %v, %v", left, err)
	}
}

func TestBootstrapThatConflictsWithTheDatabaseChangesNothing(t *testing.T) {
	tr := newTrial(t)
	tr.bootstrap(t, "users:\n  - name: anna\n")
	tr.expect(t, t.Context(), 0)
	before := tr.documents(t)
	tr.bootstrap(t, "users:\n  - name: bert\norganizations:\n  - name: anna\n")
	tr.expect(t, t.Context(), 1)
	evidencetest.Contains(t, tr.errs.String(), "bootstrap organization anna: ")
	if after := tr.documents(t); len(before) == 0 || !reflect.DeepEqual(before, after) {
		t.Errorf("the database has changed from %v to %v", before, after)
	}
}

func TestProcessPrintsAMadeKeyAtTheFirstStartOnly(t *testing.T) {
	tr := newTrial(t)
	tr.bootstrap(t, "users:\n  - name: anna\n    api_keys:\n      - description: laptop\n")
	tr.work = func(ctx context.Context, p *Process) error {
		_, secret, _ := strings.Cut(strings.TrimSpace(tr.out.String()), "shown this once: ")
		who, err := p.Store.Tenancy.Authenticate(ctx, secret)
		if err == nil && who.Name != "anna" {
			t.Errorf("the key is of %q", who.Name)
		}
		return err
	}
	tr.expect(t, t.Context(), 0)
	printed := tr.out.String()
	if !strings.HasPrefix(printed, "API key of anna (laptop)") {
		t.Errorf("printed %q", printed)
	}
	tr.expect(t, t.Context(), 0)
	if tr.out.String() != printed {
		t.Errorf("the second start printed more: %q", tr.out)
	}
	if strings.Contains(tr.errs.String(), "att_") {
		t.Error("the key is in the log")
	}
}

func TestProcessEndsWithTheErrorOfItsWork(t *testing.T) {
	tr := newTrial(t)
	tr.work = func(context.Context, *Process) error { return errors.New("the port is taken") }
	tr.expect(t, t.Context(), 1)
	evidencetest.Contains(t, tr.errs.String(), "the port is taken")
}

func TestProcessStoppedDuringItsStartHasNotFailed(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	newTrial(t).expect(t, ctx, 0)
	// The process waits for an unreachable database.
	newTrial(t, "ATTESTRY_DATABASE_URL=mongodb://127.0.0.1:1/").expect(t, ctx, 0)
}

func TestMessagesOfTheRedisClientAreLoggedAsJSON(t *testing.T) {
	tr := newTrial(t)
	tr.work = func(ctx context.Context, p *Process) error {
		if p.Redis.Ping(ctx).Err() == nil {
			t.Error("a Redis answers on port 1")
		}
		return nil
	}
	tr.expect(t, t.Context(), 0)
	evidencetest.Contains(t, tr.errs.String(), `"msg":"redis`)
	for line := range strings.Lines(tr.errs.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

func TestHealthcheckAsksTheRunningProcess(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	evidencetest.Must(t, err)
	address := listener.Addr().String()
	listener.Close()
	tr := newTrial(t, "ATTESTRY_MONITOR_LISTEN="+address)
	tr.expect(t, t.Context(), 1, "healthcheck")
	// The default client asks the proxy of the environment. This one does not answer.
	normal := http.DefaultTransport
	defer func() { http.DefaultTransport = normal }()
	http.DefaultTransport = &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "127.0.0.1:1"})}
	tr.work = func(ctx context.Context, _ *Process) error {
		tr.expect(t, ctx, 0, "healthcheck")
		return nil
	}
	tr.expect(t, t.Context(), 0)
}

func TestHealthcheckFailsWhenTheProcessIsUnhealthy(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	evidencetest.Must(t, err)
	sick := &http.Server{Handler: http.NotFoundHandler()}
	go sick.Serve(listener)
	defer sick.Close()
	newTrial(t, "ATTESTRY_MONITOR_LISTEN="+listener.Addr().String()).expect(t, t.Context(), 1, "healthcheck")
}

func TestHealthcheckFailsWithoutAMonitoringPort(t *testing.T) {
	tr := newTrial(t)
	tr.expect(t, t.Context(), 1, "healthcheck")
	evidencetest.Contains(t, tr.errs.String(), "off")
}

func TestHealthcheckAsksWhereTheMonitoringPortListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skip(err) // only Linux has all addresses of the loopback network
	}
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	newTrial(t, "ATTESTRY_MONITOR_LISTEN="+listener.Addr().String()).expect(t, t.Context(), 0, "healthcheck")
}
