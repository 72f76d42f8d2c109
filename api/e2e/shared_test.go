package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"attestry/app/evaluation"
)

// shared is the service of all tests that do not need one of their own. The first of them starts it.
var shared struct {
	once    sync.Once
	service *service
	err     error
	data    string
	// organizations is the number of tests that have got organizations of their own.
	organizations atomic.Int64
}

// share gives a test organizations of its own on the shared service. It is for tests that neither advance the clock nor
// check what all organizations share: the log, the metrics, the number of commands. Where the tests are run on real
// engines, it skips them.
func share(t *testing.T) *service {
	t.Helper()
	skipOnRealEngines(t)
	return shareOnAnyEngine(t)
}

// shareOnAnyEngine is share for tests that are run on real engines too.
func shareOnAnyEngine(t *testing.T) *service {
	t.Helper()
	shared.once.Do(startShared)
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	s := shared.service.in(t)
	number := shared.organizations.Add(1)
	s.org, s.public = fmt.Sprint("acme-", number), fmt.Sprint("open-", number)
	s.must(s.createOrganizations(t.Context()))
	return s
}

func startShared() {
	if shared.data, shared.err = os.MkdirTemp("", "attestry-e2e-"); shared.err != nil {
		return
	}
	if shared.service, shared.err = launch(context.Background(), options{real: true, data: shared.data}); shared.err == nil {
		shared.service.clock.shared = true
	}
}

func stopShared() error {
	defer os.RemoveAll(shared.data)
	if shared.service == nil {
		return nil
	}
	return shared.service.stop()
}

func TestMain(m *testing.M) {
	evaluation.ServeChild()
	if os.Getenv(dyingWorker) != "" {
		work()
		return
	}
	flag.Parse()
	folder, err := os.MkdirTemp("", "attestry-e2e-")
	if err == nil {
		err = writeAuthorities(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare the tests:", err)
		os.Exit(1)
	}
	if onRealEngines() {
		// Tests share the Redis and a MongoDB-compatible server that is slow.
		flag.Set("test.parallel", "1")
	}
	code := m.Run()
	os.RemoveAll(folder)
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, "the shared service:", err)
		code = 1
	}
	os.Exit(code)
}
