// Package pipelines keeps flows, trails, artifacts, attestations and their types, and repositories.
package pipelines

import "attestry/storage"

// idIn is the id of a document whose name or id is unique in a scope: an organization or a trail.
func idIn(scope, name string) string { return scope + "/" + name }

// Schemas declares the collections of this package.
func Schemas() []*storage.Schema {
	return []*storage.Schema{
		templateSchema, flowSchema, repoSchema, trailSchema, slotSchema, artifactSchema, attestationSchema,
		trailEventSchema, trailTallySchema, provenanceSchema, childSchema, decisionSchema, attestationTypeSchema, attestationTypeVersionSchema,
	}
}
