package resource

import (
	"context"

	"attestry/api/server"
)

// referrer is the input of an operation whose path refers to a resource.
type referrer[P any] interface{ Ref() P }

// Found makes an operation of a handler that takes a resource. load reads the resource that the path refers to.
func Found[I referrer[P], P, V, O any](load func(context.Context, P) (V, error), handler func(context.Context, *I, V) (*O, error)) server.Binder {
	return server.Handle(func(ctx context.Context, in *I) (*O, error) {
		found, err := load(ctx, (*in).Ref())
		if err != nil {
			return nil, err
		}
		return handler(ctx, in, found)
	})
}

// FoundWithBody is Found for handlers that also take a JSON body.
func FoundWithBody[I referrer[P], P, V, T, O any](load func(context.Context, P) (V, error), handler func(context.Context, *I, V, *T) (*O, error)) server.Binder {
	return server.WithBody(func(ctx context.Context, in *I, body *T) (*O, error) {
		found, err := load(ctx, (*in).Ref())
		if err != nil {
			return nil, err
		}
		return handler(ctx, in, found, body)
	})
}
