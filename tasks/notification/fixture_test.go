package notification_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"attestry/app"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/job"
	"attestry/evidence/notification"
	"attestry/links"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/pebble/pebbletest"
	tasks "attestry/tasks/notification"
	"attestry/tasks/relay"
	"attestry/tasks/reports"
)

var acme = evidence.OrgAccess{OrgID: "org", OrgName: "acme"}

// queue is a fake that holds tasks until the test runs them.
type queue struct {
	mu      sync.Mutex
	fanouts []fanoutTask
	sends   []sendTask
	err     error // returned by Enqueue, which then drops the task
	full    bool
}

type fanoutTask struct {
	event  string
	action int64
}

type sendTask struct{ org, delivery string }

func (q *queue) Enqueue(_ context.Context, ref job.Ref, _ int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch of := ref.Payload; {
	case q.err != nil:
	case ref.Kind == &job.Fanout:
		q.fanouts = append(q.fanouts, fanoutTask{of.Event, of.Action})
	default:
		q.sends = append(q.sends, sendTask{of.Org, of.Delivery})
	}
	return q.err
}

func (q *queue) Waiting(context.Context, string) (int, error) {
	if q.full {
		return 1_000_000, nil
	}
	return 0, q.err
}

// recipient is a fake sender that records its attempts.
type recipient struct {
	mu   sync.Mutex
	sent []sent
	// answer returns why an attempt fails, or "". If it is nil, all attempts succeed.
	answer func(target *notification.Target, delivery *notification.Delivery) string
	clock  *evidencetest.Clock
	// status and retryAfter, in seconds, are the answer of the receiver to failed attempts.
	status     int
	retryAfter float64
}

type sent struct {
	target   notification.Target
	delivery notification.Delivery
	secrets  []string
}

func (r *recipient) Send(_ context.Context, target *notification.Target, delivery *notification.Delivery, secrets []string) notification.Attempt {
	attempt := notification.Attempt{At: evidence.Seconds(r.clock.Now()), Status: 200}
	if r.answer != nil {
		attempt.Reason = r.answer(target, delivery)
	}
	if attempt.Reason != "" {
		attempt.Status, attempt.RetryAfter = r.status, r.retryAfter
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, sent{*target, *delivery, secrets})
	return attempt
}

// scene is an environment with the process that handles its reports and delivers notifications.
type scene struct {
	t         *testing.T
	docs      storage.Documents
	store     *app.Store
	clock     *evidencetest.Clock
	intake    *reports.Intake
	processor *reports.Processor
	queue     *queue
	recipient *recipient
	relay     *relay.Relay
	fanout    *tasks.Fanout
	deliverer *tasks.Deliverer
	env       string
}

// silent is a fake queue and publisher that drops everything.
type silent struct{}

func (silent) Dispatch(context.Context, *job.Kind, string, int64) {}
func (silent) Unreachable() bool                                  { return false }
func (silent) PublishChange(context.Context, string)              {}
func (silent) Register(string) (<-chan struct{}, func(), bool) {
	return nil, func() {}, false
}

func newScene(t *testing.T) *scene {
	t.Helper()
	folder := t.TempDir()
	objects, err := filesystem.Open(filepath.Join(folder, "objects"))
	evidencetest.Must(t, err)
	s := &scene{t: t, docs: pebbletest.Open(t, filepath.Join(folder, "documents"), app.Schemas())}
	s.clock = evidencetest.NewSteppingClock(time.Unix(1_790_000_000, 0), time.Millisecond)
	s.queue, s.recipient = &queue{}, &recipient{clock: s.clock}
	s.start(s.docs, objects)
	s.env = s.environment("production", evidence.Server)
	return s
}

// start replaces the process by a new one, with empty caches.
func (s *scene) start(docs storage.Documents, objects storage.Objects) {
	log := slog.New(slog.DiscardHandler)
	s.store = app.NewStore(docs, objects, s.clock.Now, log)
	s.t.Cleanup(s.store.Tenancy.Close)
	address := links.Links{Base: "https://attestry.example.com"}
	s.intake = reports.NewIntake(s.store, silent{}, silent{}, s.clock.Now, 0)
	s.processor = reports.NewProcessor(s.store, silent{}, s.clock.Now, log, func(string) {})
	leases := s.store.Leases // a later process has its own
	elect := func(ctx context.Context) (bool, error) {
		return leases.Acquire(ctx, "relay", job.EnqueueAgain)
	}
	s.relay = relay.New(job.QueueNotifications, s.queue, s.clock.Now, elect, s.store.Outbox.Due, s.store.Deliveries.Due)
	s.fanout = tasks.NewFanout(s.store, address, s.queue, s.clock.Now, log)
	s.deliverer = tasks.NewDeliverer(s.store, s.recipient, s.clock.Now, log, func(notification.TargetType, bool) {})
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) environment(name string, kind evidence.EnvironmentType) string {
	s.t.Helper()
	id := evidence.NewID()
	_, err := s.store.Environments.Put(s.t.Context(), evidence.Environment{ID: id, Org: acme.OrgID, Name: name, Type: kind}, evidence.EnvironmentChange{})
	s.must(err)
	return id
}

