package instance

import lua "github.com/yuin/gopher-lua"

// The scripts of asynq are short and call nothing recursively. miniredis makes a new state of
// the interpreter for each of them, hundreds in a second: what gopher-lua provides for one by
// default, 120 KB, would be most of what the process allocates.
const (
	scriptValues = 1024
	scriptCalls  = 64
)

func init() { lua.RegistrySize, lua.CallStackSize = scriptValues, scriptCalls }
