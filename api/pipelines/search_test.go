package pipelines_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/storage"
)

func TestSearchFindsArtifactsByFingerprintAndCommit(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	one, two := apitest.PadHex("abcde1", 64), apitest.PadHex("abcde2", 64)
	commit, other := apitest.PadHex("abcdec", 40), apitest.PadHex("c1", 40)
	s.ReportArtifact("build", "t1", "app", one, commit)
	s.ReportArtifact("release", "t2", "app", one, other)
	s.ReportArtifact("build", "t3", "web", two, other)
	s.ReportArtifact("build", "t4", "web", two, other)
	s.AttestGeneric("t4", "scan", false, `,"artifact_fingerprint":"`+two+`"`)
	apitest.Each(s, map[string]struct{ trails, resolved string }{
		one:      {"t2 t1", "fingerprint " + one + " [" + one + "] []"},
		one[:6]:  {"t2 t1", "fingerprint " + one + " [" + one + "] []"},
		"ABCDE1": {"t2 t1", "fingerprint " + one + " [" + one + "] []"},
		commit:   {"t1", "commit " + commit + " [] [" + commit + "]"},
		other:    {"t4 t2", "commit " + other + " [] [" + other + "]"},
		"abcde":  {"t4 t2 t1", "mixed <nil> [" + one + " " + two + "] [" + commit + "]"},
	}, func(s *apitest.Service, value string, want struct{ trails, resolved string }) {
		artifacts, resolved := s.Search(value)
		if got := apitest.Column(s.T, artifacts, "trail"); got != want.trails || resolved != want.resolved {
			s.T.Errorf("%s in %s; want %s in %s", resolved, got, want.resolved, want.trails)
		}
	})
	artifacts, _ := s.Search(two)
	found := apitest.Lookup(t, artifacts, 0)
	apitest.WantMembers(t, found, map[string]any{
		"fingerprint": two, "name": "app.jar", "has_provenance": true, "git_commit": other, "flow": "build", "pipeline": "build",
		"template_reference_name": "web", "build_url": "https://ci.example.com/1", "compliance_state": "NON-COMPLIANT",
		"api_url": s.URL + "/api/v2/artifacts/" + s.Org + "/build/fingerprint/" + two,
	})
	apitest.Equal(t, apitest.History(t, found), "web reported scan evidence received", "history")
}

func TestSearchFindsRunningArtifactsWithoutProvenance(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	known, unknown := evidence.HashAPIKey("web"), evidence.HashAPIKey("intruder")
	s.ReportArtifact("build", "t", "app", known, apitest.FirstCommit)
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportServer("prod", "web", "intruder")
	var found any
	// A worker records running artifacts after the report is answered.
	apitest.Eventually(t, "the running artifact is found", func() bool {
		return s.Do(http.MethodGet, "/api/v2/search/"+s.Org+"/sha/"+unknown[:10], apitest.AdminKey, nil).Status == http.StatusOK
	})
	artifacts, resolved := s.Search(unknown[:10])
	found = apitest.Lookup(t, artifacts, 0)
	if resolved != "fingerprint "+unknown+" ["+unknown+"] []" || len(artifacts.([]any)) != 1 {
		t.Errorf("resolved to %s: %s", resolved, apitest.AsJSON(artifacts))
	}
	apitest.WantMembers(t, found, map[string]any{
		"fingerprint": unknown, "name": "/opt/intruder", "has_provenance": false, "git_commit": evidence.NoCommit, "flow": "", "compliance_state": "",
		"html_url": s.URL + "/" + s.Org + "/environments/prod/snapshots/1", "api_url": s.URL + "/api/v2/snapshots/" + s.Org + "/prod/1",
	})
	apitest.Equal(t, fmt.Sprint(apitest.Lookup(t, found, "running_in")), "[prod]")
	apitest.Equal(t, apitest.History(t, found), "Started running in prod#1 environment")
	artifacts, _ = s.Search(known)
	if fmt.Sprint(apitest.Lookup(t, artifacts, 0, "running_in")) != "[prod]" || apitest.Lookup(t, artifacts, 0, "has_provenance") != true || len(artifacts.([]any)) != 1 {
		t.Errorf("got %s", apitest.AsJSON(artifacts))
	}
	apitest.WantAnswer(t, s.Do(http.MethodGet, "/api/v2/search/"+s.Public+"/sha/"+unknown, apitest.AdminKey, nil),
		http.StatusNotFound)
}

func TestSearchLinksArtifactsWithoutProvenanceToNoArchivedEnvironment(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	unknown := evidence.HashAPIKey("intruder")
	wantLinks := func(html, api string) {
		t.Helper()
		artifacts, _ := s.Search(unknown)
		if found := apitest.Lookup(t, artifacts, 0); apitest.Lookup(t, found, "html_url") != html || apitest.Lookup(t, found, "api_url") != api || apitest.Lookup(t, found, "name") != "/opt/intruder" {
			t.Errorf("got %s", apitest.AsJSON(found))
		}
	}
	s.CreateEnvironment("prod", evidence.Server)
	s.CreateEnvironment("test", evidence.Server)
	s.ReportServer("prod", "intruder")
	s.ReportServer("test", "intruder")
	apitest.Eventually(t, "the artifact is found in both environments", func() bool {
		got := s.Do(http.MethodGet, "/api/v2/search/"+s.Org+"/sha/"+unknown, apitest.AdminKey, nil)
		return got.Status == http.StatusOK && fmt.Sprint(apitest.Lookup(t, got.Value(t), "artifacts", 0, "running_in")) == "[prod test]"
	})
	s.ArchiveEnvironment("test")
	wantLinks(s.URL+"/"+s.Org+"/environments/prod/snapshots/1", s.URL+"/api/v2/snapshots/"+s.Org+"/prod/1")
	s.ArchiveEnvironment("prod")
	wantLinks("", "")
}

func TestBadSearchesAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for i := range 51 {
		s.ReportArtifact("build", "t", "app", apitest.PadHex(fmt.Sprintf("abcde%02x", i), 64), apitest.FirstCommit)
	}
	for name, value := range map[string]string{"five digits": "fffff", "commit": apitest.PadHex("f", 40), "fingerprint": apitest.PadHex("f", 64)} {
		t.Run("unknown "+name, func(t *testing.T) {
			s := s.In(t)
			apitest.WantMessage(t, s.Want(http.StatusNotFound, http.MethodGet, "/search/"+s.Org+"/sha/"+value, nil), "No matches for '"+value+"'.")
		})
	}
	apitest.WantMessage(t, s.Want(http.StatusNotFound, http.MethodGet, "/search/"+s.Org+"/sha/abcde", nil),
		"Search results are too ambiguous. Please give more digits.")
	s.Want(http.StatusBadRequest, http.MethodGet, "/artifacts/"+s.Org+"/build/fingerprint/abcde", nil)
	if artifacts, _ := s.Search("abcde1"); len(artifacts.([]any)) != 16 {
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
