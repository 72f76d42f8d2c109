package storagetest

import (
	"errors"

	"attestry/storage"
)

// WriteOneByOne calls write for each of the writes of one command, as an engine may whose
// batches can be cut short, and between whose writes others may come. The first error ends
// it, and is that of the whole command.
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
