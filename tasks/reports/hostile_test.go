package reports_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
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

// largestDocuments is an engine that records the size of the largest document written to each collection.
type largestDocuments struct {
	storage.Documents
	mu    sync.Mutex // the lease is renewed while a drain runs
	sizes map[string]int
}

func (d *largestDocuments) note(schema *storage.Schema, records ...storage.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, record := range records {
		d.sizes[schema.Name] = max(d.sizes[schema.Name], len(record.Body))
	}
}

func (d *largestDocuments) Write(ctx context.Context, writes ...storage.Write) error {
	for _, write := range writes {
		d.note(write.Schema, write.Record)
	}
	return d.Documents.Write(ctx, writes...)
}

// TestDocumentsStaySmallInClustersOfManyPods has many pods of a few images start and exit.
func TestDocumentsStaySmallInClustersOfManyPods(t *testing.T) {
	docs := &largestDocuments{sizes: map[string]int{}}
	s := newScene(t, func(inner storage.Documents) storage.Documents {
		docs.Documents = inner
		return docs
	})
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
	for collection, size := range docs.sizes {
		if size > most && collection != "reports" {
			t.Errorf("a document of %s has %d bytes", collection, size)
		}
	}
}
