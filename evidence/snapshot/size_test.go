package snapshot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/policy"
)

// pods returns a report of n pods that all run the given images.
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

// files returns instances with the shortest possible names.
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

func TestReportThatBecomesTooLargeIsRefused(t *testing.T) {
	fat := Pod{Namespace: strings.Repeat("x", 1<<20)}
	escaped := Pod{Namespace: strings.Repeat("<", MaxArtifactSize/5)}
	for name, report := range map[string]Report{
		"many images in a pod with a large context": pods(1, fat, imagesNamed(100)...),
		"an image in too many pods":                 pods(60_000, ordinary, "image"),
		"text that grows when it is escaped":        pods(1, escaped, "image"),
		"an image of many names in many pods":       Canonical(evidence.K8S, manyNames()),
		"a very long name":                          Canonical(evidence.Server, []Instance{{Digests: map[string]string{strings.Repeat("x", MaxArtifactSize+1): fingerprint("x")}}}),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := report.Size(); evidence.CodeOf(err) != evidence.TooLarge {
				t.Error(err)
			}
		})
	}
}

// manyNames returns pods that run one image under ten names, none of which is in too many pods.
func manyNames() []Instance {
	var instances []Instance
	for i := range 60_000 {
		instances = append(instances, Instance{
			Digests: map[string]string{fmt.Sprint("name-", i%10): fingerprint("image")}, Pod: fmt.Sprint("pod-", i), PodContext: &ordinary,
		})
	}
	return instances
}

// TestArtifactThatManyFlowsKnowFitsIntoADocument has the largest artifact of a report, and 300 flows with its commit
// and its predecessor's. Their text grows when it is escaped.
func TestArtifactThatManyFlowsKnowFitsIntoADocument(t *testing.T) {
	const flows, limit = 300, 15 << 20
	long := strings.Repeat("<", 1<<20)
	record := evidence.ArtifactRecord{
		ID: evidence.NewID(), Flow: evidence.NewID(), Trail: strings.Repeat("t", 100), Name: strings.Repeat("n", 100), Fingerprint: fingerprint("image"),
		CommitSHA: strings.Repeat("c", 40), CommitURL: strings.Repeat("u", 1<<10),
		Commit: &evidence.GitCommit{SHA1: strings.Repeat("c", 40), Message: &long, Author: &long, Branch: &long, URL: new(strings.Repeat("u", 1<<10))},
	}
	origin := Origin{Origin: record.Origin(), Previous: &Predecessor{Fingerprint: fingerprint("before"), Origin: record.Origin()}}
	artifact := Artifact{Reported: Reported{Fingerprint: fingerprint("image")}, Origins: slices.Repeat([]Origin{origin}, flows)}
	if size := artifact.size() + MaxArtifactSize; size > limit {
		t.Errorf("%d bytes", size)
	}
}

func TestLargeClustersAreNotRefused(t *testing.T) {
	many := 300_000 // as many as a body can hold
	if testing.Short() {
		many /= 10
	}
	for name, report := range map[string]Report{
		"an image in 20,000 pods":          pods(20_000, ordinary, "image"),
		"10,000 pods of five images each":  pods(10_000, ordinary, imagesNamed(5)...),
		"nothing":                          pods(0, ordinary),
		"many files":                       Canonical(evidence.Server, files(many)),
		"one pod of a thousand containers": pods(1, ordinary, imagesNamed(1000)...),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := report.Size(); err != nil {
				t.Error(err)
			}
		})
	}
}

