// Package recordingtest checks a recorder on an engine against a model of what was recorded.
package recordingtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"attestry/app"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/template"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// Recorder checks on an engine that trails and other aggregates reflect the facts, in whichever order, by however many
// writers, and after whatever interruption the facts were recorded. With -short it skips cases that take long.
func Recorder(t *testing.T, engine storagetest.DocumentsEngine) {
	t.Run("AnyOrder", func(t *testing.T) { testRecorderOrder(t, engine, randomRuns()) })
	if !testing.Short() {
		t.Run("Crowded", func(t *testing.T) { testRecorderCrowded(t, engine) })
	}
	t.Run("Interrupted", func(t *testing.T) { testRecorderInterrupted(t, engine) })
	t.Run("AtOnce", func(t *testing.T) { testRecorderAtOnce(t, engine) })
	t.Run("Announced", func(t *testing.T) { testRecorderAnnounces(t, engine, true) })
	t.Run("Costs", func(t *testing.T) { testRecorderCosts(t, engine) })
}

// RecorderBriefly is the part of Recorder that depends most on the engine, without cases that take minutes on a slow
// server.
func RecorderBriefly(t *testing.T, engine storagetest.DocumentsEngine) {
	t.Run("AnyOrder", func(t *testing.T) { testRecorderOrder(t, engine, 1) })
	t.Run("Announced", func(t *testing.T) { testRecorderAnnounces(t, engine, !testing.Short()) })
}

// modelTemplates are the templates of flows and trails of a model.
var modelTemplates = []string{
	template.Empty,
	`
version: 1
trail:
  attestations:
    - {name: x, type: generic}
  artifacts:
    - name: api
      attestations:
        - {name: x, type: junit}
        - {name: y, type: "*"}
`, `
version: 1
trail:
  artifacts:
    - {name: api}
    - name: web
      attestations:
        - {name: z, type: decision}
        - {name: x, type: generic}
`, `
version: 1
trail:
  attestations:
    - {name: z, type: decision}
    - {name: y, type: "*"}
`,
}

// model is an organization with one flow in which things are reported.
type model struct {
	engine storage.Documents
	org    string
	flow   evidence.Flow
	// templates are the ids of modelTemplates.
	templates []string
	mu        sync.Mutex
	// now counts the requests and answers so far.
	now int
	// acked has the periods of the acknowledged attestations and artifacts by id, begun those of trails by name.
	acked, begun map[string]period
}

// period is from the request of an operation until its acknowledgement, in counts of model.now.
type period struct{ requested, acked int }

// before reports whether an operation was acknowledged before another was requested.
func (p period) before(other period) bool { return p.acked < other.requested }

const modelFlow = "flow"

// newStore opens a store on the engine, as a new process does.
func newStore(t testing.TB, docs storage.Documents) *app.Store {
	t.Helper()
	clock := func() time.Time { return time.Unix(2_000_000_000, 0) }
	store := app.NewStore(docs, nil, clock, slog.New(slog.DiscardHandler))
	t.Cleanup(store.Tenancy.Close)
	return store
}

func openEngine(t *testing.T, engine storagetest.DocumentsEngine) storage.Documents {
	t.Helper()
	docs := engine.Open(t, engine.Locate(t), app.Schemas()...)
	t.Cleanup(func() { _ = docs.Close() })
	return docs
}

