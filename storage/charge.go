package storage

import "context"

// Charge is called with the size, in bytes, of each body or object that is read. Its error ends that read.
type Charge func(bytes int) error

type chargeKey struct{}

// WithCharge returns a context whose reads are charged; a nil charge ends that.
func WithCharge(ctx context.Context, charge Charge) context.Context {
	return context.WithValue(ctx, chargeKey{}, charge)
}

// ChargeRead calls the Charge of the context, if any. Engines call it before they read the next body, so that a
// read ends as soon as its charge is refused.
func ChargeRead(ctx context.Context, bytes int) error {
	if charge, _ := ctx.Value(chargeKey{}).(Charge); charge != nil {
		return charge(bytes)
	}
	return nil
}
