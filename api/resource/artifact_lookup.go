package resource

import (
	"attestry/evidence"
	"attestry/storage"
	"errors"
	"fmt"
)

// Unambiguous tells the client when too many things begin with some digits.
func Unambiguous(err error, digits string) error {
	if errors.Is(err, storage.ErrAmbiguous) {
		return evidence.NewError(evidence.Invalid, fmt.Sprintf("'%s' is too ambiguous, please give more digits", digits))
	}
	return err
}
