package storagetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"attestry/storage"
)

// ErrKilled is the error of every command of a process that has died.
var ErrKilled = errors.New("the process is dead")

// Fault is a fault at one of the commands of a process. The zero value injects nothing.
type Fault struct {
	// At is the number of the command, or of the write if OnlyWrites.
	At         int
	OnlyWrites bool
	// Before is called before the command. Dies ends the process before the command, or after it if Late: no later
	// command succeeds.
	Before     func()
	Dies, Late bool
	// Err is returned instead of the command, and later commands succeed.
	Err error
}

// DieAtWrite ends a process before or after its n-th write, or never if n is 0.
func DieAtWrite(n int, late bool) Fault {
	return Fault{At: n, OnlyWrites: true, Dies: true, Late: late}
}

// FaultInjector is the engine of one process, with a fault at one command. Each write of a batch is a command of its
// own.
type FaultInjector struct {
	Interceptor
	Commands atomic.Int64
	Largest  atomic.Int64 // bytes of a document that was written
	// Reached reports that the fault has happened, Dead that it has ended the process.
	Reached, Dead atomic.Bool

	fault   Fault
	counted atomic.Int64
	running sync.RWMutex // held for reading by each command
}

// NewFaultInjector injects a fault into the commands of a process to docs.
func NewFaultInjector(docs storage.Documents, fault Fault) *FaultInjector {
	f := &FaultInjector{fault: fault}
	f.Interceptor = Interceptor{Documents: docs, Around: f.around}
	return f
}

// Wait waits until no command is running.
func (f *FaultInjector) Wait() {
	f.running.Lock()
	defer f.running.Unlock()
}

func (f *FaultInjector) around(command Command, run func() error) error {
	f.running.RLock()
	defer f.running.RUnlock()
	f.Commands.Add(1)
	for _, write := range command.Writes {
		f.Largest.Store(max(f.Largest.Load(), int64(len(write.Record.Body))))
	}
	if f.Dead.Load() {
		return ErrKilled
	}
	writes := slices.ContainsFunc(command.Writes, func(write storage.Write) bool { return write.Kind != storage.WriteCheck })
	if f.fault.OnlyWrites && !writes || f.counted.Add(1) != int64(f.fault.At) {
		return run()
	}
	f.Reached.Store(true)
	f.Dead.Store(f.fault.Dies)
	if f.fault.Before != nil {
		f.fault.Before()
	}
	if f.fault.Err != nil {
		return f.fault.Err
	}
	if !f.fault.Dies {
		return run()
	}
	if f.fault.Late {
		_ = run()
	}
	return ErrKilled
}

// Write sends the engine a command for each write.
func (f *FaultInjector) Write(ctx context.Context, writes ...storage.Write) error {
	return WriteOneByOne(writes, func(write storage.Write) error { return f.Interceptor.Write(ctx, write) })
}

// ErrWrite is the error of a write to a collection that fails.
var ErrWrite = errors.New("the write failed")

// FailingCollection fails all commands that write to the collection Name.
type FailingCollection struct {
	Interceptor
	Name string
}

// NewFailingCollection wraps docs; no write fails before Name is set.
func NewFailingCollection(docs storage.Documents) *FailingCollection {
	c := &FailingCollection{}
	c.Interceptor = Interceptor{Documents: docs, Around: func(command Command, run func() error) error {
		if slices.ContainsFunc(command.Writes, func(write storage.Write) bool { return write.Schema.Name == c.Name }) {
			return ErrWrite
		}
		return run()
	}}
	return c
}
