// Package translogtest verifies checkpoints and proofs of transparency logs in tests, as a receiver of them does.
package translogtest

import (
	"attestry/evidence/translog"
)

// OpenCheckpoint reads a checkpoint that one of the verifiers, name+hash+key, has signed.
func OpenCheckpoint(signed string, verifiers ...string) (translog.Checkpoint, error) {
	return translog.OpenCheckpoint(signed, verifiers...)
}

// CheckProof verifies a tlog-proof file: its log has the entry, and one of the verifiers has signed the checkpoint. It
// returns the index of the entry.
func CheckProof(file string, entry []byte, verifiers ...string) (index int64, err error) {
	proof, err := translog.ParseProof(file)
	if err != nil {
		return 0, err
	}
	checkpoint, err := translog.OpenCheckpoint(proof.Checkpoint, verifiers...)
	if err != nil {
		return 0, err
	}
	return proof.Index, proof.Check(entry, &checkpoint)
}
