package tenancy_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/tenancy"
)

// refusals counts the batches that an engine refused because a document had moved.
type refusals struct {
	storage.Documents
	moved atomic.Int64
}

func (r *refusals) Write(ctx context.Context, writes ...storage.Write) error {
	err := r.Documents.Write(ctx, writes...)
	if errors.Is(err, storage.ErrMoved) {
		r.moved.Add(1)
	}
	return err
}

// issueKeys runs 16 clients that issue keys of their own service accounts in one organization, spread over the
// processes.
func issueKeys(t *testing.T, processes ...*tenancy.Tenancy) {
	t.Helper()
	const clients, keys = 16, 10
	apply(t, processes[0], tenancyBootstrap())
	var group sync.WaitGroup
	for i := range clients {
		process := processes[i%len(processes)]
		group.Go(func() {
			name := fmt.Sprint("robot-", i)
			robot, err := process.CreateServiceAccount(t.Context(), "acme", annaActs, identity.ServiceAccount{Name: name, Privilege: evidence.Member})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			owner := identity.KeyOwner{ID: robot.ID, Name: name, OrgID: robot.OrgID, OrgName: "acme", ServiceAccount: true}
			for range keys {
				if _, _, err := process.IssueKey(t.Context(), owner, annaActs, tenancy.NewKey{Description: "ci"}); err != nil {
					t.Errorf("a key of %s: %v", name, err)
				}
			}
			if issued, err := process.Keys(t.Context(), robot.ID); err != nil || len(issued) != keys {
				t.Errorf("%s has %d keys, %v, want %d", name, len(issued), err, keys)
			}
		})
	}
	group.Wait()
}

// openProcess returns the Tenancy of a new process on an engine.
func openProcess(t *testing.T, docs storage.Documents) *tenancy.Tenancy {
	t.Helper()
	clock := evidencetest.NewClock(time.Unix(1_800_000_000, 0))
	process := open(t, docs, clock)
	return process
}

func TestChangesOfAnOrganizationInOneProcessDoNotConflict(t *testing.T) {
	docs := &refusals{Documents: pebbletest.Open(t, t.TempDir(), tenancy.Schemas())}
	issueKeys(t, openProcess(t, docs))
	if moved := docs.moved.Load(); moved != 0 {
		t.Errorf("%d batches were refused", moved)
	}
}

func TestChangesOfAnOrganizationByManyProcessesAllSucceed(t *testing.T) {
	docs := pebbletest.Open(t, t.TempDir(), tenancy.Schemas())
	var processes []*tenancy.Tenancy
	for range 8 {
		processes = append(processes, openProcess(t, docs))
	}
	issueKeys(t, processes...)
}

func TestWaitingChangeEndsWhenItsRequestIsCancelled(t *testing.T) {
	store, docs, _ := newTenancy(t)
	docs.hook(nil)
	waiting, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	docs.hook(func(command, collection, _ string) error {
		if command != "replace" || collection != "organizations" {
			return nil
		}
		docs.hook(nil)
		go func() {
			_, err := store.SetMember(waiting, "open", "bert", evidence.Member, annaActs)
			ended <- err
		}()
		cancel()
		evidencetest.Is(t, <-ended, context.Canceled)
		return nil
	})
	if _, err := store.SetMember(t.Context(), "open", "bert", evidence.Reader, annaActs); err != nil {
		t.Fatal(err)
	}
	if got := membersOf(t, store, "open"); got != "anna admin, bert reader" {
		t.Errorf("members are %s", got)
	}
	// The next change is not blocked.
	if _, err := store.RemoveMember(t.Context(), "open", "bert", annaActs); err != nil {
		t.Fatal(err)
	}
}
