// Package pipelines keeps what pipelines report: flows, trails, artifacts, attestations and
// their types, and repositories.
package pipelines

import "attestry/storage"

// idIn is the id of the document of something that an organization, or a trail, has by its name or id there.
func idIn(scope, name string) string { return scope + "/" + name }

// Schemas declares the collections of this package.
func Schemas() []*storage.Schema {
	return []*storage.Schema{
		templateSchema, flowSchema, repoSchema, trailSchema, slotSchema, artifactSchema, attestationSchema,
		trailEventSchema, trailTallySchema, provenanceSchema, childSchema, decisionSchema, attestationTypeSchema, attestationTypeVersionSchema,
	}
}
