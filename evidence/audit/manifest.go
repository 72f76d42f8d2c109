package audit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"attestry/evidence"
)

// Manifest lists the members of a package, by which they are verified.
type Manifest struct {
	SchemaVersion int `json:"schema_version"`
	// Generator names the program that assembled the package, and its version.
	Generator string  `json:"generator"`
	Subject   Subject `json:"subject"`
	// CreatedAt is the time of the latest event of the trails, in Unix seconds, so that equal facts give equal packages.
	CreatedAt float64 `json:"created_at"`
	// Status is the verdict on a trail.
	Status evidence.Status `json:"status,omitempty"`
	// OmittedTrails is the number of the artifact's trails that are not in the package.
	OmittedTrails int `json:"omitted_trails,omitempty"`
	// Members are all other members, in their order.
	Members []Member `json:"members"`
	// LostEvidence are the evidence files of attestations that the object store has lost or altered.
	LostEvidence []LostEvidence `json:"lost_evidence"`
	// Digest is the SHA-256 of the manifest with an empty digest.
	Digest string `json:"digest"`
}

// Member is a file of a package.
type Member struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// LostEvidence is an evidence file that the object store has lost or altered.
type LostEvidence struct {
	Attestation string `json:"attestation_id"`
	Path        string `json:"path"` // where it would be
	Size        int64  `json:"size"` // bytes
	SHA256      string `json:"sha256"`
	Reason      string `json:"reason"`
}

// The reasons for which evidence is lost.
const (
	EvidenceMissing = "missing in the object store"
	EvidenceAltered = "altered in the object store"
)

// CompareMembers orders the paths of members without regard to case. So ChecksumsPath and ManifestPath come after the
// evidence, whose checksums they contain.
func CompareMembers(a, b string) int {
	return cmp.Or(strings.Compare(strings.ToLower(a), strings.ToLower(b)), strings.Compare(a, b))
}

// NewMember describes a member with small content.
func NewMember(path string, content []byte) Member {
	return Member{Path: path, Size: int64(len(content)), SHA256: evidence.SHA256(content)}
}

// Encode is the content of the member at ManifestPath, with its digest.
func (m Manifest) Encode() ([]byte, error) {
	m.Digest = ""
	content, err := Encode(m)
	if err != nil {
		return nil, err
	}
	m.Digest = evidence.SHA256(content)
	return Encode(m)
}

// ParseManifest reads the content of the member at ManifestPath, which must equal what Encode writes.
func ParseManifest(content []byte) (Manifest, error) {
	var m Manifest
	if err := Decode(content, &m); err != nil {
		return Manifest{}, err
	}
	if m.SchemaVersion != SchemaVersion {
		return Manifest{}, fmt.Errorf("its schema version %d is not known: take verify-package of the version that made the package, or a later one", m.SchemaVersion)
	}
	if again, err := m.Encode(); err != nil || !bytes.Equal(again, content) {
		return Manifest{}, errors.New("it does not match its own digest")
	}
	return m, nil
}

// Checksums is the content of SHA256SUMS for members, in the form of sha256sum.
func Checksums(members []Member) []byte {
	var lines bytes.Buffer
	for _, member := range members {
		fmt.Fprintf(&lines, "%s  %s\n", member.SHA256, member.Path)
	}
	return lines.Bytes()
}

// SummedMembers are the members that SHA256SUMS lists. It cannot list the report, which shows the SHA-256 of
// SHA256SUMS, nor the signature.
func SummedMembers(members []Member) []Member {
	return slices.DeleteFunc(slices.Clone(members), func(member Member) bool {
		return member.Path == ReportPath || member.Path == ChecksumsPath || member.Path == ManifestPath || member.Path == SignaturePath
	})
}

// Statement is the text of the member at SignaturePath, which the keys of the log sign: the checksums of SHA256SUMS
// and, in packages of trails, of the report. Its first line cannot be that of a checkpoint.
func Statement(origin string, members []Member) string {
	return "Attestry audit package v1\n" + origin + "\n" + string(Checksums(members))
}
