package storagetest

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"
)

// objectStream returns size bytes that depend only on the seed.
func objectStream(seed uint64, size int64) io.Reader {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return io.LimitReader(rand.NewChaCha8(key), size)
}

func objectContent(seed uint64, size int64) []byte {
	content := make([]byte, size)
	if _, err := io.ReadFull(objectStream(seed, size), content); err != nil {
		panic(err)
	}
	return content
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

// hookReader is an empty stream that calls the function when it is read.
type hookReader func()

func (h hookReader) Read([]byte) (int, error) {
	h()
	return 0, io.EOF
}

// objectMemory streams 64 MiB in and out and measures the heap meanwhile. A store may buffer a part of the stream, but
// not all of it.
func objectMemory(t *testing.T, store ObjectStore) {
	const size, bound = 64 * mib, 40 * mib
	before := liveHeap()
	in := &heapReader{r: objectStream(1, size)}
	object, err := store.Put(t.Context(), "org", in, -1)
	if err != nil {
		t.Fatalf("Put: %v", err)
	}
	r, err := store.Get(t.Context(), object.Key, 0, -1)
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	defer r.Close()
	out := &heapReader{r: r}
	if n, err := io.Copy(io.Discard, out); n != size || err != nil {
		t.Fatalf("Get gave %d bytes, %v", n, err)
	}
	for direction, peak := range map[string]uint64{"in": in.peak, "out": out.peak} {
		if peak > before+bound {
			t.Errorf("streaming %d MiB %s held %d MiB", size/mib, direction, (peak-before)/mib)
		}
	}
}

// heapReader measures the live heap every 8 MiB and keeps the peak.
type heapReader struct {
	r       io.Reader
	n, next int64
	peak    uint64
}

func (h *heapReader) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	h.n += int64(n)
	if h.n >= h.next {
		h.peak = max(h.peak, liveHeap())
		h.next = h.n + 8*mib
	}
	return n, err
}

func liveHeap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
