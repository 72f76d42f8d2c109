package snapshot

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"attestry/evidence"
)

// pods is a report of n pods that all run the given images.
func pods(n int, context Pod, images ...string) Report {
	instances := make([]Instance, 0, n)
	for i := range n {
		digests := map[string]string{}
		for _, image := range images {
			digests[image] = fingerprint(image)
		}
		instances = append(instances, Instance{Digests: digests, Pod: fmt.Sprintf("pod-%d", i), PodContext: &context})
	}
	return Canonical(evidence.K8S, instances)
}

// files are instances with the shortest names there are.
func files(n int) []Instance {
	instances := make([]Instance, 0, n)
	for i := range n {
		name := strconv.FormatInt(int64(i), 36)
		instances = append(instances, Instance{Digests: map[string]string{name: fingerprint(name)}, CreatedAt: 1_790_000_000})
	}
	return instances
}

func imagesNamed(n int) []string {
	images := make([]string, n)
	for i := range images {
		images[i] = fmt.Sprintf("registry.example.com/image-%d:1.2.3", i)
	}
	return images
}

var ordinary = Pod{Namespace: "production", Owners: []Owner{{
	APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "service-7d9f8b6c5d", UID: "0b7a1f6e-4c6f-4b7e-9a6e-1f2d3c4b5a69",
}}}

func TestReportThatSwellsIsRefused(t *testing.T) {
	fat := Pod{Namespace: strings.Repeat("x", 1<<20)}
	escaped := Pod{Namespace: strings.Repeat("<", MaxArtifactSize/5)}
	for what, report := range map[string]Report{
		"many images in a pod that tells much": pods(1, fat, imagesNamed(100)...),
		"an image in too many pods":            pods(60_000, ordinary, "image"),
		"text that swells when it is escaped":  pods(1, escaped, "image"),
		"a name without end":                   Canonical(evidence.Server, []Instance{{Digests: map[string]string{strings.Repeat("x", MaxArtifactSize+1): fingerprint("x")}}}),
	} {
		if err := report.CheckSize(); evidence.CodeOf(err) != evidence.TooLarge {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestLargeClustersAreNotRefused(t *testing.T) {
	for what, report := range map[string]Report{
		"an image in 20,000 pods":          pods(20_000, ordinary, "image"),
		"10,000 pods of five images each":  pods(10_000, ordinary, imagesNamed(5)...),
		"nothing":                          pods(0, ordinary),
		"as many files as a body can hold": Canonical(evidence.Server, files(300_000)),
		"one pod of a thousand containers": pods(1, ordinary, imagesNamed(1000)...),
	} {
		if err := report.CheckSize(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestSizeIsNeverLessThanTheEncoding(t *testing.T) {
	odd := Pod{Namespace: "\"\\<>&\t\x01\u2028é", CreatedAt: -1 << 63, Owners: ordinary.Owners}
	yes := true
	odd.Owners[0].Controller, odd.Owners[0].BlockOwnerDeletion = &yes, &yes
	for _, report := range []Report{pods(3, odd, "a<b", "\u2029"), pods(50, ordinary, imagesNamed(3)...), pods(0, odd)} {
		for _, artifact := range Evaluate(&report) {
			if size, real := artifact.size(), len(encode(artifact)); size < real || size > 8*real {
				t.Errorf("size %d, encoded %d", size, real)
			}
		}
	}
}

// TestChunksStaySmallHoweverManyPods cuts artifacts that run in many pods.
func TestChunksStaySmallHoweverManyPods(t *testing.T) {
	report := pods(200, ordinary, imagesNamed(60)...)
	artifacts := Evaluate(&report)
	most := maxChunkSize + artifacts[0].size()
	for _, tree := range []Tree{NewArtifactTree(artifacts), NewChangeTree(Diff(artifacts, nil))} {
		for id, chunk := range tree.Chunks {
			if size := len(encode(chunk)); size > most {
				t.Errorf("chunk %s has %d bytes", id, size)
			}
		}
	}
}

func TestChangesHangOnATreeWhenTheyAreManyOrLarge(t *testing.T) {
	few := artifactsNamed(MaxInlineChanges, "a")
	if !Inline(Diff(few, nil)) {
		t.Error("few small changes are not inline")
	}
	if Inline(Diff(artifactsNamed(MaxInlineChanges+1, "a"), nil)) {
		t.Error("many changes are inline")
	}
	large := pods(2_000, ordinary, "image")
	if Inline(Diff(Evaluate(&large), nil)) {
		t.Error("an artifact of many pods that exited is inline")
	}
}
