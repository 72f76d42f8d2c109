package resource

import (
	"errors"
	"fmt"

	"attestry/evidence"
	"attestry/storage"
)

// ArtifactNotFound words that a flow knows no artifact with a fingerprint; other errors it
// returns as they are, those of too few digits in the client's terms.
func ArtifactNotFound(org evidence.OrgAccess, flow, fingerprint string, err error) error {
	return Unambiguous(NotFound(err, "Artifact with fingerprint '%s' does not exist in flow '%s' belonging to organization '%s'",
		fingerprint, flow, org.OrgName), fingerprint)
}

// NotFound words storage.ErrNotFound in the contract's words; other errors it returns as they are.
func NotFound(err error, format string, values ...any) error {
	if errors.Is(err, storage.ErrNotFound) {
		return evidence.NewError(evidence.NotFound, fmt.Sprintf(format, values...))
	}
	return err
}

// Unambiguous tells the client when too many things begin with some digits.
func Unambiguous(err error, digits string) error {
	if errors.Is(err, storage.ErrAmbiguous) {
		return evidence.NewError(evidence.Invalid, fmt.Sprintf("'%s' is too ambiguous, please give more digits", digits))
	}
	return err
}
