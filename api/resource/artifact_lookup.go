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
	if errors.Is(err, storage.ErrNotFound) {
		return evidence.NewError(evidence.NotFound, fmt.Sprintf(
			"Artifact with fingerprint '%s' does not exist in flow '%s' belonging to organization '%s'", fingerprint, flow, org.OrgName))
	}
	return Unambiguous(err, fingerprint)
}

// Unambiguous tells the client when too many things begin with some digits.
func Unambiguous(err error, digits string) error {
	if errors.Is(err, storage.ErrAmbiguous) {
		return evidence.NewError(evidence.Invalid, fmt.Sprintf("'%s' is too ambiguous, please give more digits", digits))
	}
	return err
}
