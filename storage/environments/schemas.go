// Package environments keeps environments and what was reported of them: reports, snapshots, events and deployments.
package environments

import "attestry/storage"

// Schemas declares the collections of this package.
func Schemas() []*storage.Schema {
	return []*storage.Schema{
		environmentSchema, headSchema, reportSchema, snapshotSchema, chunkSchema, runningSchema, runningVersionSchema, eventSchema,
		deploymentSchema, successionSchema, firstSeenSchema, allowlistSchema, scalingSchema, admissionSchema, brokenGlassSchema,
	}
}
