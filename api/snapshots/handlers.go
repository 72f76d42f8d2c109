package snapshots

import "attestry/api/resource"

// handlers serves the operations.
type handlers struct {
	*resource.Base
	Stores
}
