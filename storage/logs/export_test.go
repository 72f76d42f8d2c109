package logs

import "maps"

// NextOrigin returns the origin of the log that continues another.
func NextOrigin(of Log, generation int) string { return of.nextOrigin(generation) }

// Collections returns the names of all collections of facts.
func Collections() func(func(string) bool) { return maps.Keys(kinds) }
