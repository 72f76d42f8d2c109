package server

import (
	"context"

	"attestry/api/admission"
	"attestry/api/jsonstream"
	"attestry/storage"
)

const (
	// MaxPage ends a page of a list with cursors once that many bytes of it have been read.
	// Lists without cursors have no such limit: they are never in memory as a whole.
	MaxPage = 32 * Mebibyte
	// firstPart is how many documents of a batch are shown at first, before it is known
	// how much is read beside them: as many as the pages of most lists have at most.
	firstPart = 100
)

// ListOf makes the list of an answer of what is read batch by batch.
func ListOf[S, T any](batchBytes int, batches *storage.Batches[S], show func(context.Context, []S) ([]T, error)) jsonstream.List[T] {
	return jsonstream.NewList(func(ctx context.Context) ([]T, bool, error) {
		RequestOf(ctx).Memory.Rewind(0)
		batch, err := batches.Next(ctx, batchBytes)
		if err != nil {
			return nil, false, err
		}
		shown, err := show(ctx, batch)
		return shown, batches.More(), err
	})
}

// PartsOf is ListOf for documents that are shown together with others, whose size is not known before. Each batch is
// shown in parts. The size of a part follows from how much was read for the part before, so that what is read for a
// part is no larger than a batch.
func PartsOf[S, T any](batchBytes int, batches *storage.Batches[S], show func(context.Context, []S) ([]T, error)) jsonstream.List[T] {
	p := &partReader[S]{batches: batches, batchBytes: batchBytes, size: firstPart}
	return jsonstream.NewList(func(ctx context.Context) ([]T, bool, error) {
		memory := RequestOf(ctx).Memory
		part, err := p.next(ctx, memory)
		if err != nil {
			return nil, false, err
		}
		before := memory.BytesRead()
		shown, err := show(ctx, part)
		if len(part) > 0 {
			p.resize(int(memory.BytesRead()-before) / len(part))
		}
		return shown, len(p.pending) > 0 || batches.More(), err
	})
}

// partReader reads the batches of a list in parts.
type partReader[S any] struct {
	batches    *storage.Batches[S]
	batchBytes int
	pending    []S
	// mark is what is reserved for the batch itself.
	mark int64
	// size is how many documents the next part has at most.
	size int
}

func (p *partReader[S]) next(ctx context.Context, memory *admission.Memory) (part []S, err error) {
	if len(p.pending) == 0 {
		memory.Rewind(0)
		if p.pending, err = p.batches.Next(ctx, p.batchBytes); err != nil {
			return nil, err
		}
		p.mark = memory.Mark()
	}
	memory.Rewind(p.mark)
	n := min(p.size, len(p.pending))
	part, p.pending = p.pending[:n], p.pending[n:]
	return part, nil
}

// resize sizes the next part by how many bytes were read beside a document.
func (p *partReader[S]) resize(beside int) {
	p.size = max(1, min(p.batchBytes/max(1, beside), 4*p.size, storage.MaxMany))
}
