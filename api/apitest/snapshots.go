package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// SnapshotBody has the members of a snapshot that tests read.
type SnapshotBody struct {
	Index                   int64            `json:"index"`
	IsLatest                bool             `json:"is_latest"`
	NextSnapshotTimestamp   *float64         `json:"next_snapshot_timestamp"`
	ArtifactComplianceCount map[string]int   `json:"artifact_compliance_count"`
	Timestamp               float64          `json:"timestamp"`
	Type                    string           `json:"type"`
	Compliant               *bool            `json:"compliant"`
	HTMLURL                 string           `json:"html_url"`
	Artifacts               []map[string]any `json:"artifacts"`
}

// GetSnapshot reads the snapshot that an expression names.
func (s *Service) GetSnapshot(environment, expression string) SnapshotBody {
	s.T.Helper()
	var body SnapshotBody
	s.Want(http.StatusOK, http.MethodGet, "/snapshots/"+s.Org+"/"+environment+"/"+expression, nil).Decode(s.T, &body)
	return body
}

// Annotation returns the type of the annotation of an artifact in a snapshot.
func Annotation(artifact map[string]any) string {
	return artifact["annotation"].(map[string]any)["type"].(string)
}

// Annotations returns the names of the artifacts by the type of their annotation.
func (b SnapshotBody) Annotations() map[string][]string {
	named := map[string][]string{}
	for _, artifact := range b.Artifacts {
		named[Annotation(artifact)] = append(named[Annotation(artifact)], artifact["name"].(string))
	}
	return named
}

// AssertKeys fails the test unless an object has just the given members.
func AssertKeys(t *testing.T, what string, object map[string]any, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(object)); !slices.Equal(got, want) {
		t.Errorf("%s has %v, want %v", what, got, want)
	}
}

// ReportServer reports the running files of a server environment and checks that this makes a snapshot.
func (s *Service) ReportServer(environment string, names ...string) {
	s.T.Helper()
	s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath()+"/"+environment+"/report/server", ServerReport(names...))
}

// ServerReport returns a server report with the named files.
func ServerReport(names ...string) []byte {
	type artifact struct {
		Digests           map[string]string `json:"digests"`
		CreationTimestamp int64             `json:"creationTimestamp"`
	}
	artifacts := []artifact{}
	for _, name := range names {
		artifacts = append(artifacts, artifact{
			Digests:           map[string]string{"/opt/" + name: evidence.HashAPIKey(name)},
			CreationTimestamp: 1_788_990_000,
		})
	}
	body, err := json.Marshal(map[string]any{"type": "server", "artifacts": artifacts})
	if err != nil {
		panic(err)
	}
	return body
}

// ListEvents lists the events that a query finds as "artifact type #snapshot", and checks that each has the fields that
// clients read.
func (s *Service) ListEvents(environment, query string) []string {
	s.T.Helper()
	listed := []string{}
	for _, event := range s.Read(s.EnvironmentsPath() + "/" + environment + "/events" + query).([]any) {
		ClientReads(s.T, "environment_event", event)
		listed = append(listed, fmt.Sprintf("%v %v #%v", strings.TrimPrefix(Lookup(s.T, event, "artifact_name").(string), "/opt/"),
			Lookup(s.T, event, "type"), Lookup(s.T, event, "snapshot_index")))
	}
	return listed
}

// WantEvents checks the events that a query finds, as listEvents shows them.
func (s *Service) WantEvents(environment, query string, want ...string) {
	s.T.Helper()
	if got := s.ListEvents(environment, query); !slices.Equal(got, want) {
		s.T.Errorf("%s%s: got %q, want %q", environment, query, got, want)
	}
}

// RunningNames returns the sorted names of the running artifacts.
func (b SnapshotBody) RunningNames() string {
	var names []string
	for _, artifact := range b.Artifacts {
		if Annotation(artifact) != "exited" {
			names = append(names, strings.TrimPrefix(artifact["name"].(string), "/opt/"))
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// NoonOf30March is the start of the clock in tests of provenance.
var NoonOf30March = time.Date(2026, time.March, 30, 12, 0, 0, 0, time.UTC)

// ReportFile reports a file of a server as an artifact of a flow, built from a commit of an hour ago.
func (s *Service) ReportFile(flow, name string) {
	s.T.Helper()
	commit := CommitOf(name)
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/"+flow, fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":%q,"git_commit":%q,"git_commit_info":{"sha1":%q,"message":"Change %s","author":"A. Person <person@example.com>","branch":"main",
		"timestamp":%d,"url":"https://github.com/acme/%s/commit/%s"},"repo_info":{"name":"acme/%s","url":"https://github.com/acme/%s","provider":"github"},
		"build_url":"https://ci.example.com/1","commit_url":"https://github.com/acme/%s/commit/%s","template_reference_name":"app","trail_name":"trail-of-%s"}`,
		evidence.HashAPIKey(name), name, commit, commit, name, s.Clock.Read().Add(-time.Hour).Unix(), flow, commit, flow, flow, flow, commit, name))
}

// Artifact returns the artifact of a file.
func (b SnapshotBody) Artifact(t *testing.T, file string) map[string]any {
	t.Helper()
	for _, artifact := range b.Artifacts {
		if artifact["fingerprint"] == evidence.HashAPIKey(file) {
			return artifact
		}
	}
	t.Fatalf("snapshot %d has no artifact %s", b.Index, file)
	return nil
}

// StartCounting starts a service whose storage commands are counted. Unless the clock is stopped, caches may expire on
// a slow machine. A worker adds commands to those of the requests.
func StartCounting(t *testing.T, o Options) (*Service, *storagetest.CountingDocuments) {
	t.Helper()
	var counting *storagetest.CountingDocuments
	o.Wrap = func(docs storage.Documents) storage.Documents {
		counting = storagetest.NewCountingDocuments(docs)
		return counting
	}
	return Start(t, o), counting
}

// FewestCommands returns the smallest number of commands of three requests: once a second a request also checks whether
// access rights have changed.
func FewestCommands(counting *storagetest.CountingDocuments, request func()) int {
	fewest := math.MaxInt
	for range 3 {
		counting.Reset()
		request()
		fewest = min(fewest, counting.Snapshot().Commands())
	}
	return fewest
}
