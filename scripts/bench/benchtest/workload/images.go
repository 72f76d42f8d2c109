package workload

import (
	"fmt"
	"strconv"

	"attestry/api/environments"
	"attestry/evidence"
)

// The versions of an image, for digest.
const (
	firstVersion  = "image"
	secondVersion = "image-2"
)

// replaceable is how many of a cluster's images have a second version.
func replaceable(pods int) int { return min(pods, 1_000) }

// digest returns the SHA-256 of a name, in hex.
func digest(seed, kind string, i int) string {
	return evidence.SHA256([]byte(seed + "/" + kind + "/" + strconv.Itoa(i)))
}

// pod returns a pod of a deployment of four pods, in one of twenty namespaces.
func pod(seed string, i int) environments.K8SArtifact {
	deployment := fmt.Sprintf("service-%04d-%s", i/4, digest(seed, "deployment", i/4)[:9])
	uid := digest(seed, "uid", i/4)
	return environments.K8SArtifact{
		PodName:           deployment + "-" + digest(seed, "pod", i)[:5],
		Namespace:         team(i),
		CreationTimestamp: 1_789_000_000 + int64(i),
		Digests: environments.Digests{
			image(team(i), component(i)): environments.Fingerprint(digest(seed, firstVersion, i)),
		},
		Owners: []environments.K8SOwner{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: deployment,
			UID:        uid[:8] + "-" + uid[8:12] + "-" + uid[12:16] + "-" + uid[16:20] + "-" + uid[20:32],
			Controller: new(true), BlockOwnerDeletion: new(true),
		}},
	}
}

// team returns the namespace of a pod, which is also the repository of its image.
func team(i int) string { return fmt.Sprintf("team-%02d", i/4%20) }

// component returns the artifact name of a pod's image in flows.
func component(i int) string { return fmt.Sprintf("component-%05d", i) }

func image(team, component string) string {
	return "registry.example.com/" + team + "/" + component + ":1.4.2"
}
