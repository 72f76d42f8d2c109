package auditpackage_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/client_golang/prometheus"

	"attestry/app"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/attestation/attestationtest"
	"attestry/evidence/audit"
	"attestry/evidence/control"
	"attestry/evidence/evidencetest"
	"attestry/evidence/job"
	"attestry/evidence/snapshot"
	"attestry/evidence/translog"
	"attestry/links"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/governance"
	"attestry/storage/guard"
	"attestry/storage/pebble/pebbletest"
	"attestry/tasks/auditpackage"
	"attestry/tasks/relay"
	"attestry/tasks/reports"
)

var acme = evidence.OrgAccess{OrgID: "org", OrgName: "acme"}

// old and current are fingerprints of the artifact web, other is that of the artifact job.
var (
	old     = strings.Repeat("0a", 32)
	current = strings.Repeat("1b", 32)
	other   = strings.Repeat("2c", 32)
)

const flowTemplate = `version: 1
trail:
  attestations:
    - {name: ticket, type: jira}
  artifacts:
    - name: web
      attestations:
        - {name: unit-test, type: junit}
        - {name: scan, type: "custom:scan"}
        - {name: never-made, type: generic}
`

const productionPolicy = `_schema: https://attestry.example.com/schemas/policy/environment/v1
artifacts:
  provenance: {required: true}
  trail-compliance: {required: true}
  attestations:
    - {name: "*", type: decision, for_control: RELEASE}
`

// scene is an organization with a flow and an environment, and the process that assembles packages. It is also the
// process's queue, dispatcher and publisher.
type scene struct {
	t      *testing.T
	docs   storage.Documents
	engine *filesystem.Store
	folder string
	clock  *evidencetest.Clock
	store  *app.Store
	queue  []string
	// published are the ids of published changes.
	published []string
	relay     *relay.Relay
	cleaner   *auditpackage.Cleaner
	assembler *auditpackage.Assembler
	requests  *auditpackage.Requests
	flow, env string // ids
	keys      translog.Keys
}

func (s *scene) Enqueue(_ context.Context, ref job.Ref, _ int64) error {
	s.queue = append(s.queue, ref.Payload.Assembly)
	return nil
}

func (s *scene) Waiting(context.Context, string) (int, error) { return 0, nil }

func (s *scene) PublishChange(_ context.Context, id string) { s.published = append(s.published, id) }

// Register refuses all waiters, so that requests poll.
func (s *scene) Register(string) (<-chan struct{}, func(), bool) { return nil, func() {}, false }

func (s *scene) Dispatch(context.Context, *job.Kind, string, int64) {}
func (s *scene) Unreachable() bool                                  { return false }

func newScene(t *testing.T) *scene {
	t.Helper()
	folder := t.TempDir()
	s := &scene{t: t, folder: filepath.Join(folder, "objects"), docs: pebbletest.Open(t, filepath.Join(folder, "documents"), app.Schemas())}
	var err error
	s.engine, err = filesystem.Open(s.folder)
	s.must(err)
	s.clock = evidencetest.NewSteppingClock(time.Unix(1_790_000_000, 0), time.Millisecond)
	s.start(s.docs, s.engine)
	return s
}

// delivered returns a scene after a whole delivery.
func delivered(t *testing.T) *scene {
	t.Helper()
	s := newScene(t)
	s.deliver()
	return s
}

// start replaces the process by a new one, with empty caches.
func (s *scene) start(docs storage.Documents, objects storage.Objects) {
	log := slog.New(slog.DiscardHandler)
	guarded := guard.New(s.clock.Now, log, prometheus.NewRegistry())
	s.store = app.NewStore(docs, guarded.Objects(objects), s.clock.Now, log)
	s.t.Cleanup(s.store.Tenancy.Close)
	address := links.Links{Base: "https://attestry.example.com"}
	s.relay = relay.New(job.QueuePackages, s, s.clock.Now, func(context.Context) (bool, error) { return true, nil }, s.store.Assemblies.Due)
	s.cleaner = auditpackage.NewCleaner(s.store, keptFor, s.clock.Now, log)
	s.assembler = auditpackage.NewAssembler(s.store, auditpackage.Options{
		Links: address, Publisher: s, Clock: s.clock.Now, Generator: "Attestry test", LogKeys: s.keys,
	})
	s.requests = auditpackage.NewRequests(s.store, s, s.clock.Now, nil)
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) now() float64 { return evidence.Seconds(s.clock.Now()) }

