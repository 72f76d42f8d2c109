package workload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"attestry/api/environments"
)

// report is the body of a Kubernetes report. Images are replaced in the encoded body, to save processor time.
type report struct {
	body []byte
	seed string
	// offsets are where the fingerprints begin in the body, one for each pod.
	offsets  []int
	replaced int // images
	// orders are bodies with the same elements in other orders, and sent is how often one was chosen.
	orders [][]byte
	sent   int
}

const preparedOrders = 4

// newReport makes the report of a cluster whose pods run different images. Different seeds have no image in common.
func newReport(seed string, pods int) (*report, error) {
	content := environments.K8SReport{ReportOf: environments.ReportOf[environments.K8SArtifact]{Type: "K8S"}}
	for i := range pods {
		content.Artifacts = append(content.Artifacts, pod(seed, i))
	}
	body, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode a report: %w", err)
	}
	r := &report{body: body, seed: seed}
	end := 0
	for i := range pods {
		end += bytes.Index(body[end:], []byte(digest(seed, firstVersion, i)))
		r.offsets = append(r.offsets, end)
	}
	return r, nil
}

func (r *report) prepareOrders(pods int) error {
	elements := make([][]byte, pods)
	for i := range elements {
		var err error
		if elements[i], err = json.Marshal(pod(r.seed, i)); err != nil {
			return fmt.Errorf("encode a pod: %w", err)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range preparedOrders {
		random.Shuffle(pods, func(i, j int) { elements[i], elements[j] = elements[j], elements[i] })
		body := slices.Concat([]byte(`{"type":"K8S","artifacts":[`), bytes.Join(elements, []byte(",")), []byte("]}"))
		r.orders = append(r.orders, body)
	}
	return nil
}

// nextOrder puts the elements into another order, as in reports of clients that collect them concurrently.
func (r *report) nextOrder() {
	r.body = r.orders[r.sent%len(r.orders)]
	r.sent++
}

func (r *report) clone() *report {
	other := *r
	other.body = bytes.Clone(r.body)
	return &other
}

// replaceByOtherVersion replaces an image by the other one of its two versions, pod after pod, beginning with first.
func (r *report) replaceByOtherVersion(first int) {
	pods := replaceable(len(r.offsets))
	version := secondVersion
	if r.replaced/pods%2 == 1 {
		version = firstVersion
	}
	i := (first + r.replaced) % pods
	r.replaced++
	copy(r.body[r.offsets[i]:], digest(r.seed, version, i))
}

// replaceByNew replaces an image by one that has never run before, pod after pod.
func (r *report) replaceByNew() {
	offset := r.offsets[r.replaced%len(r.offsets)]
	r.replaced++
	copy(r.body[offset:], digest(r.seed, "replacement", r.replaced))
}
