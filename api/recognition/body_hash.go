package recognition

import (
	"crypto/rand"
	"encoding/binary"
	"math/bits"

	"github.com/minio/highwayhash"
)

// BodyHash identifies a report by its type, its elements in any order, and everything else
// in its body as it was sent.
type BodyHash [highwayhash.Size]byte

// hasher makes hashes with random keys of this process. Without the keys and without seeing
// hashes, nobody can make a body with the hash of another one, except by chance: 1 in 2^256.
type hasher struct{ elements, bodies [highwayhash.Size]byte }

func newHasher() *hasher {
	var h hasher
	// rand.Read ends the process rather than return an error.
	_, _ = rand.Read(h.elements[:])
	_, _ = rand.Read(h.bodies[:])
	return &h
}

// hash returns the hash of the body of a report of a type, or false if it cannot be cut into
// elements.
//
// The elements are hashed as a multiset: the hashes of all of them are added up, so that
// their order does not matter, and how often each is repeated does.
func (h *hasher) hash(kind string, body []byte) (BodyHash, bool) {
	var total sum
	count := uint64(0)
	around, ok := eachElement(body, func(element []byte) {
		total.add(highwayhash.Sum(element, h.elements[:]))
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
	return highwayhash.Sum(whole, h.bodies[:]), true
}

// sum is a number modulo 2^256, its lowest 64 bits first.
type sum [4]uint64

func (s *sum) add(hash [highwayhash.Size]byte) {
	carry := uint64(0)
	for i := range s {
		s[i], carry = bits.Add64(s[i], binary.LittleEndian.Uint64(hash[8*i:]), carry)
	}
}
