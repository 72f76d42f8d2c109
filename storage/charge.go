package storage

import "context"

// Charge is called with the size, in bytes, of each stored body or object while it is
// read. An error ends that read and is its error.
type Charge func(bytes int) error

type chargeKey struct{}

// WithCharge returns a context whose reads are charged; a nil charge ends that.
func WithCharge(ctx context.Context, charge Charge) context.Context {
	return context.WithValue(ctx, chargeKey{}, charge)
}

// ChargeRead calls the Charge of the context, if it has one. Engines call it for each body
// before they read the next one, so that a read ends as soon as its charge is refused.
func ChargeRead(ctx context.Context, bytes int) error {
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
