package storage

import "context"

// Charge is told how many bytes of stored content have been read. An error ends the
// read that it was told of.
type Charge func(bytes int) error

type chargeKey struct{}

// WithCharge returns a context whose reads are charged; a nil charge ends that.
func WithCharge(ctx context.Context, charge Charge) context.Context {
	return context.WithValue(ctx, chargeKey{}, charge)
}

// charge tells whoever the context names of what was read, before it is decoded.
func charge(ctx context.Context, bytes int) error {
	if charge, _ := ctx.Value(chargeKey{}).(Charge); charge != nil {
		return charge(bytes)
	}
	return nil
}

func bodiesOf(records []Record) int {
	bytes := 0
	for i := range records {
		bytes += len(records[i].Body)
	}
	return bytes
}
