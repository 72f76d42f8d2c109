package resource

import (
	"context"

	"attestry/api/server"
)

// placed is the input of an operation whose path names something.
type placed[P any] interface{ Place() P }

// Found makes an operation of a handler that also gets what find finds at the place in the path.
func Found[I placed[P], P, V, O any](find func(context.Context, P) (V, error), handler func(context.Context, *I, V) (*O, error)) server.Binder {
	return server.Handle(func(ctx context.Context, in *I) (*O, error) {
		found, err := find(ctx, (*in).Place())
		if err != nil {
			return nil, err
		}
		return handler(ctx, in, found)
	})
}

// FoundWithBody is Found for handlers that also take a JSON body.
func FoundWithBody[I placed[P], P, V, T, O any](find func(context.Context, P) (V, error), handler func(context.Context, *I, V, *T) (*O, error)) server.Binder {
	return server.WithBody(func(ctx context.Context, in *I, body *T) (*O, error) {
		found, err := find(ctx, (*in).Place())
		if err != nil {
			return nil, err
		}
		return handler(ctx, in, found, body)
	})
}
