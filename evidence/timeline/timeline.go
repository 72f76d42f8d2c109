package timeline

import (
	"time"

	"attestry/evidence"
)

// Timeline is what expressions are resolved against: the snapshots of an environment at one time.
type Timeline struct {
	// Org and Environment are names, for the error when there is no such snapshot.
	Org, Environment string
	// Latest is the number of the last snapshot, 0 when there is none.
	Latest int64
	Now    time.Time
	// InForce looks up the snapshot in force at a time in Unix seconds; 0 before the first.
	InForce func(at float64) (int64, error)
}

// Resolve gives the number of the snapshot that an expression picks, or the contract's NotFound.
func (t *Timeline) Resolve(e Expression) (int64, error) {
	number, err := t.locate(e)
	if err != nil {
		return 0, err
	}
	if number < 1 || number > t.Latest {
		return 0, evidence.Errorf(evidence.NotFound,
			"Org: '%s'. Snapshot '%s%s' resolves to '%s#%d'. len(snapshots) == %d. Indexes are 1-based",
			t.Org, t.Environment, e, t.Environment, number, t.Latest)
	}
	return number, nil
}

// locate gives the number that an expression stands for, 0 for a time before the first snapshot.
func (t *Timeline) locate(e Expression) (int64, error) {
	at, timed := e.At(t.Now)
	switch {
	case timed && t.Latest == 0:
		return 0, nil
	case timed:
		number, err := t.InForce(at)
		// One that was made since Latest was read does not count.
		return min(number, t.Latest), err
	case e.Number < 0:
		return e.Number + t.Latest + 1, nil
	default:
		return e.Number, nil
	}
}
