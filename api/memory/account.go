package memory

import (
	"errors"
	"io"
	"math"

	"attestry/evidence"
)

// ReadMultiple is what a byte of a stored document takes up while an answer is made of
// it: as it was read, decoded, and shown.
const ReadMultiple = 3

// initialReadSize is set aside for what is still to be read, in bytes.
const initialReadSize = 64 << 10

// Account is the memory of one request within the budget that all share: for its body and the decoded body, and for
// what is read for its answer.
type Account struct {
	budget *Budget

	// All below is guarded by the mutex of the budget.

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
func (a *Account) Take(bytes int64) error {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.resize(a.taken+bytes, a.read, a.held)
}

// Fits reports whether so much more could be taken now.
func (a *Account) Fits(bytes int64) error {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.check(a.taken + bytes + max(a.read, a.held))
}

// Keep reserves so much and no more, for what is left of the body once it is decoded.
func (a *Account) Keep(bytes int64) error {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.resize(bytes, a.read, a.held)
}

// Charge reserves what was read; it is a storage.Charge.
func (a *Account) Charge(bytes int) error {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.bytes += int64(bytes)
	return a.resize(a.taken, a.read+ReadMultiple*int64(bytes), a.held)
}

// Hold reserves what an answer needs at least until it is sent, so that it does not break off for a lack of memory.
func (a *Account) Hold(bytes int64) error {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.resize(a.taken, a.read, bytes)
}

// ReadAll reads to the end, at most so many bytes, and reserves memory as they arrive.
// So a slow sender takes up no more than twice what it has sent.
func (a *Account) ReadAll(from io.Reader, most int) ([]byte, error) {
	var text []byte
	for len(text) < most {
		if len(text) == cap(text) {
			room := min(max(2*cap(text), initialReadSize), most)
			if err := a.Take(int64(room - cap(text))); err != nil {
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
func (a *Account) Mark() int64 {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.read
}

// Rewind releases what was reserved for reads since a mark.
func (a *Account) Rewind(mark int64) {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	// An account that shrinks is not refused.
	_ = a.resize(a.taken, mark, a.held)
}

// BytesRead is how much was read in all.
func (a *Account) BytesRead() int64 {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.bytes
}

// Release gives up everything.
func (a *Account) Release() {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	_ = a.resize(0, 0, 0)
}

// resize reserves what the three take up together, or leaves all as it is.
func (a *Account) resize(taken, read, held int64) error {
	size := taken + max(read, held)
	if err := a.check(size); err != nil {
		return err
	}
	a.budget.inUse += chargeable(size) - chargeable(a.size())
	a.taken, a.read, a.held = taken, read, held
	return nil
}

// check returns an evidence.Unavailable error if the budget has no room for an account of that size.
func (a *Account) check(size int64) error {
	limit := a.budget.total
	if size > Small {
		limit -= limit / 8
	}
	now := chargeable(a.size())
	if chargeable(size) <= now || a.budget.inUse-now+size <= limit {
		return nil
	}
	a.budget.refused++
	return &evidence.Error{Code: evidence.Unavailable, Message: exhausted, RetryAfter: retryAfter}
}

func (a *Account) size() int64 { return a.taken + max(a.read, a.held) }

// Unlimited is that of work that no budget bounds.
func Unlimited() *Account { return NewAccount(NewBudget(math.MaxInt64)) }

// NewAccount is that of a request, of which nothing is taken yet.
func NewAccount(budget *Budget) *Account { return &Account{budget: budget} }
