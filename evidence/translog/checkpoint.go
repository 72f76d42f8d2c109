package translog

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint is the signed state of a log.
type Checkpoint struct {
	Origin string
	Size   int64
	Root   tlog.Hash
}

// Sign signs the state of the log of an origin.
func (k Keys) Sign(origin string, tree *Tree) (string, error) {
	root := tree.Root()
	return k.SignText(origin, fmt.Sprintf("%s\n%d\n%s\n", origin, tree.Size, base64.StdEncoding.EncodeToString(root[:])))
}

// SignText signs a text that is not a checkpoint, in the name of an origin. The text must end with a line break.
func (k Keys) SignText(origin, text string) (string, error) {
	signers := make([]note.Signer, 0, len(k))
	for i, one := range k.Verifiers(origin) {
		verifier, err := note.NewVerifier(one)
		if err != nil {
			return "", err
		}
		signers = append(signers, signer{verifier, k[i]})
	}
	signed, err := note.Sign(&note.Note{Text: text}, signers...)
	return string(signed), err
}

// OpenText returns the text of a note that one of the verifiers, name+hash+key, has signed, and its signers.
func OpenText(signed string, verifiers ...string) (text string, signers []string, err error) {
	known := make([]note.Verifier, len(verifiers))
	for i, one := range verifiers {
		if known[i], err = note.NewVerifier(one); err != nil {
			return "", nil, err
		}
	}
	opened, err := note.Open([]byte(signed), note.VerifierList(known...))
	if err != nil {
		return "", nil, err
	}
	for _, signature := range opened.Sigs {
		signers = append(signers, signature.Name)
	}
	return opened.Text, signers, nil
}

// OpenCheckpoint reads a checkpoint that was signed by one of the verifiers, name+hash+key, in the name of its origin.
func OpenCheckpoint(signed string, verifiers ...string) (Checkpoint, error) {
	text, signers, err := OpenText(signed, verifiers...)
	if err != nil {
		return Checkpoint{}, err
	}
	checkpoint, err := ParseCheckpoint(text)
	if err == nil && !slices.Contains(signers, checkpoint.Origin) {
		err = fmt.Errorf("the key of the log %s has not signed its checkpoint", checkpoint.Origin)
	}
	return checkpoint, err
}

var errCheckpoint = errors.New("the text is no checkpoint")

// ParseCheckpoint reads the text of a checkpoint. It does not verify signatures.
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

var errProof = errors.New("it is no file of tlog-proof")

// ParseProof reads a file of tlog-proof. It does not verify it.
func ParseProof(file string) (p Proof, err error) {
	head, checkpoint, ok := strings.Cut(file, "\n\n")
	lines := strings.Split(head, "\n")
	if !ok || len(lines) < 2 || lines[0] != proofHeader {
		return p, errProof
	}
	p.Checkpoint = checkpoint
	index, ok := strings.CutPrefix(lines[1], "index ")
	if p.Index, err = strconv.ParseInt(index, 10, 64); err != nil || !ok || p.Index < 0 {
		return p, errProof
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

// Check verifies that a log with a checkpoint has an entry. It does not check that the checkpoint is that of the proof,
// nor its signatures.
func (p *Proof) Check(entry []byte, checkpoint *Checkpoint) error {
	return tlog.CheckRecord(p.Hashes, checkpoint.Size, checkpoint.Root, p.Index, tlog.RecordHash(entry))
}
