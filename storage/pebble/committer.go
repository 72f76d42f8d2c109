package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"attestry/goroutine"
	"attestry/storage"
)

const (
	// maxGroup and maxGroupBytes limit a group, so that its first command does not wait too long. Pebble is slower with
	// batches of half a memtable or more.
	maxGroup      = 256
	maxGroupBytes = memTableBytes / 4
	// reserve is the free disk space below which writes are refused. Pebble needs it for the next log.
	reserve = 4 << 20
)

type step struct {
	kind storage.WriteKind
	row  row
	// revision is the expected one.
	revision int64
}

// command is the writes of one caller. If a step is refused, none is applied.
type command struct {
	ctx     context.Context
	steps   []step
	bytes   int
	outcome error
	done    chan struct{}
}

// committer is the only goroutine that writes. Commands that arrive while it is busy are its next group.
type committer struct {
	db      *DB
	queue   chan *command
	stopped chan struct{}
	group   *group
}

func newCommitter(db *DB) *committer {
	group := &group{db: db, edits: edits{batch: db.engine.NewBatch()}, changed: map[string]head{}, own: map[string]head{}}
	return &committer{db: db, queue: make(chan *command), stopped: make(chan struct{}), group: group}
}

// do waits until a command is durable. The queue has no buffer: a command that the committer has received is answered.
func (c *committer) do(ctx context.Context, cmd *command) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	state := c.db.health.state.Load()
	select {
	case <-state.refusing:
		return state.err
	default:
	}
	cmd.ctx, cmd.done = ctx, make(chan struct{})
	select {
	case c.queue <- cmd:
	case <-state.refusing:
		return state.err
	case <-ctx.Done():
		return ctx.Err()
	case <-c.db.closing:
		return c.db.closedError()
	}
	select {
	case <-cmd.done:
		return cmd.outcome
	case <-state.refusing:
		return cmd.outcomeOr(state.err)
	case <-ctx.Done():
		return cmd.outcomeOr(ctx.Err())
	}
}

func (c *command) outcomeOr(err error) error {
	select {
	case <-c.done:
		return c.outcome
	default:
		return err
	}
}

func (c *committer) run() {
	defer close(c.stopped)
	for {
		select {
		case <-c.db.closing:
			return
		case first := <-c.queue:
			c.commit(c.gather(first))
		}
	}
}

// gather adds the waiting commands to the first one.
func (c *committer) gather(first *command) []*command {
	commands := []*command{first}
	for bytes := first.bytes; len(commands) < maxGroup && bytes < maxGroupBytes; {
		select {
		case next := <-c.queue:
			commands = append(commands, next)
			bytes += next.bytes
		default:
			return commands
		}
	}
	return commands
}

// commit writes a group and answers all its commands. If that fails, refused commands get the error too: the document
// that they conflict with may exist only in this group. After a panic, each command is written alone.
func (c *committer) commit(commands []*command) {
	err := goroutine.Recovered(func() error { return c.write(commands) })
	if errors.Is(err, goroutine.ErrPanicked) && len(commands) > 1 && c.db.health.failure() == nil {
		for _, one := range commands {
			c.commit([]*command{one})
		}
		return
	}
	for _, one := range commands {
		if err != nil {
			one.outcome = err
		}
		close(one.done)
	}
}

func (c *committer) write(commands []*command) error {
	c.group.begin()
	for _, one := range commands {
		if one.outcome = one.ctx.Err(); one.outcome == nil {
			one.outcome = c.group.add(one)
		}
	}
	if c.group.err != nil || c.group.batch.Empty() {
		return explain(c.db.folder, c.group.err)
	}
	if err := c.checkRoom(c.group.batch.Len()); err != nil {
		return err
	}
	groups := c.db.acknowledged.Load() + 1
	if c.group.set(space{}.key(groupsName), binary.BigEndian.AppendUint64(nil, groups)); c.group.err != nil {
		return explain(c.db.folder, c.group.err)
	}
	err := goroutine.Recovered(func() error { return c.db.engine.Apply(c.group.batch, pebble.Sync) })
	if errors.Is(err, goroutine.ErrPanicked) {
		// It is unknown what was written and which locks Pebble still holds.
		c.db.health.fail(err)
		return err
	}
	if err != nil {
		return explain(c.db.folder, err)
	}
	if err := c.db.health.failure(); err != nil {
		return err
	}
	c.db.acknowledged.Store(groups)
	c.db.views.publish()
	return nil
}

// checkRoom refuses a group for which the disk has no room. So nearly every full disk is detected before a write.
func (c *committer) checkRoom(bytes int) error {
	room, err := c.db.files.room()
	if err != nil || room >= uint64(reserve+bytes) {
		return nil // if the room is unknown, the write itself may fail
	}
	return storage.RefuseWrite(storage.Database, storage.DiskFull,
		named(c.db.folder, fmt.Errorf("%d bytes are available on its disk", room)))
}

// Write does all of the writes, or none if one of them is refused.
func (db *DB) Write(ctx context.Context, writes ...storage.Write) error {
	if err := storage.CheckWrites(writes); err != nil || len(writes) == 0 {
		return err
	}
	c := &command{steps: make([]step, len(writes))}
	for i := range writes {
		col, err := db.collection(writes[i].Schema)
		if err != nil {
			return err
		}
		c.steps[i] = newStep(col, &writes[i])
		c.bytes += c.steps[i].row.bytes()
	}
	return db.committer.do(ctx, c)
}

func newStep(c *collection, w *storage.Write) step {
	s := step{kind: w.Kind, revision: w.Revision}
	if w.Kind == storage.WriteDelete || w.Kind == storage.WriteCheck {
		s.row = newKeyRow(c, w.Record.ID)
	} else {
		s.row = newRow(c, &w.Record)
	}
	return s
}