// newModel makes a new organization, whose flow has a template, by its index in modelTemplates.
func newModel(t testing.TB, docs storage.Documents, flowTemplate int) *model {
	t.Helper()
	c := &model{engine: docs, org: evidence.NewID(), acked: map[string]period{}, begun: map[string]period{}}
	store := newStore(t, docs)
	for _, content := range modelTemplates {
		id, err := store.Templates.Put(t.Context(), c.org, []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		c.templates = append(c.templates, id)
	}
	_, flow, err := store.Flows.Put(t.Context(), evidence.Flow{
		ID: evidence.NewID(), Org: c.org, Name: modelFlow, Visibility: evidence.PrivateFlow,
		Template: c.templates[flowTemplate], CreatedAt: 1, LastModifiedAt: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.flow = flow
	return c
}

// operation is a request of a client. If it is done again, it is another report with the same content.
type operation struct {
	// Kind is begin, report, attest, or override.
	Kind        string
	Trail       string
	Template    int // begin: index in modelTemplates + 1, 0 for none
	Description string
	Name        string // report: the artifact's
	Fingerprint string
	Children    []string // report: the artifact's
	Commit      string
	Targets     []string
	Attestation string // attest, override: the name
	Type        string
	Control     string
	Compliant   bool
	At          float64
}

func (d operation) String() string {
	parts := []string{d.Kind, d.Trail}
	for _, part := range []struct{ name, value string }{
		{"name", d.Name}, {"print", d.Fingerprint}, {"commit", d.Commit}, {"targets", strings.Join(d.Targets, "+")},
		{"attestation", d.Attestation}, {"type", d.Type}, {"control", d.Control}, {"description", d.Description},
	} {
		if part.value != "" {
			parts = append(parts, part.name+"="+part.value)
		}
	}
	return fmt.Sprintf("%s template=%d compliant=%v at=%v", strings.Join(parts, " "), d.Template, d.Compliant, d.At)
}

// do lets a process do an operation, and notes when it is acknowledged.
func (c *model) do(ctx context.Context, store *app.Store, d operation) error {
	id := evidence.NewID()
	requested := c.request(d)
	err := c.perform(ctx, store, d, id)
	if err == nil {
		c.ack(d, id, requested)
	}
	return err
}

// never is later than any request.
const never = math.MaxInt

// request notes a request, and returns its number.
func (c *model) request(d operation) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	if _, known := c.begun[d.Trail]; !known {
		c.begun[d.Trail] = period{requested: c.now, acked: never}
	}
	return c.now
}

// ack notes that a request was acknowledged.
func (c *model) ack(d operation, id string, requested int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	if d.Kind != "begin" {
		c.acked[id] = period{requested: requested, acked: c.now}
	}
	if begun := c.begun[d.Trail]; begun.acked == never {
		c.begun[d.Trail] = period{requested: begun.requested, acked: c.now}
	}
}

func (c *model) perform(ctx context.Context, store *app.Store, d operation, id string) error {
	scope := recording.Scope{
		Org: c.org, OrgName: "acme", Flow: modelFlow, Trail: d.Trail, By: "somebody", ByID: "by", At: d.At,
	}
	switch d.Kind {
	case "begin":
		_, err := store.Recorder.Begin(ctx, scope, c.flow.ID, c.change(d), nil)
		return err
	case "report":
		return store.Recorder.Report(ctx, scope, evidence.ArtifactRecord{
			ID: id, Org: c.org, Trail: d.Trail, Name: d.Name, Fingerprint: d.Fingerprint, ChildFingerprints: d.Children,
			Filename: d.Name + ".tgz", CommitSHA: d.Commit, CreatedAt: d.At,
		}, nil)
	case "attest":
		return store.Recorder.Attest(ctx, scope, c.attestation(d, id), nil)
	case "override":
		override := c.attestation(d, id)
		override.Override = &evidence.Override{Reason: "because"}
		return store.Recorder.Override(ctx, scope, override, nil)
	default:
		return errors.New("no such operation: " + d.Kind)
	}
}

func (c *model) change(d operation) evidence.TrailChange {
	change := evidence.TrailChange{Description: &d.Description}
	if d.Template > 0 {
		change.Template = c.templates[d.Template-1]
	}
	return change
}

func (c *model) attestation(d operation, id string) evidence.Attestation {
	a := evidence.Attestation{
		ID: id, Org: c.org, Trail: d.Trail, Name: d.Attestation, Type: d.Type, Compliant: d.Compliant,
		Fingerprint: d.Fingerprint, Targets: d.Targets, Control: d.Control, CreatedAt: d.At,
	}
	if d.Commit != "" {
		a.Commit = &evidence.GitCommit{SHA1: d.Commit}
	}
	return a
}

// refused reports whether an error means that an operation cannot be done.
func refused(err error) bool {
	code := evidence.CodeOf(err)
	return code == evidence.NotFound || code == evidence.Invalid
}

// tryLater reports whether an error asks the client to retry.
func tryLater(err error) bool {
	code := evidence.CodeOf(err)
	return code == evidence.Unavailable || code == evidence.Conflict
}

// late is later than any operation.
const late = 1e12

// finish applies the pending events and the facts that other processes have left behind.
func (c *model) finish(ctx context.Context, store *app.Store) error {
	if _, err := store.Trails.ApplyPendingBefore(ctx, late); err != nil {
		return err
	}
	_, err := store.Recorder.Reconcile(ctx, c.org, late)
	return err
}
