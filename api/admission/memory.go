package admission

import (
	"errors"
	"io"
	"math"
	"sync"
)

// ReadMultiple is what a byte of a stored document takes up while an answer is made of
// it: as it was read, decoded, and shown.
const ReadMultiple = 3

// initialReadSize is set aside for what is still to be read, in bytes.
const initialReadSize = 64 << 10

// Memory is the memory of one request within the budget that all share: for its body and the decoded body, and for
// what is read for its answer.
type Memory struct {
	reservation *Reservation

	mu sync.Mutex
	// taken is for the body, and for values that are not read from storage.
	taken int64
	// read is of the batch at hand, where an answer is read batch by batch.
	read int64
	// held is reserved however little is read.
	held int64
	// bytes is how much was read in all, as it is stored.
	bytes int64
}

// Take reserves more for the body, or for values that are not read from storage.
func (m *Memory) Take(bytes int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.resize(m.taken+bytes, m.read, m.held)
}

// Fits reports whether so much more could be taken now.
func (m *Memory) Fits(bytes int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reservation.Fits(m.taken + bytes + max(m.read, m.held))
}

// Keep reserves so much and no more, for what is left of the body once it is decoded.
func (m *Memory) Keep(bytes int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.resize(bytes, m.read, m.held)
}

// Charge reserves what was read; it is a storage.Charge.
func (m *Memory) Charge(bytes int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += int64(bytes)
	return m.resize(m.taken, m.read+ReadMultiple*int64(bytes), m.held)
}

// Hold reserves what an answer needs at least until it is sent, so that it does not break
// off for a lack of memory.
func (m *Memory) Hold(bytes int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.resize(m.taken, m.read, bytes)
}

// ReadAll reads to the end, at most so many bytes, and reserves memory as they arrive.
// So a slow sender takes up no more than twice what it has sent.
func (m *Memory) ReadAll(from io.Reader, most int) ([]byte, error) {
	var text []byte
	for len(text) < most {
		if len(text) == cap(text) {
			room := min(max(2*cap(text), initialReadSize), most)
			if err := m.Take(int64(room - cap(text))); err != nil {
				return nil, err
			}
			text = append(make([]byte, 0, room), text...)
		}
		n, err := from.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// Mark is how much is reserved for what was read, for Rewind.
func (m *Memory) Mark() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.read
}

// Rewind releases what was reserved for reads since a mark.
func (m *Memory) Rewind(mark int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// A reservation that shrinks is not refused.
	_ = m.resize(m.taken, mark, m.held)
}

// BytesRead is how much was read in all.
func (m *Memory) BytesRead() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}

// Release gives up everything.
func (m *Memory) Release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken, m.read, m.held = 0, 0, 0
	m.reservation.Release()
}

// resize reserves what the three take up together, or leaves all as it is.
func (m *Memory) resize(taken, read, held int64) error {
	err := m.reservation.Resize(taken + max(read, held))
	if err == nil {
		m.taken, m.read, m.held = taken, read, held
	}
	return err
}

// UnlimitedMemory is that of work that no budget bounds.
func UnlimitedMemory() *Memory { return NewMemory(NewBudget(math.MaxInt64)) }

// NewMemory is that of a request, of which nothing is taken yet.
func NewMemory(budget *Budget) *Memory { return &Memory{reservation: budget.Reserve()} }
