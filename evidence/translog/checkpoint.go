package translog

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint is the state of a log that was signed.
type Checkpoint struct {
	Origin string
	Size   int64
	Root   tlog.Hash
}

// Sign signs the state of the log of an origin.
func (k Keys) Sign(origin string, tree *Tree) (string, error) {
	signers, err := k.signers(origin)
	if err != nil {
		return "", err
	}
	root := tree.Root()
	text := fmt.Sprintf("%s\n%d\n%s\n", origin, tree.Size, base64.StdEncoding.EncodeToString(root[:]))
	signed, err := note.Sign(&note.Note{Text: text}, signers...)
	return string(signed), err
}

var errCheckpoint = errors.New("the text is no checkpoint")

// ParseCheckpoint reads the text of a checkpoint without verifying signatures.
func ParseCheckpoint(text string) (c Checkpoint, err error) {
	lines := strings.SplitN(text, "\n", 4)
	if len(lines) < 4 || lines[0] == "" {
		return c, errCheckpoint
	}
	c.Origin = lines[0]
	if c.Size, err = strconv.ParseInt(lines[1], 10, 64); err != nil || strconv.FormatInt(c.Size, 10) != lines[1] || c.Size < 0 {
		return c, errCheckpoint
	}
	c.Root, err = parseHash(lines[2])
	return c, err
}

func parseHash(text string) (hash tlog.Hash, err error) {
	decoded, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(decoded) != tlog.HashSize {
		return hash, errors.New("a hash is not 32 bytes in base64")
	}
	return tlog.Hash(decoded), nil
}

// Proof is a proof that a log has an entry (C2SP tlog-proof).
type Proof struct {
	Index      int64
	Hashes     tlog.RecordProof
	Checkpoint string // a signed note
}

const proofHeader = "c2sp.org/tlog-proof@v1"

// Text is the proof as a file.
func (p *Proof) Text() string {
	text := fmt.Appendf(nil, "%s\nindex %d\n", proofHeader, p.Index)
	for _, hash := range p.Hashes {
		text = append(base64.StdEncoding.AppendEncode(text, hash[:]), '\n')
	}
	return string(text) + "\n" + p.Checkpoint
}
