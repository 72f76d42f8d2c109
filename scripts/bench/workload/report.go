package workload

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"attestry/api/environments"
)

// report is the body of a Kubernetes report as a cluster sends it, in which
// images can be replaced without encoding it anew: the clients must not take
// the machine away from what they measure.
type report struct {
	body []byte
	// places are where the fingerprints begin in the body, one for each pod.
	places []int
	seed   string
	// replaced counts the images that were.
	replaced int
	// offset is the first pod whose image is rolled.
	offset int
}

// maxRolled is how many pods of a cluster have their images rolled at most.
const maxRolled = 1_000

// The versions of a cluster's images.
const (
	firstVersion  = "image"
	secondVersion = "image-2"
)

// newReport makes the report of a cluster whose pods run one image each, no two
// the same. Reports of different seeds have nothing in common.
func newReport(seed string, pods int) (*report, error) {
	var body environments.K8SReport
	body.Type = "K8S"
	for i := range pods {
		body.Artifacts = append(body.Artifacts, pod(seed, i))
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode a report: %w", err)
	}
	r := &report{body: encoded, seed: seed}
	end := 0
	for _, artifact := range body.Artifacts {
		for _, fingerprint := range artifact.Digests {
			place := end + bytes.Index(encoded[end:], []byte(fingerprint))
			r.places = append(r.places, place)
			end = place + len(fingerprint)
		}
	}
	return r, nil
}

// pod is one of a deployment of four pods, in one of twenty namespaces.
func pod(seed string, i int) environments.K8SArtifact {
	owns := true
	deployment := fmt.Sprintf("service-%04d-%s", i/4, digest(seed, "deployment", i/4)[:9])
	namespace := team(i)
	uid := digest(seed, "uid", i/4)
	return environments.K8SArtifact{
		PodName:           deployment + "-" + digest(seed, "pod", i)[:5],
		Namespace:         namespace,
		CreationTimestamp: 1_789_000_000 + int64(i),
		Digests: environments.Digests{
			imageName(i): environments.Fingerprint(digest(seed, firstVersion, i)),
		},
		Owners: []environments.K8SOwner{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: deployment,
			UID:        uid[:8] + "-" + uid[8:12] + "-" + uid[12:16] + "-" + uid[16:20] + "-" + uid[20:32],
			Controller: &owns, BlockOwnerDeletion: &owns,
		}},
	}
}

// team is the namespace of a pod.
func team(i int) string { return fmt.Sprintf("team-%02d", i/4%20) }

// component is what an image is known as in its flows.
func component(i int) string { return fmt.Sprintf("component-%05d", i) }

func imageName(i int) string {
	return "registry.example.com/" + team(i) + "/" + component(i) + ":1.4.2"
}

// clone is a report that changes by itself.
func (r *report) clone() *report {
	other := *r
	other.body = bytes.Clone(r.body)
	return &other
}

// roll puts the other one of its two versions in the place of an image, pod after
// pod, so that flows can be told of all of them beforehand.
func (r *report) roll() {
	pods := rolled(len(r.places))
	version := secondVersion
	if r.replaced/pods%2 == 1 {
		version = firstVersion
	}
	i := (r.offset + r.replaced) % pods
	r.replaced++
	copy(r.body[r.places[i]:], digest(r.seed, version, i))
}

// rolled is how many of a cluster's pods have their images rolled.
func rolled(pods int) int { return min(pods, maxRolled) }

// replace puts an image that never ran before in the place of one, another one
// each time.
func (r *report) replace() {
	at := r.places[r.replaced%len(r.places)]
	r.replaced++
	copy(r.body[at:], digest(r.seed, "replacement", r.replaced))
}

// digest is the SHA-256 of a name, in hex.
func digest(seed, kind string, i int) string {
	sum := sha256.Sum256([]byte(seed + "/" + kind + "/" + strconv.Itoa(i)))
	return hex.EncodeToString(sum[:])
}
