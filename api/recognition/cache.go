// Package recognition recognizes reports with the same elements as a previously accepted one, in any order, without
// decoding them.
//
// A report is recognized if its body has the hash of a report that was decoded, validated and accepted, and whose
// digest was cached then. It would be accepted too, with the same digest:
//
//   - The previous body was valid, so that it was cut exactly into its elements (eachElement, 1). The recognized one has
//     the same frame and elements, except for their order, and JSON's commas and white space between them
//     (eachElement, 2). So it is valid JSON of the same values in another order.
//   - Whether a report is accepted depends only on its bytes: on each element, on the frame, and on the size of the
//     canonical form, which does not depend on the order. It does not depend on the time or on settings. The other
//     conditions are checked for each report: the permission of the sender, whether the environment exists and accepts
//     the type, and Intake.Unchanged.
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

// MaxEnvironments is how many environments a process caches: about 20 MiB.
const MaxEnvironments = 50_000

// Cache has the last accepted report of each recently used environment. It is safe for concurrent use.
//
// The keys of its hashes are random for each process. Without the keys and without seeing hashes, nobody can make a
// body with the hash of another one, except by chance: 1 in 2^256.
type Cache struct {
	elementKey, bodyKey [highwayhash.Size]byte

	reports cache.LRU[acceptedReport]
	// Recognized counts the reports that were answered without decoding.
	Recognized prometheus.Counter
}

type acceptedReport struct {
	hash   BodyHash
	digest string
}

// NewCache makes a cache for a number of environments, with new keys.
func NewCache(maxEnvironments int) *Cache {
	c := &Cache{
		reports: cache.NewLRU[acceptedReport](maxEnvironments),
		Recognized: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "attestry_reports_recognized_total",
			Help: "Reports that were answered as unchanged without being decoded.",
		}),
	}
	// rand.Read never returns an error; it ends the process instead.
	_, _ = rand.Read(c.elementKey[:])
	_, _ = rand.Read(c.bodyKey[:])
	return c
}

// Remember stores the hash and the digest of an accepted report as the last one of an environment.
func (c *Cache) Remember(environment string, hash BodyHash, digest string) {
	c.reports.Put(environment, acceptedReport{hash, digest}, 1)
}

// Digest returns the digest of an environment's last report. It is false for another hash, and if none is cached.
func (c *Cache) Digest(environment string, hash BodyHash) (digest string, ok bool) {
	last, ok := c.reports.Get(environment)
	if !ok || last.hash != hash {
		return "", false
	}
	return last.digest, true
}

// BodyHash identifies a report by its type, its elements in any order, and the exact bytes of the rest.
type BodyHash [highwayhash.Size]byte

// Hash returns the hash of the body of a report of a type, or false if it cannot be cut into elements, and so can never
// be recognized. It does not validate the body.
//
// The elements are hashed as a multiset: their hashes are added up, so that the order does not matter, but the number
// of repetitions does.
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
