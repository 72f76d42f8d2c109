package audit

import _ "embed"

// Instructions is the content of the member VERIFY.md.
//
//go:embed VERIFY.md
var Instructions []byte
