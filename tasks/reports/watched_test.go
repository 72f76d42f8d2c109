package reports_test

import (
	"sync/atomic"

	"attestry/storage"
	"attestry/storage/storagetest"
)

// watch returns an engine whose commands are run by around, each write as a command of its own. write means that the
// command writes.
func watch(docs storage.Documents, around func(write bool, run func() error) error) storage.Documents {
	return storagetest.OneByOne{Documents: &storagetest.Interceptor{
		Documents: docs,
		Around: func(command storagetest.Command, run func() error) error {
			return around(len(command.Writes) > 0, run)
		},
	}}
}

// interruption calls happen once, before the at-th command, or before the at-th write if onlyWrites is set.
type interruption struct {
	at         int64
	onlyWrites bool
	happen     func()
	count      atomic.Int64
}

func (i *interruption) around(write bool, run func() error) error {
	if (write || !i.onlyWrites) && i.count.Add(1) == i.at {
		i.happen()
	}
	return run()
}

// happened reports whether there were that many commands.
func (i *interruption) happened() bool { return i.count.Load() >= i.at }
