package web

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// heapReader records how much memory is in use when it is read.
type heapReader struct {
	io.Reader
	used int64
}

func (r *heapReader) Read(p []byte) (int, error) {
	r.used = max(r.used, usedMemory())
	return r.Reader.Read(p)
}

// usedMemory returns the size of the live objects on the heap, in bytes.
func usedMemory() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// largeAnswer is an answer with many elements. In element, # stands for the element's number and @ for a text of 1 MiB.
type largeAnswer struct{ target, begin, element, end string }

// content returns the answer. end measures the memory when all elements have been read.
func (l *largeAnswer) content(elements int, end *heapReader) io.Reader {
	long, separator := strings.Repeat("x", 1<<20), l.begin
	var parts []io.Reader
	for i := range elements {
		text := separator + strings.ReplaceAll(l.element, "#", strconv.Itoa(i+1))
		for rest := range strings.SplitSeq(text, "@") {
			parts = append(parts, strings.NewReader(rest), strings.NewReader(long))
		}
		parts, separator = parts[:len(parts)-1], ","
	}
	end.Reader = strings.NewReader(l.end)
	return io.MultiReader(append(parts, end)...)
}

func TestPagesBufferLittleOfLargeAnswers(t *testing.T) {
	const elements, most = 32, 8 << 20
	var entries []string
	for i := range elements {
		entries = append(entries, fmt.Sprintf(`{"attestation_name":"a","attestation_id":"%d","is_compliant":true}`, i+1))
	}
	versions := `{"version":#,"comment":"@","policy_yaml":"@"}`
	for path, answer := range map[string]largeAnswer{
		"/acme/environments/production": {
			"GET /snapshots/acme/production/-1?explain=true", `{"index":1,"applied_policies":[`, `{"failing_artifacts":[{"name":"@"}]}`, `],"artifacts":[]}`,
		},
		"/acme/environments/production/timeline": {
			"GET /snapshots/acme/production/@%7B2026-03-24T12:00:00%7D", `{"artifacts":[`, `{"name":"a","fingerprint":"#","annotation":{},"html_url":"@"}`, `]}`,
		},
		"/acme/flows/checkout/trails/t1?attestation_id=7": {
			"GET /attestations/acme", `{"data":[`, `{"attestation_id":"#","reason":"short","user_data":{"note":"@"}}`, `]}`,
		},
		"/acme/search?q=ada&kind=attestation": {
			"GET /attestations/acme", `{"data":[`, `{"attestation_id":"#","attestation_name":"ada","user_data":{"note":"@"}}`, `]}`,
		},
		"/acme/search?q=p1&kind=policy": {"GET /policies/acme", `[{"name":"p1","versions":[`, versions, `]}]`},
		"/acme/policies":                {"GET /policies/acme", `[{"name":"p1","versions":[`, versions, `]}]`},
		"/acme/policies/p1":             {"GET /policies/acme/p1", `{"name":"p1","versions":[`, versions, `]}`},
	} {
		api := environmentAPI(t, `{"name":"production"}`, "", `[{"index":1}]`)
		api.answers["GET /trails/acme/checkout/t1"] = canned(`{"name":"t1","flow":{"name":"checkout"},"compliance_status":{"attestations_statuses":[` + strings.Join(entries, ",") + `]}}`)
		api.answers["GET /environments/acme/production/events"] = []cannedAnswer{{status: http.StatusOK, body: `[]`, header: map[string]string{"X-Total-Pages": "1"}}}
		var end heapReader
		api.answers[answer.target] = []cannedAnswer{{status: http.StatusOK, stream: answer.content(elements, &end)}}
		before := usedMemory()
		api.open(t, path).has(t)
		if end.used == 0 || end.used-before > most {
			t.Errorf("%s takes %d MiB of memory for an answer of %d MiB", path, (end.used-before)>>20, elements)
		}
	}
}
