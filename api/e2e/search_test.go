package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"attestry/evidence"
	"attestry/storage"
)

// search returns the artifacts that a search finds and, as one line, what it resolves to.
func (s *service) search(value string) (artifacts any, resolved string) {
	s.t.Helper()
	found := s.read("/search/" + s.org + "/sha/" + value)
	clientReads(s.t, "search", found)
	clientReads(s.t, "search.resolved_to", lookup(s.t, found, "resolved_to"))
	clientReadsEach(s.t, "search.artifact", lookup(s.t, found, "artifacts"))
	to := lookup(s.t, found, "resolved_to")
	for _, kind := range []string{"fingerprints", "commits"} {
		clientReads(s.t, "search.matches", lookup(s.t, to, kind))
		if count := lookup(s.t, to, kind, "count"); count != float64(len(lookup(s.t, to, kind, "matches").([]any))) {
			s.t.Errorf("%s: %v %s", value, count, kind)
		}
	}
	return lookup(s.t, found, "artifacts"), fmt.Sprint(lookup(s.t, to, "type"), " ", lookup(s.t, to, "full_match"), " ",
		lookup(s.t, to, "fingerprints", "matches"), " ", lookup(s.t, to, "commits", "matches"))
}

func TestSearchFindsArtifactsByFingerprintAndCommit(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	one, two := padHex("abcde1", 64), padHex("abcde2", 64)
	commit, other := padHex("abcdec", 40), padHex("c1", 40)
	s.reportArtifact("build", "t1", "app", one, commit)
	s.reportArtifact("release", "t2", "app", one, other)
	s.reportArtifact("build", "t3", "web", two, other)
	s.reportArtifact("build", "t4", "web", two, other)
	s.attestGeneric("t4", "scan", false, `,"artifact_fingerprint":"`+two+`"`)
	for value, want := range map[string]struct{ trails, resolved string }{
		one:      {"t2 t1", "fingerprint " + one + " [" + one + "] []"},
		one[:6]:  {"t2 t1", "fingerprint " + one + " [" + one + "] []"},
		"ABCDE1": {"t2 t1", "fingerprint " + one + " [" + one + "] []"},
		commit:   {"t1", "commit " + commit + " [] [" + commit + "]"},
		other:    {"t4 t2", "commit " + other + " [] [" + other + "]"},
		"abcde":  {"t4 t2 t1", "mixed <nil> [" + one + " " + two + "] [" + commit + "]"},
	} {
		t.Run(s.caseName(value), func(t *testing.T) {
			s := s.in(t)
			artifacts, resolved := s.search(value)
			if got := column(t, artifacts, "trail"); got != want.trails || resolved != want.resolved {
				t.Errorf("%s in %s; want %s in %s", resolved, got, want.resolved, want.trails)
			}
		})
	}
	artifacts, _ := s.search(two)
	found := lookup(t, artifacts, 0)
	for member, want := range map[string]any{
		"fingerprint": two, "name": "app.jar", "has_provenance": true, "git_commit": other, "flow": "build", "pipeline": "build",
		"template_reference_name": "web", "build_url": "https://ci.example.com/1", "compliance_state": "NON-COMPLIANT",
		"api_url": s.URL + "/api/v2/artifacts/" + s.org + "/build/fingerprint/" + two,
	} {
		if lookup(t, found, member) != want {
			t.Errorf("%s is %v, want %v", member, lookup(t, found, member), want)
		}
	}
	if happened := history(t, found); happened != "web reported scan evidence received" {
		t.Errorf("history %q", happened)
	}
}

