package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"attestry/evidence/translog"
	"attestry/storage"
)

// keptScope begins the scope of the checkpoints of an organization's log that are kept in the object store, where they
// outlive a database that is restored from a backup. Its keys begin with it.
const keptScope = "log-checkpoints."

// Kept is a checkpoint in the object store.
type Kept struct {
	// Generation is how many logs the organization had before the one of the checkpoint.
	Generation int    `json:"generation"`
	Size       int64  `json:"size"`
	Note       string `json:"note"`
}

// Keep stores a checkpoint of an organization's log in the object store. It returns the key.
func (l *Logs) Keep(ctx context.Context, org string, kept Kept) (key string, err error) {
	content, err := json.Marshal(kept)
	if err != nil {
		return "", err
	}
	stored, err := l.objects.Put(ctx, keptScope+org, bytes.NewReader(content), int64(len(content)))
	return stored.Key, err
}

// Forgo deletes a checkpoint that a later one replaces, unless it is under retention.
func (l *Logs) Forgo(ctx context.Context, key string) error {
	err := l.objects.Delete(ctx, key)
	if errors.Is(err, storage.ErrRetained) {
		return nil
	}
	return err
}

// LastKept returns the last checkpoint of an organization's logs that is kept in the object store, and its key, which is "" if
// there is none. It deletes those that it has replaced.
func (l *Logs) LastKept(ctx context.Context, org string) (last Kept, key string, err error) {
	prefix := keptScope + org + "/"
	for after := prefix; ; {
		page, err := l.objects.List(ctx, after, storage.MaxMany)
		if err != nil {
			return last, key, err
		}
		for _, object := range page {
			if !strings.HasPrefix(object.Key, prefix) {
				return last, key, nil
			}
			after = object.Key
			found, err := l.readKept(ctx, after)
			if err != nil {
				return last, key, err
			}
			replaced := after
			if key == "" || found.Generation > last.Generation || found.Generation == last.Generation && found.Size > last.Size {
				replaced, last, key = key, found, after
			}
			if replaced == "" {
				continue
			}
			if err := l.Forgo(ctx, replaced); err != nil {
				return last, key, err
			}
		}
		if len(page) == 0 {
			return last, key, nil
		}
	}
}

func (l *Logs) readKept(ctx context.Context, key string) (kept Kept, err error) {
	reader, err := l.objects.Get(ctx, key, 0, -1)
	if err != nil {
		return kept, err
	}
	defer reader.Close()
	content, err := io.ReadAll(reader)
	if err == nil {
		err = json.Unmarshal(content, &kept)
	}
	return kept, err
}

// Behind compares a log with the last checkpoint that was kept of it. It returns why the log must not be continued, "" if it
// may be: each checkpoint that was ever published has to be consistent with all later ones.
func (l *Logs) Behind(ctx context.Context, log *Log, last Kept) (string, error) {
	switch {
	case last.Note == "" || last.Generation < log.Generation:
		return "", nil // a log that continues another one has no checkpoint yet
	case last.Generation > log.Generation:
		return "the database does not know that the log was continued by another one", nil
	case last.Size > log.Tree.Size:
		return fmt.Sprintf("the database has %d entries, and a checkpoint of %d was published", log.Tree.Size, last.Size), nil
	}
	published, err := translog.ParseCheckpoint(last.Note)
	if err != nil {
		return "", err
	}
	reader := tlog.TileHashReader(tlog.Tree{N: log.Tree.Size, Hash: log.Tree.Root()}, &tiles{ctx: ctx, logs: l, log: log})
	root, err := tlog.TreeHash(published.Size, reader)
	if err != nil || root == published.Root {
		return "", err
	}
	return fmt.Sprintf("the first %d entries in the database are not those of a checkpoint that was published", last.Size), nil
}

// ErrNotBehind reports that a log needs no other one to continue it.
var ErrNotBehind = errors.New("the database has all entries of the last checkpoint that was published")

// Continue begins another log for an organization whose log must not be continued. It has the entries of the database and is
// named by another origin. Its next entry cites the last checkpoint that was kept of the old log.
func (l *Logs) Continue(ctx context.Context, org string) error {
	log, err := l.logs.GetVersioned(ctx, org)
	if err != nil {
		return err
	}
	last, _, err := l.LastKept(ctx, org)
	if err != nil {
		return err
	}
	why, err := l.Behind(ctx, &log.Value, last)
	if err != nil {
		return err
	}
	if why == "" {
		return ErrNotBehind
	}
	old, generation := log.Value, last.Generation+1
	next := Log{
		Org: org, Origin: fmt.Sprintf("%s/%d", firstOrigin(&old), generation), Secret: old.Secret, Tree: old.Tree,
		Generation: generation, Continues: last.Note,
	}
	cites := newLeaf(org, Continuation, fmt.Sprint(generation), []byte(last.Note))
	cites.Fact, cites.At = []byte(last.Note), beforeAll
	batch := &storage.Batch{}
	l.leaves.PutIn(batch, cites)
	l.logs.ReplaceIn(batch, &next, log.Revision)
	return batch.Write(ctx, l.docs)
}

// Continuation is the kind of the entry that cites the log before.
const Continuation = "continuation"

// beforeAll is a time before those of all facts, some of which have none, in Unix seconds.
const beforeAll = -1

func firstOrigin(log *Log) string {
	return strings.TrimSuffix(log.Origin, fmt.Sprintf("/%d", log.Generation))
}

// halted are the logs that this process does not continue: organization → why.
type halted struct {
	mu   sync.Mutex
	logs map[string]string
}

// Halt notes why a log is not continued, "" if it is.
func (l *Logs) Halt(log *Log, why string) {
	l.halted.mu.Lock()
	defer l.halted.mu.Unlock()
	delete(l.halted.logs, log.Org)
	if why != "" {
		l.halted.logs[log.Org] = log.Origin + ": " + why
	}
}

// Halted says which logs this process does not continue and why, "" if there are none.
func (l *Logs) Halted() string {
	l.halted.mu.Lock()
	defer l.halted.mu.Unlock()
	var all []string
	for _, why := range l.halted.logs {
		all = append(all, why)
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}