func (s *scene) scope(trail string) recording.Scope {
	return recording.Scope{Org: acme.OrgID, OrgName: acme.OrgName, Flow: "backend", Trail: trail, By: "ci", ByID: "ci", At: s.now()}
}

// begin creates the flow and one of its trails.
func (s *scene) begin(trail string) {
	s.t.Helper()
	id, err := s.store.Templates.Put(s.t.Context(), acme.OrgID, []byte(flowTemplate))
	s.must(err)
	_, flow, err := s.store.Flows.Put(s.t.Context(), evidence.Flow{
		ID: evidence.NewID(), Org: acme.OrgID, Name: "backend", Template: id, CreatedAt: s.now(), Visibility: evidence.PrivateFlow,
	})
	s.must(err)
	s.flow = flow.ID
	_, err = s.store.Recorder.Begin(s.t.Context(), s.scope(trail), s.flow, evidence.TrailChange{Description: new("Release " + trail)}, nil)
	s.must(err)
}

// report reports an artifact to a trail, with its children.
func (s *scene) report(trail, name, fingerprint string, children ...string) {
	s.t.Helper()
	scope := s.scope(trail)
	s.must(s.store.Recorder.Report(s.t.Context(), scope, evidence.ArtifactRecord{
		ID: evidence.NewID(), Org: acme.OrgID, Trail: trail, Name: name, Fingerprint: fingerprint, ChildFingerprints: children, Filename: "acme/" + name,
		BuildURL: "https://ci.example.com/1", CommitURL: "https://git.example.com/1", CreatedAt: scope.At, ReportedBy: "ci", ReportedByID: "ci",
	}, nil))
}

// attestation returns a compliant attestation, to be completed.
func attestation(name, kind string) evidence.Attestation {
	return evidence.Attestation{Name: name, Type: kind, Compliant: true}
}

// file stores content as an evidence file.
func (s *scene) file(content string) *evidence.EvidenceFile {
	s.t.Helper()
	object, err := s.store.Objects.Put(s.t.Context(), acme.OrgID, strings.NewReader(content), int64(len(content)))
	s.must(err)
	return &evidence.EvidenceFile{Object: object.Key, SHA256: object.SHA256, Size: object.Size, ContentType: "text/plain", Filename: "report.txt"}
}

// attest records an attestation in a trail and returns its id.
func (s *scene) attest(trail string, a evidence.Attestation) string {
	s.t.Helper()
	scope := s.scope(trail)
	a.ID, a.Org, a.Trail, a.CreatedAt, a.ReportedBy, a.ReportedByID = evidence.NewID(), acme.OrgID, trail, scope.At, "ci", "ci"
	record := s.store.Recorder.Attest
	if a.Override != nil {
		record = s.store.Recorder.Override
	}
	s.must(record(s.t.Context(), scope, a, nil))
	return a.ID
}

func payload(name, content string) map[string]json.RawMessage {
	return map[string]json.RawMessage{name: json.RawMessage(content)}
}

