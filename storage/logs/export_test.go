package logs

import "maps"

// NextOrigin is the origin of the log that continues one.
func NextOrigin(of Log, generation int) string { return of.nextOrigin(generation) }

// Collections are the names of all collections whose documents are facts.
func Collections() func(func(string) bool) { return maps.Keys(kinds) }
