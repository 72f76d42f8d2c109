package audit_test

import (
	"testing"

	"attestry/evidence/audit"
	"attestry/evidence/job"
)

func TestRequestsShareAnAssemblyUntilTheFactsChange(t *testing.T) {
	var a audit.Assembly
	first, again, later := a.Ask("s1", "acme", 1), a.Ask("s1", "acme", 2), a.Ask("s2", "acme", 3)
	if first != 1 || again != 1 || later != 2 || a.Due != 1 {
		t.Errorf("requests %d, %d, %d, due %v", first, again, later, a.Due)
	}
	request, ok := a.Begin("w", 4)
	if !ok || request != 2 {
		t.Fatalf("began %d, %v", request, ok)
	}
	a.Succeed("w", audit.Assembled{Request: request, State: "s2"})
	for _, number := range []int64{1, 2} {
		if got := a.ProgressOf(number); got != audit.Complete {
			t.Errorf("request %d is %s", number, got)
		}
	}
	if a.Due != 0 || !a.IsCurrent("s2", "", 5) || a.IsCurrent("s1", "", 5) || a.IsCurrent("s2", "other", 5) {
		t.Errorf("assembly %+v", a)
	}
}

func TestRequestDuringAFailedAttemptRemainsPending(t *testing.T) {
	var a audit.Assembly
	first := a.Ask("s1", "acme", 1)
	request, _ := a.Begin("w", 2)
	second := a.Ask("s2", "acme", 3)
	a.FailAttempt(request, "damaged", false, 3)
	if a.ProgressOf(first) != audit.Failed || a.ProgressOf(second) != audit.Pending || a.Due == 0 {
		t.Errorf("%s and %s, due %v", a.ProgressOf(first), a.ProgressOf(second), a.Due)
	}
	request, ok := a.Begin("w", 4)
	a.Succeed("w", audit.Assembled{Request: request})
	if !ok || a.ProgressOf(second) != audit.Complete || a.Due != 0 {
		t.Errorf("%s", a.ProgressOf(second))
	}
}

func TestObjectsOfEqualPackagesAreKeptSinceTheLastOneWasReplaced(t *testing.T) {
	var a audit.Assembly
	for request, object := range []string{"equal", "other", "equal", "other"} {
		at := float64(1000 * (request + 1))
		a.Ask(object, "acme", at)
		a.Begin("w", at)
		a.Succeed("w", audit.Assembled{Request: int64(request + 1), State: object, Archive: audit.Stored{Object: object}, At: at})
	}
	a.Forget(2500, nil, 4000)
	if len(a.Replaced) != 2 || a.Replaced[0] != (audit.ReplacedObject{Object: "other", At: 3000}) || a.Replaced[1] != (audit.ReplacedObject{Object: "equal", At: 4000}) {
		t.Errorf("replaced %+v", a.Replaced)
	}
}

func TestOnlyOneWorkerHasTheLeaseOfAnAssembly(t *testing.T) {
	var a audit.Assembly
	a.Ask("s", "acme", 1)
	a.Begin("one", 2)
	if _, ok := a.Begin("two", 3); ok {
		t.Error("two workers assemble")
	}
	if !a.Renew(&job.Assemble, "one", 10) || a.Renew(&job.Assemble, "two", 10) {
		t.Error("not the holder holds it")
	}
	if _, ok := a.Begin("two", 10+job.Assemble.Lease.Seconds()+1); !ok || a.Renew(&job.Assemble, "one", 30) {
		t.Error("a worker that is heard of no more keeps it")
	}
}

func TestWorkerThatLostTheLeaseChangesNothing(t *testing.T) {
	var a audit.Assembly
	a.Ask("s1", "acme", 1)
	a.Begin("one", 2)
	a.Ask("s2", "acme", 3)
	request, _ := a.Begin("two", 2+job.Assemble.Lease.Seconds()+1)
	a.Succeed("two", audit.Assembled{Request: request, Archive: audit.Stored{Object: "new"}})
	if a.Succeed("one", audit.Assembled{Request: 1, Archive: audit.Stored{Object: "old"}}) || a.Ready.Archive.Object != "new" || a.ProgressOf(2) != audit.Complete {
		t.Errorf("assembly %+v", a)
	}
	if len(a.Replaced) != 1 || a.Replaced[0].Object != "old" {
		t.Errorf("replaced %+v", a.Replaced)
	}
	a.Lose("old", 30)
	if a.Ready == nil {
		t.Error("another object's loss forgets the package")
	}
}

// failed is an assembly whose only request, of state s, has failed.
func failed(t *testing.T) (a audit.Assembly) {
	t.Helper()
	a.Ask("s", "acme", 1)
	request, ok := a.Begin("w", 2)
	if !ok {
		t.Fatalf("no attempt begins: %+v", a)
	}
	a.FailAttempt(request, "damaged", false, 2)
	return a
}

func TestRetryIsAnotherRequest(t *testing.T) {
	a := failed(t)
	a.Retry(3)
	if a.Failure != nil || a.Due != 3 || a.Parked != 0 || a.ProgressOf(1) != audit.Failed || a.ProgressOf(2) != audit.Pending {
		t.Errorf("it is %+v", a)
	}
	if request, ok := a.Begin("w", 4); !ok || request != 2 {
		t.Errorf("the attempt is for request %d, %v", request, ok)
	}
}

func TestFailureIsReadOnceAndForItsState(t *testing.T) {
	a := failed(t)
	if reason, ok := a.TakeFailure("other"); ok || a.Failure == nil {
		t.Errorf("another state has failed: %s", reason)
	}
	waiting := a
	waiting.Wanted++
	if reason, ok := waiting.TakeFailure("s"); ok || waiting.Failure == nil {
		t.Errorf("it has failed while a request waits: %s", reason)
	}
	asked := a
	if asked.Ask("s", "acme", 3); asked.Failure != nil {
		t.Error("the failure remains after a further request")
	}
	for _, want := range []bool{true, false} {
		if reason, ok := a.TakeFailure("s"); ok != want || ok != (reason == "damaged") {
			t.Errorf("the failure is %q, %v", reason, ok)
		}
	}
}

func TestManifestWithAnotherByteIsRefused(t *testing.T) {
	content, err := audit.Manifest{SchemaVersion: audit.SchemaVersion, Members: []audit.Member{audit.NewMember("a", []byte("x"))}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := audit.ParseManifest(content); err != nil {
		t.Fatal(err)
	}
	for i := range content {
		content[i] ^= 1
		if _, err := audit.ParseManifest(content); err == nil {
			t.Errorf("byte %d was altered: %s", i, content)
		}
		content[i] ^= 1
	}
}