// deliver records a whole delivery: artifacts, one of which is replaced, several types of attestations with evidence,
// an override, a decision on a control, and an environment with a policy.
func (s *scene) deliver() {
	s.t.Helper()
	ctx := s.t.Context()
	s.begin("1")
	_, err := s.store.AttestationTypes.Put(ctx, evidence.AttestationTypeVersion{
		Org: acme.OrgID, Name: "scan", CreatedBy: "anna", Timestamp: s.now(),
		Schema:    json.RawMessage(`{"type":"object","required":["findings"]}`),
		Evaluator: &evidence.Evaluator{ContentType: evidence.JQEvaluator, Rules: []string{".findings < 5"}},
	})
	s.must(err)
	_, err = s.store.Controls.Create(ctx, control.Control{Org: acme.OrgID, Identifier: "RELEASE", Name: "Releases are agreed", CreatedBy: "anna", CreatedAt: s.now()})
	s.must(err)
	s.report("1", "web", old)
	ticket := attestation("ticket", evidence.TypeJira)
	ticket.Payload = payload("jira_results", `[{"issue_id":"A-1","issue_exists":true}]`)
	s.attest("1", ticket)
	tests := attestation("unit-test", evidence.TypeJUnit)
	tests.Compliant, tests.Fingerprint = false, old
	tests.Payload, tests.Evidence = payload("junit_results", `[{"name":"a","failures":1,"total":3}]`), s.file("one test failed")
	s.attest("1", tests)
	s.report("1", "web", current)
	tests.Compliant, tests.Fingerprint = true, current
	tests.Payload, tests.Evidence = payload("junit_results", `[{"name":"a","failures":0,"total":3}]`), s.file("no test failed")
	s.attest("1", tests)
	scan := attestation("scan", evidence.CustomPrefix+"scan")
	scan.Compliant, scan.Targets, scan.TypeVersion = false, []string{"web"}, 1
	scan.Payload, scan.Evidence = payload("attestation_data", `{"findings":9}`), s.file(strings.Repeat("nine findings ", 100_000))
	s.attest("1", scan)
	override := attestation("scan", evidence.CustomPrefix+"scan")
	override.Targets, override.Override = []string{"web"}, &evidence.Override{Reason: "none of them can be reached"}
	s.attest("1", override)
	decision := attestation("go-live", evidence.TypeDecision)
	decision.Fingerprint, decision.Control, decision.ControlVersion, decision.Payload = current, "RELEASE", 1, payload("attestation_data", `{"is_compliant":true}`)
	s.attest("1", decision)
	s.report("1", "job", other)
	s.run("production", current, other)
}

// run creates an environment with a policy, and reports the running artifacts.
func (s *scene) run(name string, fingerprints ...string) {
	s.t.Helper()
	ctx := s.t.Context()
	_, err := s.store.Policies.Put(ctx, governance.Change{
		Org: acme.OrgID, Name: "production", By: "anna", At: s.now(), Content: []byte(productionPolicy), Controls: []string{"RELEASE"},
	})
	s.must(err)
	s.env = evidence.NewID()
	_, err = s.store.Environments.Put(ctx, evidence.Environment{ID: s.env, Org: acme.OrgID, Name: name, Type: evidence.Server}, evidence.EnvironmentChange{})
	s.must(err)
	s.must(s.store.Environments.Modify(ctx, s.env, s.now(), func(e *evidence.Environment) (bool, error) {
		return e.AttachPolicies([]string{"production"})
	}))
	s.reportRunning(fingerprints...)
}

func (s *scene) reportRunning(fingerprints ...string) {
	s.t.Helper()
	report := snapshot.Report{Type: evidence.Server}
	for _, fingerprint := range fingerprints {
		report.Artifacts = append(report.Artifacts, snapshot.Reported{Fingerprint: fingerprint, Name: "acme/web", CreatedAt: []int64{1}})
	}
	log := slog.New(slog.DiscardHandler)
	_, err := reports.NewIntake(s.store, s, s, s.clock.Now, 0).Accept(s.t.Context(), reports.Submission{
		Org: acme.OrgID, Environment: s.env, ReportedBy: "cluster", Report: report,
	})
	s.must(err)
	s.must(reports.NewProcessor(s.store, s, s.clock.Now, log, func(string) {}).Drain(s.t.Context(), s.env))
}

func (s *scene) ofTrail(trail string) audit.Assembly {
	key := evidence.TrailKey(s.flow, trail)
	return audit.Assembly{
		ID: audit.AssemblyID(audit.OfTrail, acme.OrgID, key), Org: acme.OrgID, OrgName: acme.OrgName, Kind: audit.OfTrail, Flow: s.flow, Trail: trail,
	}
}

