package command

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/config"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/evidence/job"
	"attestry/evidence/snapshot"
	"attestry/process"
	"attestry/process/buildinfo"
	"attestry/process/cli"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/storage/storagetest"
	"attestry/tasks/reports"
)

// noPublisher publishes nothing.
type noPublisher struct{}

func (noPublisher) PublishChange(context.Context, string) {}

// site is a service on whose stores the command works.
type site struct {
	t       *testing.T
	environ []string
	process *process.Process
	store   *app.Store
	org     string
	// socket is set if the service runs and executes the commands itself.
	socket *Socket
	// environments has the ids of environments by name.
	environments map[string]string
}

// newSite makes the organization acme with two environments prod: the current one has two parked reports, one of which is
// damaged, and an archived one has another parked report.
func newSite(t *testing.T) *site {
	t.Helper()
	folder := shortFolder(t)
	s := &site{t: t, environments: map[string]string{}, environ: []string{
		"ATTESTRY_DATABASE_URL=pebble://" + filepath.Join(folder, "documents"), "ATTESTRY_OBJECTS_URL=file://" + filepath.Join(folder, "objects"),
		"ATTESTRY_REDIS_URL=redis://127.0.0.1:1", "ATTESTRY_MONITOR_LISTEN=off",
	}}
	s.open()
	t.Cleanup(func() { s.must(s.process.Close()) })
	_, err := s.store.Tenancy.ApplyBootstrap(t.Context(), identity.Bootstrap{
		Organizations: []identity.DeclaredOrganization{{Name: "acme"}, {Name: "other"}},
	})
	s.must(err)
	org, err := s.store.Tenancy.Organization(t.Context(), "acme")
	s.must(err)
	s.org = org.ID
	s.create("old")
	s.must(s.store.Environments.Rename(t.Context(), s.org, "old", "prod", 1))
	s.park("old", 1, "x", false)
	s.must(s.store.Environments.Archive(t.Context(), s.org, "prod", 2))
	s.create("prod")
	s.create("idle")
	s.park("prod", 1, "a", false)
	s.park("prod", 2, "b", true)
	return s
}

// open opens the stores.
func (s *site) open() {
	s.t.Helper()
	settings, err := config.Load(s.environ)
	s.must(err)
	s.process, err = process.Open(s.t.Context(), settings, slog.New(slog.DiscardHandler))
	s.must(err)
	s.store = s.process.Store
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) create(name string) {
	s.t.Helper()
	fresh := evidence.Environment{ID: evidence.NewID(), Org: s.org, Name: name, Type: evidence.Server}
	_, err := s.store.Environments.Put(s.t.Context(), fresh, evidence.EnvironmentChange{})
	s.must(err)
	s.environments[name] = fresh.ID
}

// park stores a parked report of one file, as a worker does after the last attempt.
func (s *site) park(environment string, arrival int64, file string, damaged bool) {
	s.t.Helper()
	ctx := s.t.Context()
	report := snapshot.Canonical(evidence.Server, []snapshot.Instance{{Digests: map[string]string{file: evidence.HashAPIKey(file)}, CreatedAt: 1}})
	record := environments.WaitingReport{
		ReportRecord: snapshot.ReportRecord{
			ID: environments.NewReportID(), Org: s.org, Environment: s.environments[environment], Arrival: arrival,
			AcceptedAt: 1_790_000_000 + float64(arrival), Type: evidence.Server, Digest: report.Digest(),
		},
		Failure: "no \t luck", Attempts: 5, ParkedAt: 1_790_000_100,
	}
	s.must(s.store.Reports.Pack(ctx, &record, &report))
	if damaged {
		record.Content = []byte("no zstd")
	}
	s.must(s.store.Reports.Put(ctx, record))
	_, err := s.store.Heads.Update(ctx, record.Environment, func(head *snapshot.Head) error {
		head.MarkProcessed(arrival, snapshot.Outcome{Report: record.ID, Failed: true})
		return nil
	})
	s.must(err)
}

