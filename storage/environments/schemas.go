// Package environments keeps environments and what was reported of them: reports, snapshots, events and deployments.
package environments

import (
	"strconv"

	"attestry/storage"
)

// Schemas declares the collections of this package.
func Schemas() []*storage.Schema {
	return []*storage.Schema{
		environmentSchema, headSchema, reportSchema, snapshotSchema, chunkSchema, runningSchema, runningVersionSchema, eventSchema,
		deploymentSchema, successionSchema, firstSeenSchema, allowlistSchema, scalingSchema, admissionSchema, brokenGlassSchema,
	}
}

// idIn is the id of a document whose name or fingerprint is unique in an environment.
func idIn(environment, name string) string { return environment + "/" + name }

// numbered is the id of a document whose number is unique in an environment.
func numbered(environment string, number int64) string {
	return idIn(environment, strconv.FormatInt(number, 10))
}
