package memory

import (
	"errors"
	"io"
	"math"

	"attestry/evidence"
)

// ReadMultiple is the memory for a byte of a stored document while it is answered: as read, as decoded, and as shown.
const ReadMultiple = 3

// initialReadSize is the first size of the buffer of ReadAll, in bytes.
const initialReadSize = 64 << 10

// Account is the memory of one request in the shared budget: for its body, raw and decoded, and for what is read for
// its answer. The mutex of the budget guards all fields.
type Account struct {
	budget *Budget
	// taken is for the body, and for values that are not read from storage.
	taken int64
	// read is for documents from storage: of the current batch, if an answer is read batch by batch.
	read int64
	// held is the minimum to keep reserved for reads. The account counts the greater one of read and held.
	held int64
	// bytes is how much was read in total, in stored bytes.
	bytes int64
}

// Take reserves more memory for the body, or for values that are not read from storage.
func (a *Account) Take(bytes int64) error {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.resize(a.taken+bytes, a.read, a.held)
}

// Fits returns the error that Take would return, without reserving.
func (a *Account) Fits(bytes int64) error {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.check(a.taken + bytes + max(a.read, a.held))
}

// Keep replaces what was taken by another amount, for the decoded body after the raw one is freed.
func (a *Account) Keep(bytes int64) error {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.resize(bytes, a.read, a.held)
}

// Charge reserves memory for bytes read from storage; it is a storage.Charge.
func (a *Account) Charge(bytes int) error {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.bytes += int64(bytes)
	return a.resize(a.taken, a.read+ReadMultiple*int64(bytes), a.held)
}

// Hold reserves a minimum for reads until the answer is sent, so that it does not break off for lack of memory.
func (a *Account) Hold(bytes int64) error {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.resize(a.taken, a.read, bytes)
}

// ReadAll reads to the end, at most limit bytes. It reserves memory as bytes arrive: at most initialReadSize, or twice
// what the sender has sent. So a slow sender takes up little memory.
func (a *Account) ReadAll(from io.Reader, limit int) ([]byte, error) {
	var text []byte
	for len(text) < limit {
		if len(text) == cap(text) {
			room := min(max(2*cap(text), initialReadSize), limit)
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

// Mark is the memory reserved for reads, for Rewind.
func (a *Account) Mark() int64 {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.read
}

// Rewind releases the memory reserved for reads since Mark.
func (a *Account) Rewind(mark int64) {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	_ = a.resize(a.taken, mark, a.held) // never fails, as it shrinks
}

// BytesRead is how much was read from storage in total, in bytes.
func (a *Account) BytesRead() int64 {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.bytes
}

// Release releases all memory of the account.
func (a *Account) Release() {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	_ = a.resize(0, 0, 0)
}

// resize changes the size of the account, or returns an error and changes nothing.
func (a *Account) resize(taken, read, held int64) error {
	size := taken + max(read, held)
	if err := a.check(size); err != nil {
		return err
	}
	a.budget.inUse += chargeable(size) - chargeable(a.size())
	a.taken, a.read, a.held = taken, read, held
	return nil
}

// check returns an evidence.Unavailable error if the budget has no room for an account of this size.
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

// Unlimited returns an account without a limit.
func Unlimited() *Account { return NewAccount(NewBudget(math.MaxInt64)) }

// NewAccount returns the empty account of a request.
func NewAccount(budget *Budget) *Account { return &Account{budget: budget} }
