// Package notifications keeps actions, the events for them, and the deliveries to their targets.
package notifications

import "attestry/storage"

// Schemas declares the collections of the package.
func Schemas() []*storage.Schema {
	return []*storage.Schema{actionSchema, targetSchema, outboxSchema, deliverySchema}
}
