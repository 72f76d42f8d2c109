package reports_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/storagetest"
	"attestry/tasks/reports"
)

// TestReportThatExpandsTooMuchIsRefusedAndNotStored sends a report of one pod with many images and a context of a
// megabyte. The context is stored for each image.
func TestReportThatExpandsTooMuchIsRefusedAndNotStored(t *testing.T) {
	s := newScene(t, nil)
	digests := map[string]string{}
	for i := range 100 {
		digests[fmt.Sprint("image-", i)] = fingerprint(fmt.Sprint(i))
	}
	pod := &snapshot.Pod{Namespace: strings.Repeat("x", 1<<20)}
	report := snapshot.Canonical(evidence.K8S, []snapshot.Instance{{Digests: digests, Pod: "pod", PodContext: pod}})
	_, err := s.intake.Accept(t.Context(), reports.Submission{Org: "org", Environment: s.env, Report: report})
	if evidence.CodeOf(err) != evidence.TooLarge {
		t.Errorf("got %v", err)
	}
	if waits, err := s.store.Reports.Exists(t.Context(), s.env, 1); err != nil || waits {
		t.Errorf("it was stored: %v, %v", waits, err)
	}
}

// newMeasuredScene returns a scene, and the bytes of the largest document that is written to each collection.
func newMeasuredScene(t *testing.T) (s *scene, largest map[string]int) {
	t.Helper()
	largest = map[string]int{}
	var mu sync.Mutex // the lease is renewed while a drain runs
	return newScene(t, func(docs storage.Documents) storage.Documents {
		return storagetest.BeforeWrites(docs, func(write storage.Write) error {
			mu.Lock()
			defer mu.Unlock()
			largest[write.Schema.Name] = max(largest[write.Schema.Name], len(write.Record.Body))
			return nil
		})
	}), largest
}

// TestDocumentsStaySmallInClustersOfManyPods has many pods of a few images start and exit.
func TestDocumentsStaySmallInClustersOfManyPods(t *testing.T) {
	s, largest := newMeasuredScene(t)
	const images, podsPerImage = 40, 300
	var instances []snapshot.Instance
	for i := range images * podsPerImage {
		image := fmt.Sprint("registry.example.com/image-", i%images)
		instances = append(instances, snapshot.Instance{
			Digests: map[string]string{image: fingerprint(image)}, CreatedAt: 1_789_000_000,
			Pod: fmt.Sprint("pod-", i), PodContext: &snapshot.Pod{Namespace: "production", CreatedAt: 1_789_000_000},
		})
	}
	s.accept(t, snapshot.Canonical(evidence.K8S, instances))
	s.accept(t, snapshot.Canonical(evidence.K8S, nil))
	s.drain(t)
	made, artifacts, changes := s.artifacts(t, 2)
	if len(artifacts) != 0 || len(changes) != images || len(changes[0].Former.Pods) != podsPerImage {
		t.Fatalf("snapshot %d has %d artifacts and %d changes", made.Number, len(artifacts), len(changes))
	}
	encoded, err := json.Marshal(changes[0].Former)
	if err != nil {
		t.Fatal(err)
	}
	most := 48<<10 + 2*len(encoded)
	for collection, size := range largest {
		if size > most && collection != "reports" {
			t.Errorf("a document of %s has %d bytes", collection, size)
		}
	}
}
