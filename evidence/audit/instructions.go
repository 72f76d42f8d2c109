package audit

import _ "embed"

// Instructions is the content of the member at InstructionsPath.
//
//go:embed VERIFY.md
var Instructions []byte

// LogInstructions is the content of the member at LogInstructionsPath.
//
//go:embed LOG.md
var LogInstructions []byte
