package e2e_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/api/apitest/webclient"
	"attestry/api/examples"
	"attestry/storage"
	"attestry/storage/storagetest"
	"attestry/trace"
)

// faultyTrace is the trace of the requests of which one command fails.
const faultyTrace = "4bf92f3577b34da6a3ce929d0e0e4736"

// faultyReads fails the n-th command of a request with faultyTrace.
type faultyReads struct {
	storagetest.Interceptor
	fails, counted atomic.Int64
}

func (f *faultyReads) around(command storagetest.Command, run func() error) error {
	if trace.ID(command.Ctx) == faultyTrace && f.counted.Add(1) == f.fails.Load() {
		return errors.New("a command fails")
	}
	return run()
}

// TestNothingIsReadInPart sends each example that reads again and again. Each time another one of its commands fails.
func TestNothingIsReadInPart(t *testing.T) {
	t.Parallel()
	faulty := &faultyReads{}
	s := apitest.Start(t, apitest.Options{StoppedAt: time.Unix(1_793_610_000, 500_000_000), Settings: []string{apitest.NewSigningKey(t), apitest.LogKeyFile(t)}, Wrap: func(docs storage.Documents) storage.Documents {
		faulty.Interceptor = storagetest.Interceptor{Documents: docs, Around: faulty.around}
		return faulty
	}})
	written, err := examples.All()
	s.Must(err)
	p := &examplePlayer{Service: s, visitor: webclient.SignedIn(s, apitest.ReaderKey), actual: map[string]string{}, answers: map[string]json.RawMessage{}}
	failed := 0
	for _, operation := range exampleOrder {
		prepareExample(s, operation)
		p.exchangeExample(written[operation])
		s.Clock.Advance(time.Minute)
		if method, path := p.addressOf(written[operation]); method == http.MethodGet {
			failed += faulty.check(s, operation, path)
		}
	}
	if failed < 300 {
		t.Errorf("only %d commands have failed", failed)
	}
}

// check fails each command of a request once, and returns their number.
func (f *faultyReads) check(s *apitest.Service, operation, path string) int {
	s.T.Helper()
	for n := 1; ; n++ {
		f.counted.Store(0)
		f.fails.Store(int64(n))
		request, err := http.NewRequestWithContext(s.T.Context(), http.MethodGet, s.URL+path, nil)
		s.Must(err)
		request.Header.Set("Authorization", "Bearer "+apitest.AdminKey)
		request.Header.Set("Traceparent", "00-"+faultyTrace+"-00f067aa0ba902b7-01")
		response, err := http.DefaultClient.Do(request)
		s.Must(err)
		_, broken := io.Copy(io.Discard, response.Body)
		response.Body.Close()
		switch reached := f.counted.Load() >= int64(n); {
		case !reached && (response.StatusCode != http.StatusOK || broken != nil):
			s.T.Errorf("%s answers %d without a failure: %v", operation, response.StatusCode, broken)
			return n
		case !reached:
			return n - 1
		case broken == nil && response.StatusCode < http.StatusInternalServerError:
			s.T.Errorf("%s answers %d although command %d failed", operation, response.StatusCode, n)
		}
	}
}
