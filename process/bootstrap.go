package process

import (
	"context"
	"fmt"
	"io"
	"os"

	"attestry/config"
	"attestry/evidence/identity"
)

// ReadBootstrap reads a bootstrap file; "" declares nothing. It is read before a store is opened, so that a faulty file
// leaves nothing behind.
func ReadBootstrap(file string) (identity.Bootstrap, error) {
	if file == "" {
		return identity.Bootstrap{}, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return identity.Bootstrap{}, fmt.Errorf("read the bootstrap file: %w", err)
	}
	return config.ParseBootstrap(file, data)
}

// Bootstrap applies a declaration and prints each new key to out. A key is never shown again.
func (p *Process) Bootstrap(ctx context.Context, declared identity.Bootstrap, out io.Writer) error {
	made, err := p.Store.Tenancy.ApplyBootstrap(ctx, declared)
	for _, key := range made {
		fmt.Fprintf(out, "API key of %s (%s), shown this once: %s\n", key.User, key.Description, key.Secret.Reveal())
	}
	return err
}