// evaluated evaluates a first report, with origins that have all members.
func evaluated(report *Report) []Artifact {
	images := report.Fingerprints()
	origin := evidence.Origin{
		Flow: strings.Repeat("f", 36), Trail: "<trail>", Slot: "slot", Record: strings.Repeat("r", 36), Repo: strings.Repeat("p", 36),
		CommitSHA: strings.Repeat("c", 40), CommitURL: "https://example.com/?a&b", Time: 1790000000.123456, First: 1790000000.123457,
		Commit: &evidence.GitCommit{
			SHA1: strings.Repeat("c", 40), Message: new("\"fix\" <it>\n\u2028"), Author: new("A <a@example.com>"),
			Branch: new("main"), Timestamp: new(1790000000.5), URL: new("https://example.com/c"),
		},
	}
	known := Known{FirstAt: 1790000000.123456, Origins: []Origin{
		{Origin: origin, Status: evidence.NonCompliant, Previous: &Predecessor{
			Fingerprint: strings.Repeat("d", 64), Name: "registry/<image>", Since: 1 << 60, Origin: origin, Status: evidence.NonCompliant,
		}},
		{Origin: evidence.Origin{}},
	}}
	in := Input{Images: images, Known: map[string]Known{}}
	for _, image := range images {
		in.Known[image.Fingerprint] = known
	}
	artifacts := in.evaluate(&Snapshot{Number: 1 << 60, Timestamp: 1790000000.123456})
	long := strings.Repeat("<", 1000)
	contexts := []Context{
		{ECS: &ECSContext{TaskARN: long, ClusterName: &long, ServiceName: &long}},
		{Azure: &AzureContext{AppName: long, AppKind: long, DigestsSource: "acr"}},
		{CloudRun: &CloudRunContext{Kind: "job", ServiceName: &long, RevisionName: &long, JobName: &long}},
	}
	for i := range artifacts {
		artifacts[i].Context, artifacts[i].Names = &contexts[i%len(contexts)], []string{long, long}
		artifacts[i].Origins[0].Unapproved = []string{long, long}
		artifacts[i].Origins[0].Shortfall = &policy.Shortfall{Failing: []string{long}, Findings: map[string]string{long: long}, Missing: []string{long}}
		artifacts[i].Decisions = []Decision{{Rules: "ss c", Reasons: []Reason{
			{Rule: 3, Attestation: &policy.Attestation{ID: long, Name: long, Type: long, Flow: long, Trail: long, Finding: long}}, {Rule: 2, Fault: long},
		}}}
	}
	return artifacts
}

func TestSizeIsNeverLessThanTheEncoding(t *testing.T) {
	odd := Pod{Namespace: "\"\\<>&\t\x01\u2028é", CreatedAt: -1 << 63, Owners: slices.Clone(ordinary.Owners)}
	yes := true
	odd.Owners[0].Controller, odd.Owners[0].BlockOwnerDeletion = &yes, &yes
	for _, report := range []Report{pods(3, odd, "a<b", "\u2029"), pods(50, ordinary, imagesNamed(3)...), pods(0, odd)} {
		for _, artifact := range evaluated(&report) {
			if size, real := artifact.size(), len(encode(artifact)); size < real || size > 8*real {
				t.Errorf("size %d, encoded %d", size, real)
			}
		}
	}
}

// TestChunksStaySmallHoweverManyPods makes trees of artifacts that run in many pods.
func TestChunksStaySmallHoweverManyPods(t *testing.T) {
	report := pods(200, ordinary, imagesNamed(60)...)
	artifacts := evaluated(&report)
	most := maxChunkSize + artifacts[0].size()
	for _, tree := range []Tree{new(Tree).Next(artifacts), NewChangeTree(Diff(artifacts, nil))} {
		for id, chunk := range tree.Chunks {
			if size := len(encode(chunk)); size > most {
				t.Errorf("chunk %s has %d bytes", id, size)
			}
		}
	}
}

func TestManyOrLargeChangesAreNotInline(t *testing.T) {
	few := artifactsNamed(MaxInlineChanges, "a")
	if !Inline(Diff(few, nil)) {
		t.Error("few small changes are not inline")
	}
	if Inline(Diff(artifactsNamed(MaxInlineChanges+1, "a"), nil)) {
		t.Error("many changes are inline")
	}
	large := pods(2_000, ordinary, "image")
	if Inline(Diff(evaluated(&large), nil)) {
		t.Error("an artifact of many pods that exited is inline")
	}
}
