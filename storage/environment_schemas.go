package storage

// EnvironmentSchemas declares the collections of this package.
func EnvironmentSchemas() []*Schema {
	return []*Schema{
		environmentSchema, headSchema, reportSchema, snapshotSchema, chunkSchema, runningSchema, eventSchema,
		deploymentSchema, successionSchema, sightingSchema, allowlistSchema,
	}
}
