package translogtest

import (
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/translog"
)

// NewKeys returns the new keys of a log.
func NewKeys(t testing.TB) translog.Keys {
	t.Helper()
	file, err := translog.NewKeyFile()
	evidencetest.Must(t, err)
	keys, err := translog.ParseKeys(file)
	evidencetest.Must(t, err)
	return keys
}

// Hashes are all hashes of a tree, as the library stores them.
type Hashes []tlog.Hash

// ReadHashes implements tlog.HashReader.
func (h Hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	return evidence.Map(indexes, func(index int64) tlog.Hash { return h[index] }), nil
}