// run runs the command and returns its status and outputs. Without a socket it closes the stores meanwhile, as only one
// process can open a Pebble database at a time.
func (s *site) run(args ...string) (status int, out, errs string) {
	s.t.Helper()
	if s.socket == nil {
		s.must(s.process.Close())
		defer s.open()
	}
	var stdout, stderr bytes.Buffer
	status = Run(s.t.Context(), args, s.environ, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// want runs a command line, and checks its status and outputs.
func (s *site) want(status int, line, out, errs string) {
	s.t.Helper()
	gotStatus, gotOut, gotErrs := s.run(strings.Fields(line)...)
	if gotStatus != status || gotOut != out || !strings.Contains(gotErrs, errs) || errs == "" && gotErrs != "" {
		s.t.Errorf("%s: status %d, want %d\nout %q, want %q\nerrs %q, want %q", line, gotStatus, status, gotOut, out, gotErrs, errs)
	}
}

func TestParkedReportsAreListed(t *testing.T) { whenStoppedAndRunning(t, parkedReportsAreListed) }

func parkedReportsAreListed(t *testing.T, s *site) {
	prod, old := s.environments["prod"], s.environments["old"]
	status, out, errs := s.run("jobs", "list")
	if status != cli.Success || errs != "" {
		t.Fatalf("status %d: %s", status, errs)
	}
	var got []string
	for _, row := range strings.Split(strings.TrimSpace(out), "\n")[1:] {
		got = append(got, strings.Join(strings.Fields(row), " "))
	}
	want := []string{
		"environment:report acme prod (archived) " + old + "/1 parked 2026-09-21T14:15:00Z 5 no luck",
		"environment:report acme prod " + prod + "/1 parked 2026-09-21T14:15:00Z 5 no luck",
		"environment:report acme prod " + prod + "/2 parked 2026-09-21T14:15:00Z 5 no luck",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	_, out, _ = s.run("jobs", "list", "--json")
	var listed listedJob
	s.must(json.NewDecoder(strings.NewReader(out)).Decode(&listed))
	if listed.Org != "acme" || !strings.HasPrefix(listed.Environment, "prod") || listed.Reason != "no \t luck" || listed.Attempts != 5 {
		t.Errorf("listed as %s", out)
	}
}

func TestParkedReportsAreRetriedOrDropped(t *testing.T) {
	whenStoppedAndRunning(t, parkedReportsAreRetriedOrDropped)
}

func parkedReportsAreRetriedOrDropped(t *testing.T, s *site) {
	prod, old := s.environments["prod"], s.environments["old"]
	kind := job.Report.Name
	s.want(cli.Failure, "jobs retry "+kind+" "+old+"/1", "", "its environment is archived; drop it")
	s.want(cli.Success, "jobs drop "+kind+" "+old+"/1", kind+" "+old+"/1 is dropped\n", "")
	s.want(cli.Failure, "jobs drop "+kind+" "+old+"/1", "", "is not parked")
	s.want(cli.Failure, "jobs retry "+kind+" all", kind+" "+prod+"/1 waits again\n", kind+" "+prod+"/2: The stored report 2 of environment "+prod+" is damaged or lost: ")
	s.want(cli.Failure, "jobs retry "+kind+" "+prod+"/1", "", "is not parked")
	processor := reports.NewProcessor(s.store, noPublisher{}, time.Now, slog.New(slog.DiscardHandler), func(string) {})
	s.must(processor.Drain(t.Context(), prod))
	head, err := s.store.Heads.Get(t.Context(), prod)
	if s.must(err); head.Last != 1 || head.Processed != 3 || head.Timestamp != 1_790_000_001 || head.VerdictOf(3) != snapshot.Created {
		t.Errorf("the head is %+v", head)
	}
	s.want(cli.Success, "jobs drop "+kind+" "+prod+"/2", kind+" "+prod+"/2 is dropped\n", "")
	s.want(cli.Success, "jobs retry "+kind+" all", "", "")
	if _, out, _ := s.run("jobs", "list"); strings.Count(out, "\n") != 1 {
		t.Errorf("still listed: %s", out)
	}
}

// TestDamagedParkedReportDoesNotHideOthers damages the document of a parked report.
func TestDamagedParkedReportDoesNotHideOthers(t *testing.T) {
	s := newSite(t)
	prod, old, kind := s.environments["prod"], s.environments["old"], job.Report.Name
	s.damage(prod + "/2")
	status, out, errs := s.run("jobs", "list")
	if status != cli.Success || strings.Count(out, "\n") != 4 || !strings.Contains(out, prod+"/2") || !strings.Contains(out, "A stored document of reports is damaged") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	s.want(cli.Failure, "jobs retry "+kind+" "+prod+"/2", "", "A stored document of reports is damaged: ")
	s.want(cli.Success, "jobs retry "+kind+" "+prod+"/1", kind+" "+prod+"/1 waits again\n", "")
	s.want(cli.Success, "jobs drop "+kind+" "+prod+"/2", kind+" "+prod+"/2 is dropped\n", "")
	s.want(cli.Success, "jobs drop "+kind+" "+old+"/1", kind+" "+old+"/1 is dropped\n", "")
	s.want(cli.Success, "jobs retry "+kind+" all", "", "")
}

// damage damages the body of a parked report's document, but not its declared fields.
func (s *site) damage(id string) {
	s.t.Helper()
	schema := apptest.Schema(s.t, "reports")
	parked := storage.Query{Index: "parked", From: &storage.Bound{Value: 0.0}, Limit: 10}
	page, err := s.store.Documents.Find(s.t.Context(), schema, parked)
	s.must(err)
	for _, record := range page.Records {
		if record.ID == id {
			record.Body = []byte("{")
			s.must(storagetest.Put(s.t.Context(), s.store.Documents, schema, record))
		}
	}
}

func TestWrongArgumentsAreReported(t *testing.T) {
	s := newSite(t)
	for line, c := range map[string]struct {
		status int
		errs   string
	}{
		"":                                  {cli.Misuse, "Usage:"},
		"job list":                          {cli.Misuse, `unknown command "job list"`},
		"jobs":                              {cli.Misuse, `unknown command "jobs"`},
		"jobs list a":                       {cli.Misuse, "jobs list: wrong arguments"},
		"jobs list --all":                   {cli.Misuse, "jobs list: wrong arguments"},
		"jobs retry environment:report":     {cli.Misuse, "jobs retry: wrong arguments"},
		"jobs retry report all":             {cli.Misuse, `wrong arguments: "report" is not a kind of work`},
		"jobs drop environment:report all":  {cli.Failure, "environment:report all is not parked"},
		"jobs drop environment:report x/77": {cli.Failure, "environment:report x/77 is not parked"},
		"jobs retry delivery:send x/y":      {cli.Failure, "delivery:send x/y is not parked"},
		"jobs drop delivery:send x/y":       {cli.Failure, "delivery:send x/y is not parked"},
		"jobs retry event:fanout x":         {cli.Failure, "event:fanout x is not parked"},
		"jobs retry package:assemble x":     {cli.Failure, "package:assemble x is not parked"},
	} {
		s.want(c.status, line, "", c.errs)
	}
	var out, errs bytes.Buffer
	status := Run(t.Context(), []string{"jobs", "list"}, append(s.environ, "ATTESTRY_REDIS_URL=http://x"), &out, &errs)
	if status != cli.Failure || out.Len() > 0 || !strings.Contains(errs.String(), "ATTESTRY_REDIS_URL: ") {
		t.Errorf("status %d: %s%s", status, &out, &errs)
	}
}

func TestHelpNeedsNoStores(t *testing.T) {
	for _, line := range []string{"--help", "-h", "help", "jobs --help", "jobs retry --help"} {
		var out, errs bytes.Buffer
		if status := Run(t.Context(), strings.Fields(line), nil, &out, &errs); status != cli.Success || errs.Len() > 0 {
			t.Errorf("%s: status %d, %s", line, status, errs.String())
		}
		for _, want := range []string{"jobs list [--json]", "jobs retry KIND KEY|all", "jobs drop KIND KEY"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in %s", line, want, out.String())
			}
		}
	}
}

func TestVersionIsThatOfTheBuild(t *testing.T) {
	var out, errs bytes.Buffer
	status := Run(t.Context(), []string{"--version"}, nil, &out, &errs)
	if want := "attestry-admin " + buildinfo.Read().String() + "\n"; status != cli.Success || out.String() != want || errs.Len() > 0 {
		t.Errorf("status %d: %s%s", status, &out, &errs)
	}
}

func TestHelpShowsTheCommandAsItWasCalled(t *testing.T) {
	for path, want := range map[string]string{
		"./attestry-admin":                      "./attestry-admin",
		"/usr/bin/attestry-admin":               "/usr/bin/attestry-admin",
		"/tmp/go-build12/b001/exe/admin":        "go run ./scripts/admin",
		"/root/.cache/go-build/9c/9cf1-d/admin": "go run ./scripts/admin",
	} {
		if got := calledAs(path); got != want {
			t.Errorf("%s is shown as %s", path, got)
		}
	}
}
