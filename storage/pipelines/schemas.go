package pipelines

import "attestry/storage"

// PipelineSchemas declares the collections of this package.
func PipelineSchemas() []*storage.Schema {
	return []*storage.Schema{
		templateSchema, flowSchema, repoSchema, trailSchema, slotSchema, artifactSchema, attestationSchema,
		trailEventSchema, trailTallySchema, provenanceSchema, decisionSchema, attestationTypeSchema, attestationTypeVersionSchema,
	}
}