func (s *scene) ofArtifact(fingerprint string) audit.Assembly {
	return audit.Assembly{
		ID: audit.AssemblyID(audit.OfArtifact, acme.OrgID, s.flow, fingerprint), Org: acme.OrgID, OrgName: acme.OrgName,
		Kind: audit.OfArtifact, Flow: s.flow, Fingerprint: fingerprint,
	}
}

func (s *scene) ofAttestation(trail, id string) audit.Assembly {
	return audit.Assembly{
		ID: audit.AssemblyID(audit.OfAttestation, acme.OrgID, id), Org: acme.OrgID, OrgName: acme.OrgName,
		Kind: audit.OfAttestation, Flow: s.flow, Trail: trail, Attestation: id,
	}
}

// ask requests a package without waiting.
func (s *scene) ask(subject audit.Assembly) auditpackage.Answer {
	s.t.Helper()
	answer, err := s.requests.Ask(s.t.Context(), subject, 0)
	s.must(err)
	return answer
}

// wantProgress requests a package without waiting and checks how far it is.
func (s *scene) wantProgress(subject audit.Assembly, want audit.Progress) {
	s.t.Helper()
	if answer := s.ask(subject); answer.Progress != want {
		s.t.Errorf("the answer is %+v, want %s", answer, want)
	}
}

// keptFor is how long the cleaner keeps a package after its last request.
const keptFor = 30 * 24 * time.Hour

// work relays the due assemblies and assembles them.
func (s *scene) work() error {
	s.t.Helper()
	s.must(s.relay.Relay(s.t.Context()))
	var failed []error
	queue := s.queue
	s.queue = nil
	for _, id := range queue {
		failed = append(failed, s.assembler.Assemble(s.t.Context(), id))
	}
	return errors.Join(failed...)
}

// assemble requests and assembles a package and returns it.
func (s *scene) assemble(subject audit.Assembly) *audit.Assembled {
	s.t.Helper()
	s.ask(subject)
	s.must(s.work())
	answer := s.ask(subject)
	if answer.Progress != audit.Complete {
		s.t.Fatalf("the package is %s: %s", answer.Progress, answer.Reason)
	}
	return answer.Package
}

// read reads an object of a package.
func (s *scene) read(id string, stored audit.Stored) []byte {
	s.t.Helper()
	opened, err := s.requests.Open(s.t.Context(), id, stored, 0, -1)
	s.must(err)
	defer opened.Close()
	content, err := io.ReadAll(opened)
	s.must(err)
	return content
}

// member is a member of an archive.
type member struct {
	header  *tar.Header
	content []byte
}

func (s *scene) members(archive []byte) []member {
	s.t.Helper()
	content, err := gzip.NewReader(bytes.NewReader(archive))
	s.must(err)
	unpacked := tar.NewReader(content)
	var members []member
	for {
		header, err := unpacked.Next()
		if errors.Is(err, io.EOF) {
			return members
		}
		s.must(err)
		content, err := io.ReadAll(unpacked)
		s.must(err)
		members = append(members, member{header, content})
	}
}

// packageOf assembles a package and returns the members of its archive.
func (s *scene) packageOf(subject audit.Assembly) []member {
	s.t.Helper()
	return s.members(s.read(subject.ID, s.assemble(subject).Archive))
}

func verify(t *testing.T, members []member) audit.Result {
	t.Helper()
	verifier := audit.NewVerifier(attestationtest.Evaluate, audit.DefaultMemory)
	for _, m := range members {
		evidencetest.Must(t, verifier.Add(m.header.Name, int64(len(m.content)), bytes.NewReader(m.content)))
	}
	return verifier.Finish()
}

func contentOf(t *testing.T, members []member, path string) []byte {
	t.Helper()
	for _, m := range members {
		if m.header.Name == path {
			return m.content
		}
	}
	t.Fatalf("there is no member %s", path)
	return nil
}

func names(members []member) []string {
	return evidence.Map(members, func(m member) string { return m.header.Name })
}
