package web

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// heapReader notes how much memory is used when its content is read.
type heapReader struct {
	io.Reader
	used int64
}

func (r *heapReader) Read(p []byte) (int, error) {
	r.used = max(r.used, usedMemory())
	return r.Reader.Read(p)
}

// usedMemory is how much memory is used, in bytes.
func usedMemory() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func TestPagesHoldLittleOfLargeAnswers(t *testing.T) {
	const elements, most = 32, 8 << 20
	long := strings.Repeat("x", 1<<20)
	for path, answer := range map[string]struct{ target, begin, element, end string }{
		"/acme/environments/production": {
			"GET /snapshots/acme/production/-1?explain=true",
			`{"index":1,"applied_policies":[`, `{"failing_artifacts":[{"name":"` + long + `"}]}`, `],"artifacts":[]}`,
		},
		"/acme/flows/checkout/trails/t1?attestation_id=" + testID: {
			"GET /attestations/acme", `{"data":[`, `{"attestation_id":"` + reviewID + `","user_data":{"note":"` + long + `"}}`, `]}`,
		},
	} {
		api := environmentAPI(t, `{"name":"production"}`, "", `[{"index":1}]`)
		api.answers["GET /trails/acme/checkout/t1"] = canned(trailText)
		parts := []io.Reader{strings.NewReader(answer.begin + answer.element)}
		for range elements - 1 {
			parts = append(parts, strings.NewReader(","), strings.NewReader(answer.element))
		}
		end := &heapReader{Reader: strings.NewReader(answer.end)}
		api.answers[answer.target] = []cannedAnswer{{status: http.StatusOK, stream: io.MultiReader(append(parts, end)...)}}
		before := usedMemory()
		api.open(t, path).has(t)
		if end.used == 0 || end.used-before > most {
			t.Errorf("%s takes %d MiB of memory for an answer of %d MiB", path, (end.used-before)>>20, elements)
		}
	}
}
