package resource

import (
	"errors"
	"fmt"

	"attestry/evidence"
	"attestry/storage"
)

// Unambiguous tells the client when too many things begin with some digits.
func Unambiguous(err error, digits string) error {
	if errors.Is(err, storage.ErrAmbiguous) {
		return evidence.NewError(evidence.Invalid, fmt.Sprintf("'%s' is too ambiguous, please give more digits", digits))
	}
	return err
}
