package storage

import (
	"context"
	"errors"
	"math"

	"attestry/evidence"
)

// Batches reads a list batch by batch, so that it is never in memory as a whole.
type Batches[T any] struct {
	next  func(ctx context.Context, maxBytes int) ([]T, error)
	after string
	bytes int
	more  bool
	short bool
}

// Next returns the next documents: at most maxBytes as stored, or one that is larger. More may follow an empty batch.
func (b *Batches[T]) Next(ctx context.Context, maxBytes int) ([]T, error) {
	if !b.more {
		return nil, nil
	}
	return b.next(ctx, maxBytes)
}

// Each calls yield for the rest of the documents, and reads at most maxBytes of them at a time.
func (b *Batches[T]) Each(ctx context.Context, maxBytes int, yield func(*T) error) error {
	for b.more {
		batch, err := b.next(ctx, maxBytes)
		if err != nil {
			return err
		}
		for i := range batch {
			if err := yield(&batch[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// More reports whether documents may follow the last batch.
func (b *Batches[T]) More() bool { return b.more }

// After is the cursor of what follows the last batch, even beyond the limit; "" at the end, or without cursors.
func (b *Batches[T]) After() string { return b.after }

// Short reports whether something else than maxBytes ended the last batch.
func (b *Batches[T]) Short() bool { return b.short }

// Bytes is how much of a list with cursors has been read, as stored.
func (b *Batches[T]) Bytes() int { return b.bytes }

// Unlimited is the limit of a query for everything.
const Unlimited = math.MaxInt

// SingleBatch is a list that is in memory already.
func SingleBatch[T any](documents []T) *Batches[T] {
	b := &Batches[T]{more: len(documents) > 0}
	b.next = func(context.Context, int) ([]T, error) {
		b.more = false
		return documents, nil
	}
	return b
}

// maxRounds bounds how many pages of an index PageBatches reads.
const maxRounds = 20

// PageBatches is QueryBatches for a page of a client. It ends after maxRounds batches that maxBytes did not end, so
// that conditions that nothing meets do not make it read the whole index.
func PageBatches[T any](collection Collection[T], query Query) *Batches[T] {
	return queryBatches(collection, query, maxRounds)
}

// QueryBatches reads what a query finds up to its limit, which may be above MaxMany.
func QueryBatches[T any](collection Collection[T], query Query) *Batches[T] {
	return queryBatches(collection, query, Unlimited)
}

func queryBatches[T any](collection Collection[T], query Query, rounds int) *Batches[T] {
	left := query.Limit
	b := &Batches[T]{more: left > 0}
	b.next = func(ctx context.Context, maxBytes int) ([]T, error) {
		query.Limit, query.MaxBytes = min(left, MaxMany), maxBytes
		found, page, err := collection.findPage(ctx, query)
		if err != nil {
			return nil, err
		}
		left -= len(found)
		query.After, query.Offset = page.Next, 0
		for _, record := range page.Records {
			b.bytes += len(record.Body)
		}
		if b.short = !page.Full; b.short {
			rounds--
		}
		b.after, b.more = page.Next, page.Next != "" && left > 0 && rounds > 0
		return found, nil
	}
	return b
}

// firstIDs is how many documents are read by id before their size is known: a page of most lists.
const firstIDs = 100

// RecordsByID is Collection.OfIDs for documents as they are stored.
func RecordsByID(docs Documents, schema *Schema, ids []string) *Batches[Record] {
	return batchesByID(func(ctx context.Context, ids []string) ([]Record, error) { return docs.GetMany(ctx, schema, ids) }, ids)
}

// batchesByID reads as many documents at a time as fit by the average size so far. A batch that is too large is read
// again with fewer documents.
func batchesByID[T any](getMany func(context.Context, []string) ([]T, error), ids []string) *Batches[T] {
	read, bytes := 0, 0
	b := &Batches[T]{more: len(ids) > 0}
	b.next = func(ctx context.Context, maxBytes int) ([]T, error) {
		n := firstIDs
		if read > 0 {
			n = max(1, min(maxBytes/max(1, bytes/read), MaxMany))
		}
		n = min(n, len(ids))
		part := &boundedRead{maxBytes: maxBytes}
		found, err := getMany(part.context(ctx, n), ids[:n])
		for n > 1 && errors.Is(err, errTooLarge) {
			n = max(1, min(part.documents, n/2))
			part = &boundedRead{maxBytes: maxBytes}
			found, err = getMany(part.context(ctx, n), ids[:n])
		}
		if err == nil {
			err = ChargeRead(ctx, part.bytes)
		}
		if err != nil {
			return nil, err
		}
		ids, read, bytes = ids[n:], read+n, bytes+part.bytes
		b.more = len(ids) > 0
		return found, nil
	}
	return b
}

var errTooLarge = errors.New("the documents are too large to be read at once")

// boundedRead counts the documents and bytes of a read, and ends it at maxBytes.
type boundedRead struct {
	maxBytes         int
	documents, bytes int
}

// context returns the context for a read of n documents. A single document is read whatever its size.
func (r *boundedRead) context(ctx context.Context, n int) context.Context {
	return WithCharge(ctx, func(bytes int) error {
		if n > 1 && r.bytes+bytes > r.maxBytes {
			return errTooLarge
		}
		r.documents, r.bytes = r.documents+1, r.bytes+bytes
		return nil
	})
}

// JoinVersions joins heads with their versions. The query finds the versions of all heads, and of returns the name of a
// version's head. It takes one command per batch of heads, and one for all versions. If the versions exceed a batch,
// join gets nil and must find those of its head.
func JoinVersions[H, V, J any](heads *Batches[H], versions Collection[V], query Query, of func(*V) string, join func(head *H, all map[string][]V) J) *Batches[J] {
	var all map[string][]V
	loaded := false
	b := &Batches[J]{more: heads.more}
	b.next = func(ctx context.Context, maxBytes int) ([]J, error) {
		found, err := heads.Next(ctx, maxBytes)
		b.more = heads.more
		if err != nil {
			return nil, err
		}
		if !loaded {
			query.Limit, query.MaxBytes = MaxMany, maxBytes
			read, next, err := versions.Find(ctx, query)
			if err != nil {
				return nil, err
			}
			if loaded = true; next == "" {
				all = map[string][]V{}
				for i := range read {
					all[of(&read[i])] = append(all[of(&read[i])], read[i])
				}
			}
		}
		return evidence.Map(found, func(head H) J { return join(&head, all) }), nil
	}
	return b
}
