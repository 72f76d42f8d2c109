// Package notifications has the repositories of actions, of the events for them, and of the deliveries to their
// targets.
package notifications

import "attestry/storage"

// Schemas declares the collections of the package.
func Schemas() []*storage.Schema {
	return []*storage.Schema{actionSchema, targetSchema, outboxSchema, deliverySchema}
}
