package audit

import (
	"fmt"
	"strings"
)

// limits bound what is read and kept of a package, which may be hostile. While a member is decoded it can take many times
// its length. Members that nothing is evaluated from are only hashed, and may be longer.
type limits struct {
	document int64 // bytes of a member
	decoded  int64 // bytes that a member may take when it is decoded
	// documents bounds the bytes of members that are kept, of what is kept of attestations, and of all paths.
	documents int64
	members   int
	findings  int
}

const (
	// DefaultMemory is enough for packages of some ten thousand attestations, in bytes.
	DefaultMemory = 64 << 20
	// memberSize is what is kept of a member beside its path, in bytes.
	memberSize = 200
	// maxReason is how many bytes of a reason are kept: names in a package can be of any length.
	maxReason = 1 << 10
	// stringHeader is what a string in a list takes beside its text, in bytes.
	stringHeader = 16
)

// hold counts bytes that are kept in memory, and compares all that is kept with the limit.
func (v *Verifier) hold(size int) error {
	if v.held += int64(size); v.held > v.limits.documents {
		return fmt.Errorf("what verdicts are evaluated from takes more than %d bytes", v.limits.documents)
	}
	return nil
}

func lengthOf(texts ...string) int64 {
	length := 0
	for _, text := range texts {
		length += len(text)
	}
	return int64(length)
}

func (v *Verifier) report(member, format string, args ...any) {
	if len(v.findings) == v.limits.findings {
		v.omitted++
		return
	}
	reason := fmt.Sprintf(format, args...)
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + " …"
	}
	v.findings = append(v.findings, Finding{Member: member, Reason: reason})
}
