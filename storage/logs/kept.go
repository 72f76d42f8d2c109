package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"attestry/evidence/translog"
	"attestry/storage"
	"attestry/storage/transfer"
)

const (
	// keptScope begins the scope of the checkpoints in the object store, followed by the id of the organization. When
	// the database is restored from a backup, they are still there.
	keptScope = "log-checkpoints."
	// Continuation is the kind of the entry that cites the last checkpoint of the previous log.
	Continuation = "continuation"
	// beforeAll is less than the time of any leaf, in Unix seconds; facts without a time have 0.
	beforeAll = -1
)

// Kept is a checkpoint in the object store.
type Kept struct {
	// Generation is how many logs the organization had before the one of the checkpoint.
	Generation int    `json:"generation"`
	Size       int64  `json:"size"`
	Note       string `json:"note"`
}

// replaces reports whether a checkpoint was signed after another one.
func (k *Kept) replaces(other *Kept) bool {
	return k.Generation > other.Generation || k.Generation == other.Generation && k.Size > other.Size
}

// Keep stores a checkpoint of an organization's log in the object store and returns its key. It deletes the object with
// the key replaced, unless that is "".
func (l *Logs) Keep(ctx context.Context, org string, kept *Kept, replaced string) (string, error) {
	content, err := json.Marshal(kept)
	if err != nil {
		return replaced, err
	}
	stored, err := l.objects.Put(ctx, keptScope+org, bytes.NewReader(content), int64(len(content)))
	if err != nil || replaced == stored.Key {
		return replaced, err
	}
	return stored.Key, l.deleteKept(ctx, replaced)
}

// deleteKept deletes a replaced checkpoint, unless it is under retention.
func (l *Logs) deleteKept(ctx context.Context, key string) error {
	if key == "" {
		return nil
	}
	err := l.objects.Delete(ctx, key)
	if errors.Is(err, storage.ErrRetained) {
		return nil
	}
	return err
}

// LastKept returns the last checkpoint of an organization's logs in the object store, and its key, which is "" if there
// is none. It deletes the others.
func (l *Logs) LastKept(ctx context.Context, org string) (last Kept, key string, err error) {
	for object, err := range transfer.ObjectsIn(l.objects).All(ctx, keptScope+org+"/") {
		if err != nil {
			return last, key, err
		}
		found, err := l.readKept(ctx, object.Key)
		if err != nil {
			return last, key, err
		}
		replaced := object.Key
		if found.replaces(&last) {
			last, key, replaced = found, object.Key, key
		}
		if err := l.deleteKept(ctx, replaced); err != nil {
			return last, key, err
		}
	}
	return last, key, nil
}

func (l *Logs) readKept(ctx context.Context, key string) (found Kept, err error) {
	content, err := l.readObject(ctx, key)
	if err == nil {
		err = json.Unmarshal(content, &found)
	}
	return found, err
}

// CheckConsistent returns why a log must not be continued, "" if it may be. Published checkpoints must be consistent,
// so it must not contradict the last one in the object store, nor lack entries of later ones (Log.Restored).
func (l *Logs) CheckConsistent(ctx context.Context, log *Log, last Kept) (string, error) {
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
	root, err := tlog.TreeHash(published.Size, l.hashReader(ctx, log, tlog.Tree{N: log.Tree.Size, Hash: log.Tree.Root()}))
	if err != nil || root == published.Root {
		return log.Restored, err
	}
	return fmt.Sprintf("the first %d entries in the database are not those of a checkpoint that was published", last.Size), nil
}

// RecordRestore stores in all logs of a restored database why they may lack entries, "" if they do not. It returns why
// logs must not be continued, by organization.
func (l *Logs) RecordRestore(ctx context.Context, why string) (map[string]string, error) {
	halted := map[string]string{}
	for record, err := range transfer.DocumentsIn(l.docs, LogSchema).All(ctx, "") {
		if err != nil {
			return halted, err
		}
		log, err := l.Collection.Update(ctx, record.ID, storage.WithoutError(func(log *Log) { log.Restored = why }))
		if err != nil {
			return halted, err
		}
		last, _, err := l.LastKept(ctx, record.ID)
		if err != nil {
			return halted, err
		}
		if halt, err := l.CheckConsistent(ctx, &log, last); err != nil {
			return halted, err
		} else if halt != "" {
			halted[record.ID] = halt
		}
	}
	return halted, nil
}

// ErrConsistent reports that a log needs no other one to continue it.
var ErrConsistent = errors.New("the database has all entries of the last checkpoint that was published")

// continueAttempts is how often Continue tries, as cosignatures are recorded meanwhile.
const continueAttempts = 10

// Continue begins a new log for an organization whose log must not be continued, with the entries of the database and
// another origin. Its next entry cites the last checkpoint of the old log in the object store.
func (l *Logs) Continue(ctx context.Context, org string) (next Log, err error) {
	for try := range continueAttempts {
		if next, err = l.tryContinue(ctx, org); !errors.Is(err, storage.ErrMoved) {
			return next, err
		}
		if err := storage.BackOff(ctx, try); err != nil {
			return Log{}, err
		}
	}
	return Log{}, err
}

func (l *Logs) tryContinue(ctx context.Context, org string) (Log, error) {
	old, err := l.Collection.GetVersioned(ctx, org)
	if err != nil {
		return Log{}, err
	}
	last, _, err := l.LastKept(ctx, org)
	if err != nil {
		return Log{}, err
	}
	why, err := l.CheckConsistent(ctx, &old.Value, last)
	if err != nil {
		return Log{}, err
	}
	if why == "" {
		return Log{}, ErrConsistent
	}
	next := Log{
		Org: org, Origin: old.Value.nextOrigin(last.Generation + 1), Secret: old.Value.Secret, Tree: old.Value.Tree,
		Generation: last.Generation + 1, Continues: last.Note,
	}
	citation := newLeaf(org, Continuation, fmt.Sprint(next.Generation), []byte(last.Note))
	citation.At = beforeAll
	batch := &storage.Batch{}
	l.versions.AddEncodedIn(batch, &citation, []byte(last.Note))
	l.pending.PutIn(batch, citation)
	l.Collection.ReplaceIn(batch, &next, old.Revision)
	return next, batch.Write(ctx, l.docs)
}

// nextOrigin is the origin of the log of a generation that continues this one.
func (l *Log) nextOrigin(generation int) string {
	first := l.Origin
	if l.Generation > 0 { // the first log has no number, and its organization may be called 0
		first = strings.TrimSuffix(first, fmt.Sprintf("/%d", l.Generation))
	}
	return fmt.Sprintf("%s/%d", first, generation)
}

// Halt records why this process does not continue a log, "" if it does.
func (l *Logs) Halt(log *Log, why string) {
	if why == "" {
		l.halted.Delete(log.Org)
		return
	}
	l.halted.Store(log.Org, log.Origin+": "+why)
}

// Halted says which logs this process does not continue and why, "" if there are none.
func (l *Logs) Halted() string {
	var all []string
	l.halted.Range(func(_, why any) bool {
		all = append(all, why.(string))
		return true
	})
	return strings.Join(all, "; ")
}
