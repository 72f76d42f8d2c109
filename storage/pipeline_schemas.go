package storage

// PipelineSchemas declares the collections of this package.
func PipelineSchemas() []*Schema {
	return []*Schema{
		templateSchema, flowSchema, repoSchema, trailSchema, slotSchema, artifactSchema, attestationSchema,
		trailEventSchema, trailTallySchema, provenanceSchema, decisionSchema, attestationTypeSchema, attestationTypeVersionSchema,
	}
}