// action stores an action and returns its number.
func (s *scene) action(kind notification.Kind, subject string, triggers []notification.Trigger, targets ...notification.Target) int64 {
	s.t.Helper()
	now := evidence.Seconds(s.clock.Now())
	var number int64
	_, err := s.store.Actions.Change(s.t.Context(), acme, func(all *notification.Actions) error {
		stored, _, err := all.Put(notification.Action{
			Name: fmt.Sprint("action-", subject, triggers), Kind: kind, Subjects: []string{subject}, Triggers: triggers, Targets: targets,
			CreatedBy: "anna", CreatedAt: now, LastModifiedAt: now,
		})
		number = stored.Number
		return err
	})
	s.must(err)
	return number
}

func webhook(name string) notification.Target {
	return notification.Target{Type: notification.Webhook, Webhook: "https://" + name + ".example.com/"}
}

func chat(name string) notification.Target {
	return notification.Target{Type: notification.Slack, Webhook: "https://" + name + ".example.com/"}
}

func fingerprint(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// report reports the running artifacts, one instance for each occurrence of a name, and processes the report.
func (s *scene) report(names ...string) {
	s.t.Helper()
	s.accept(names...)
	s.must(s.processor.Drain(s.t.Context(), s.env))
}

// scope is the scope of records in a trail of the flow backend.
func (s *scene) scope(trail string) recording.Scope {
	return recording.Scope{Org: acme.OrgID, OrgName: acme.OrgName, Flow: "backend", Trail: trail, By: "ci", ByID: "ci", At: evidence.Seconds(s.clock.Now())}
}

// flow ensures that the flow backend exists and returns its id.
func (s *scene) flow() string {
	s.t.Helper()
	flow, err := s.store.Flows.Ensure(s.t.Context(), acme.OrgID, "backend", "anna", evidence.Seconds(s.clock.Now()))
	s.must(err)
	return flow
}

// relayAll relays once and runs all tasks.
func (s *scene) relayAll() {
	s.t.Helper()
	s.must(s.relay.Relay(s.t.Context()))
	s.work()
}

// wantSent checks how many notices the recipient was sent.
func (s *scene) wantSent(want int) {
	s.t.Helper()
	if sent := len(s.recipient.sent); sent != want {
		s.t.Errorf("sent %d times, want %d", sent, want)
	}
}

// work runs all tasks of the queue, and those that they enqueue.
func (s *scene) work() {
	s.t.Helper()
	for len(s.queue.fanouts)+len(s.queue.sends) > 0 {
		fanouts, sends := s.queue.fanouts, s.queue.sends
		s.queue.fanouts, s.queue.sends = nil, nil
		for _, task := range fanouts {
			s.must(s.fanout.MakeDeliveries(s.t.Context(), task.event, task.action))
		}
		for _, task := range sends {
			s.must(s.deliverer.Deliver(s.t.Context(), task.org, task.delivery))
		}
	}
}

// sentNotices relays, and returns the notices that were sent since the last call as "EVENT_TYPE subject TARGET_TYPE".
// The subject is the artifact or else the environment or flow.
func (s *scene) sentNotices() []string {
	s.t.Helper()
	s.relayAll()
	var notices []string
	for _, message := range s.recipient.sent {
		notice := message.delivery.Notice
		subject := notice.Environment + notice.Flow
		if notice.Artifact != nil {
			subject = notice.Artifact.Name
		}
		notices = append(notices, notice.EventType+" "+subject+" "+string(message.target.Type))
	}
	s.recipient.sent = nil
	slices.Sort(notices)
	return notices
}

func (s *scene) wantNotices(want ...string) {
	s.t.Helper()
	if got := s.sentNotices(); !slices.Equal(got, want) {
		s.t.Errorf("sent %q, want %q", got, want)
	}
}

// deliveries returns all deliveries of an action, the newest first.
func (s *scene) deliveries(action int64) []notification.Delivery {
	s.t.Helper()
	all, err := s.store.Deliveries.List(acme.OrgID, action, "", "", storage.MaxMany).Next(s.t.Context(), 1<<30)
	s.must(err)
	return all
}
