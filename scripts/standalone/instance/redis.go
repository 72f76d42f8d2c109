package instance

import lua "github.com/yuin/gopher-lua"

// The scripts of asynq are short and not recursive. miniredis makes a new interpreter for each of them, hundreds in a
// second: the 120 KB that gopher-lua reserves for one would be most of what the process allocates.
const (
	scriptValues = 1024
	scriptCalls  = 64
)

func init() { lua.RegistrySize, lua.CallStackSize = scriptValues, scriptCalls }