func TestSearchFindsRunningArtifactsWithoutProvenance(t *testing.T) {
	t.Parallel()
	s := share(t)
	known, unknown := evidence.HashAPIKey("web"), evidence.HashAPIKey("intruder")
	s.reportArtifact("build", "t", "app", known, firstCommit)
	s.createEnvironment("prod", evidence.Server)
	s.reportServer("prod", "web", "intruder")
	var found any
	// A worker records running artifacts after the report is answered.
	eventually(t, "the running artifact is found", func() bool {
		return s.do(http.MethodGet, "/api/v2/search/"+s.org+"/sha/"+unknown[:10], adminKey, nil).status == http.StatusOK
	})
	artifacts, resolved := s.search(unknown[:10])
	found = lookup(t, artifacts, 0)
	if resolved != "fingerprint "+unknown+" ["+unknown+"] []" || len(artifacts.([]any)) != 1 {
		t.Errorf("resolved to %s: %s", resolved, asJSON(artifacts))
	}
	for member, want := range map[string]any{
		"fingerprint": unknown, "name": "/opt/intruder", "has_provenance": false, "git_commit": evidence.NoCommit, "flow": "", "compliance_state": "",
		"html_url": s.URL + "/" + s.org + "/environments/prod/snapshots/1", "api_url": s.URL + "/api/v2/snapshots/" + s.org + "/prod/1",
	} {
		if lookup(t, found, member) != want {
			t.Errorf("%s is %v, want %v", member, lookup(t, found, member), want)
		}
	}
	if fmt.Sprint(lookup(t, found, "running_in")) != "[prod]" || history(t, found) != "Started running in prod#1 environment" {
		t.Errorf("got %s", asJSON(found))
	}
	artifacts, _ = s.search(known)
	if fmt.Sprint(lookup(t, artifacts, 0, "running_in")) != "[prod]" || lookup(t, artifacts, 0, "has_provenance") != true || len(artifacts.([]any)) != 1 {
		t.Errorf("got %s", asJSON(artifacts))
	}
	if got := s.do(http.MethodGet, "/api/v2/search/"+s.public+"/sha/"+unknown, adminKey, nil); got.status != http.StatusNotFound {
		t.Errorf("another organization finds %s", got.body)
	}
}

func TestSearchLinksArtifactsWithoutProvenanceToNoArchivedEnvironment(t *testing.T) {
	t.Parallel()
	s := share(t)
	unknown := evidence.HashAPIKey("intruder")
	wantLinks := func(html, api string) {
		t.Helper()
		artifacts, _ := s.search(unknown)
		if found := lookup(t, artifacts, 0); lookup(t, found, "html_url") != html || lookup(t, found, "api_url") != api || lookup(t, found, "name") != "/opt/intruder" {
			t.Errorf("got %s", asJSON(found))
		}
	}
	s.createEnvironment("prod", evidence.Server)
	s.createEnvironment("test", evidence.Server)
	s.reportServer("prod", "intruder")
	s.reportServer("test", "intruder")
	eventually(t, "the artifact is found in both environments", func() bool {
		got := s.do(http.MethodGet, "/api/v2/search/"+s.org+"/sha/"+unknown, adminKey, nil)
		return got.status == http.StatusOK && fmt.Sprint(lookup(t, got.value(t), "artifacts", 0, "running_in")) == "[prod test]"
	})
	s.archiveEnvironment("test")
	wantLinks(s.URL+"/"+s.org+"/environments/prod/snapshots/1", s.URL+"/api/v2/snapshots/"+s.org+"/prod/1")
	s.archiveEnvironment("prod")
	wantLinks("", "")
}

func TestBadSearchesAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	for i := range 51 {
		s.reportArtifact("build", "t", "app", padHex(fmt.Sprintf("abcde%02x", i), 64), firstCommit)
	}
	for name, value := range map[string]string{"five digits": "fffff", "commit": padHex("f", 40), "fingerprint": padHex("f", 64)} {
		t.Run("unknown "+name, func(t *testing.T) {
			s := s.in(t)
			wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, "/search/"+s.org+"/sha/"+value, nil), "No matches for '"+value+"'.")
		})
	}
	wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, "/search/"+s.org+"/sha/abcde", nil),
		"Search results are too ambiguous. Please give more digits.")
	s.want(http.StatusBadRequest, http.MethodGet, "/artifacts/"+s.org+"/build/fingerprint/abcde", nil)
	if artifacts, _ := s.search("abcde1"); len(artifacts.([]any)) != 16 {
		t.Errorf("%d found", len(artifacts.([]any)))
	}
}

// commandCounter records which collections of evidence a service reads.
type commandCounter struct {
	storage.Documents
	mu    sync.Mutex
	reads []string
}

func (c *commandCounter) wrap(docs storage.Documents) storage.Documents {
	c.Documents = docs
	return c
}

// take returns the reads since the last call.
func (c *commandCounter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	reads := c.reads
	c.reads = nil
	return reads
}

func (c *commandCounter) note(command string, schema *storage.Schema) {
	if !slices.Contains([]string{"artifacts", "trails", "slots", "templates", "flows", "repos", "names", "attestations"}, schema.Name) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads = append(c.reads, command+" "+schema.Name)
}

func (c *commandCounter) Get(ctx context.Context, schema *storage.Schema, id string) (storage.Record, error) {
	c.note("get", schema)
	return c.Documents.Get(ctx, schema, id)
}

func (c *commandCounter) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	c.note("get many", schema)
	return c.Documents.GetMany(ctx, schema, ids)
}

func (c *commandCounter) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (storage.Page, error) {
	c.note("find", schema)
	return c.Documents.Find(ctx, schema, query)
}
