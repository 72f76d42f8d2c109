// Package recognition recognizes reports that have the same elements as an accepted one
// before, in any order, without decoding them.
//
// A report is recognized if its body has the hash of one that was decoded, validated and
// accepted, and whose digest is known since. Then it would be accepted too, with the same
// digest:
//
//   - The body before was valid, so that it was cut at the beginning and end of its elements
//     (eachElement, 1). The recognized one consists of the same bytes in the same frame, its
//     elements in another order at most, with commas and white space between them as JSON
//     has them (eachElement, 2). So it is valid JSON of the same values, in another order.
//   - Whether a report is accepted depends on its bytes alone: on each element by itself, on
//     the frame, and on the size of the canonical form, which does not depend on the order.
//     It depends neither on the time nor on settings. What else an answer depends on is
//     asked again for each report: who may send it, whether the environment exists and takes
//     its type, and what Intake.Unchanged asks.
//   - The digest does not depend on the order of the elements (docs/semantics.md 10.2).
package recognition

import (
	"github.com/prometheus/client_golang/prometheus"

	"attestry/storage/cache"
)

// MaxEnvironments is how many environments a process of usual size remembers: about 20 MiB.
const MaxEnvironments = 50_000

// Cache remembers the last accepted report of each environment, of those used last. It is
// safe for concurrent use.
type Cache struct {
	hasher     *hasher
	reports    cache.LRU[acceptedReport]
	recognized prometheus.Counter
}

// acceptedReport is what is remembered of a report.
type acceptedReport struct {
	hash   BodyHash
	digest string
}

// NewCache makes a cache for so many environments, with keys of its own.
func NewCache(maxEnvironments int) *Cache {
	return &Cache{
		hasher:  newHasher(),
		reports: cache.NewLRU[acceptedReport](maxEnvironments),
		recognized: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "attestry_reports_recognized_total",
			Help: "Reports that were answered as unchanged without being decoded.",
		}),
	}
}

// Metric returns the counter of recognized reports, for the registry of metrics.
func (c *Cache) Metric() prometheus.Collector { return c.recognized }

// CountRecognized counts a report that was answered without being decoded.
func (c *Cache) CountRecognized() { c.recognized.Inc() }

// Hash returns the hash of a body that was sent as a report of a type, or false if the body
// can never be recognized. It says nothing about whether the body is valid.
func (c *Cache) Hash(kind string, body []byte) (BodyHash, bool) { return c.hasher.hash(kind, body) }

// Remember keeps the hash of a report that was accepted, and its digest, as the last one of
// an environment.
func (c *Cache) Remember(environment string, hash BodyHash, digest string) {
	c.reports.Put(environment, acceptedReport{hash, digest}, 1)
}

// Digest returns the digest of a report whose body has that hash, or false unless it was
// remembered as the last one of the environment.
func (c *Cache) Digest(environment string, hash BodyHash) (digest string, ok bool) {
	last, ok := c.reports.Get(environment)
	if !ok || last.hash != hash {
		return "", false
	}
	return last.digest, true
}
