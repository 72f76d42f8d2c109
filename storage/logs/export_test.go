package logs

import "maps"

// Collections are the names of all collections whose documents are facts.
func Collections() func(func(string) bool) { return maps.Keys(kinds) }
