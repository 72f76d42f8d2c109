package environments

import "attestry/storage"

// EnvironmentSchemas declares the collections of this package.
func EnvironmentSchemas() []*storage.Schema {
	return []*storage.Schema{
		environmentSchema, headSchema, reportSchema, snapshotSchema, chunkSchema, runningSchema, eventSchema,
		deploymentSchema, successionSchema, sightingSchema, allowlistSchema,
	}
}
