package storagetest

import (
	"context"
	"errors"

	"attestry/storage"
)

// WriteOneByOne calls write for each write of a command, like an engine whose batches are not atomic. The first error
// ends the command and is its result.
func WriteOneByOne(writes []storage.Write, write func(storage.Write) error) error {
	for i, one := range writes {
		err := write(one)
		if refused, ok := errors.AsType[*storage.RefusedWrite](err); ok {
			return &storage.RefusedWrite{Index: i, Reason: refused.Reason}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// OneByOne is an engine that does the writes of a command one by one.
type OneByOne struct{ storage.Documents }

// Write sends the engine a command for each write.
func (o OneByOne) Write(ctx context.Context, writes ...storage.Write) error {
	return WriteOneByOne(writes, func(write storage.Write) error { return o.Documents.Write(ctx, write) })
}
