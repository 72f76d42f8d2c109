// Package recognition recognizes reports that have the same elements as an accepted one
// before, in any order, without decoding them.
//
// A report is recognized if its body has the hash of one that was decoded, validated and accepted, and whose digest is
// known since. Then it would be accepted too, with the same digest:
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
	"crypto/rand"
	"encoding/binary"
	"math/bits"

	"github.com/minio/highwayhash"
	"github.com/prometheus/client_golang/prometheus"

	"attestry/storage/cache"
)

// MaxEnvironments is how many environments a process of usual size remembers: about 20 MiB.
const MaxEnvironments = 50_000

// Cache remembers the last accepted report of each environment, of those used last. It is safe for concurrent use.
//
// The keys of its hashes are random, and of this process. Without the keys and without seeing hashes, nobody can make a
// body with the hash of another one, except by chance: 1 in 2^256.
type Cache struct {
	// elementKey and bodyKey are the keys of the hashes of elements and of bodies.
	elementKey, bodyKey [highwayhash.Size]byte

	reports cache.LRU[acceptedReport]
	// Recognized counts the reports that were answered without being decoded.
	Recognized prometheus.Counter
}

// acceptedReport is the entry of an accepted report.
type acceptedReport struct {
	hash   BodyHash
	digest string
}

// NewCache makes a cache for so many environments, with keys of its own.
func NewCache(maxEnvironments int) *Cache {
	c := &Cache{
		reports: cache.NewLRU[acceptedReport](maxEnvironments),
		Recognized: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "attestry_reports_recognized_total",
			Help: "Reports that were answered as unchanged without being decoded.",
		}),
	}
	// rand.Read ends the process rather than return an error.
	_, _ = rand.Read(c.elementKey[:])
	_, _ = rand.Read(c.bodyKey[:])
	return c
}

// Remember keeps the hash of a report that was accepted, and its digest, as the last one of an environment.
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

// BodyHash identifies a report by its type, its elements in any order, and everything else in its body as it was sent.
type BodyHash [highwayhash.Size]byte

// Hash returns the hash of a body that was sent as a report of a type, or false if it cannot be cut into elements, and
// so can never be recognized. It says nothing about whether the body is valid.
//
// The elements are hashed as a multiset: the hashes of all of them are added up, so that
// their order does not matter, and how often each is repeated does.
func (c *Cache) Hash(kind string, body []byte) (BodyHash, bool) {
	var total sum
	count := uint64(0)
	around, ok := eachElement(body, func(element []byte) {
		total.add(highwayhash.Sum(element, c.elementKey[:]))
		count++
	})
	if !ok {
		return BodyHash{}, false
	}
	whole := make([]byte, 0, 1024)
	for _, part := range [][]byte{[]byte(kind), around.before, around.after} {
		whole = binary.LittleEndian.AppendUint64(whole, uint64(len(part)))
		whole = append(whole, part...)
	}
	whole = binary.LittleEndian.AppendUint64(whole, count)
	for _, limb := range total {
		whole = binary.LittleEndian.AppendUint64(whole, limb)
	}
	return highwayhash.Sum(whole, c.bodyKey[:]), true
}

// sum is a number modulo 2^256, its lowest 64 bits first.
type sum [4]uint64

func (s *sum) add(hash [highwayhash.Size]byte) {
	carry := uint64(0)
	for i := range s {
		s[i], carry = bits.Add64(s[i], binary.LittleEndian.Uint64(hash[8*i:]), carry)
	}
}
