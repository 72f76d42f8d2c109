package audit

import (
	"fmt"
	"strings"
)

// limits bound what is read and kept of a package, as it may come from somebody who wants to do harm.
// While a member is decoded it can take many times its length. Members that nothing is evaluated from are
// only hashed, and may be longer.
type limits struct {
	document int64 // bytes of a member
	// documents bounds the bytes of all members but attestations, of what is kept of attestations, and
	// of the paths of all members.
	documents int64
	members   int
	findings  int
}

var defaultLimits = limits{document: 256 << 20, documents: 1 << 30, members: 1_000_000, findings: 10_000}

const (
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
	v.findings = append(v.findings, Finding{Member: member, Reason: shorten(fmt.Sprintf(format, args...))})
}

func shorten(reason string) string {
	if len(reason) <= maxReason {
		return reason
	}
	return strings.ToValidUTF8(reason[:maxReason], "") + " …"
}
