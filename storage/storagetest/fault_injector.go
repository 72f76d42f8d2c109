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

// Fault is what happens at one of the commands of a process. The zero value is nothing.
type Fault struct {
	// At is the number of the command, or of the write if OnlyWrites.
	At         int
	OnlyWrites bool
	// Before happens before the command. Dies ends the process there, or behind it
	// if Late: no command succeeds from then on.
	Before     func()
	Dies, Late bool
}

// DieAtWrite lets a process die at its n-th write, before or after it; 0 means that it lives on.
func DieAtWrite(n int, late bool) Fault {
	return Fault{At: n, OnlyWrites: true, Dies: true, Late: late}
}

// FaultInjector is an engine as one process sees it, to which a fault happens. It gives the
// engine a command for each write of a batch.
type FaultInjector struct {
	Interceptor
	Commands atomic.Int64
	Largest  atomic.Int64 // bytes of a document that was written
	// Reached tells that the fault has happened, Dead that the process has died of it.
	Reached, Dead atomic.Bool

	fault    Fault
	counted  atomic.Int64
	underWay sync.RWMutex
}

// NewFaultInjector lets a fault happen to a process that works on docs.
func NewFaultInjector(docs storage.Documents, fault Fault) *FaultInjector {
	f := &FaultInjector{fault: fault}
	f.Interceptor = Interceptor{Documents: docs, Around: f.around}
	return f
}

// Wait waits until no command is under way.
func (f *FaultInjector) Wait() {
	f.underWay.Lock()
	defer f.underWay.Unlock()
}

func (f *FaultInjector) around(command Command, run func() error) error {
	f.underWay.RLock()
	defer f.underWay.RUnlock()
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
	if !f.fault.Dies {
		return run()
	}
	if f.fault.Late {
		_ = run()
	}
	return ErrKilled
}

// Write gives the engine a command for each write.
func (f *FaultInjector) Write(ctx context.Context, writes ...storage.Write) error {
	return WriteOneByOne(writes, func(write storage.Write) error { return f.Interceptor.Write(ctx, write) })
}

// ErrWrite is the error of a write to a collection that fails.
var ErrWrite = errors.New("the write failed")

// FailingCollection fails the writes to one collection, as long as it is named.
type FailingCollection struct {
	Interceptor
	Name string
}

// NewFailingCollection fails no writes to docs yet.
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
