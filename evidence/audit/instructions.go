package audit

import _ "embed"

// Instructions is the content of the member at InstructionsPath.
//
//go:embed VERIFY.md
var Instructions []byte
