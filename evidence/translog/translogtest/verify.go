// Package translogtest verifies checkpoints and proofs of transparency logs in tests, as somebody does who was given them.
package translogtest

import (
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"attestry/evidence/translog"
)

// OpenCheckpoint reads a checkpoint that one of the verifiers, name+hash+key, has signed.
func OpenCheckpoint(signed string, verifiers ...string) (translog.Checkpoint, error) {
	known := make([]note.Verifier, 0, len(verifiers))
	for _, text := range verifiers {
		verifier, err := note.NewVerifier(text)
		if err != nil {
			return translog.Checkpoint{}, err
		}
		known = append(known, verifier)
	}
	opened, err := note.Open([]byte(signed), note.VerifierList(known...))
	if err != nil {
		return translog.Checkpoint{}, err
	}
	return translog.ParseCheckpoint(opened.Text)
}

// CheckProof verifies a file of tlog-proof: that the log which one of the verifiers has signed has an entry. It returns the
// place of the entry.
func CheckProof(file string, entry []byte, verifiers ...string) (index int64, err error) {
	head, signed, _ := strings.Cut(file, "\n\n")
	lines := strings.Split(head, "\n")
	if len(lines) < 2 || lines[0] != "c2sp.org/tlog-proof@v1" {
		return 0, fmt.Errorf("the file begins with %q", lines[0])
	}
	if _, err := fmt.Sscanf(lines[1], "index %d", &index); err != nil {
		return 0, err
	}
	var path tlog.RecordProof
	for _, line := range lines[2:] {
		hash, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(hash) != tlog.HashSize {
			return 0, fmt.Errorf("%q is no hash", line)
		}
		path = append(path, tlog.Hash(hash))
	}
	checkpoint, err := OpenCheckpoint(signed, verifiers...)
	if err != nil {
		return 0, err
	}
	return index, tlog.CheckRecord(path, checkpoint.Size, checkpoint.Root, index, tlog.RecordHash(entry))
}
