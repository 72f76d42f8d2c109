//go:build race

package attestation

// underRace tells that the race detector makes everything many times as slow.
const underRace = true
