package organizations

import (
	"context"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence/identity"
)

type handlers struct {
	*resource.Base
	targets *targetReader
}

// actor is whoever asks as one who changes something.
func actor(ctx context.Context) identity.Actor { return identity.ActorOf(server.Principal(ctx)) }
