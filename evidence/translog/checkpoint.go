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

// OpenCheckpoint reads a checkpoint that one of the verifiers, name+hash+key, has signed.
func OpenCheckpoint(signed string, verifiers ...string) (Checkpoint, error) {
	known := make([]note.Verifier, 0, len(verifiers))
	for _, text := range verifiers {
		verifier, err := note.NewVerifier(text)
		if err != nil {
			return Checkpoint{}, fmt.Errorf("%q is no verifier key: %w", text, err)
		}
		known = append(known, verifier)
	}
	opened, err := note.Open([]byte(signed), note.VerifierList(known...))
	if err != nil {
		return Checkpoint{}, fmt.Errorf("open a checkpoint: %w", err)
	}
	return ParseCheckpoint(opened.Text)
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

// ParseProof reads the text of a proof.
func ParseProof(text string) (p Proof, err error) {
	head, checkpoint, ok := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	if !ok || len(lines) < 2 || lines[0] != proofHeader {
		return p, errors.New("the text is no proof of a transparency log")
	}
	p.Checkpoint = checkpoint
	index, ok := strings.CutPrefix(lines[1], "index ")
	if p.Index, err = strconv.ParseInt(index, 10, 64); err != nil || !ok || p.Index < 0 {
		return p, errors.New("the proof of a transparency log has no index")
	}
	for _, line := range lines[2:] {
		hash, err := parseHash(line)
		if err != nil {
			return p, err
		}
		p.Hashes = append(p.Hashes, hash)
	}
	return p, nil
}

// Check verifies that the log of a checkpoint has an entry. The checkpoint is the opened one of the proof.
func (p *Proof) Check(checkpoint *Checkpoint, text []byte) error {
	if p.Index >= checkpoint.Size {
		return fmt.Errorf("entry %d is not in a log of %d entries", p.Index, checkpoint.Size)
	}
	return tlog.CheckRecord(p.Hashes, checkpoint.Size, checkpoint.Root, p.Index, tlog.RecordHash(text))
}
