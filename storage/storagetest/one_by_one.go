package storagetest

import (
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
