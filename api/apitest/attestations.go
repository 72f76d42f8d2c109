package apitest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"attestry/evidence"
)

const (
	AttestedFingerprint = "7509e5bda0c762d2bac7f90d758b5b2263fa01ccbc542ab5e3df163be08e6ca9"
	FirstCommit         = "1111111111111111111111111111111111111111"
	SecondCommit        = "2222222222222222222222222222222222222222"
)

// TrailPath returns the path of the attestations of a trail of the flow build.
func (s *Service) TrailPath(trail string) string {
	return "/attestations/" + s.Org + "/build/trail/" + trail
}

// PostAttestation sends an attestation to a trail of the flow build.
func (s *Service) PostAttestation(status int, trail, kind, data string, files ...Part) Answer {
	s.T.Helper()
	return s.WantForm(status, http.MethodPost, s.TrailPath(trail)+"/"+kind, data, files...)
}

// AttestGeneric sends a generic attestation to a trail of the flow build. more are further members, each after a comma.
func (s *Service) AttestGeneric(trail, name string, compliant bool, more string) {
	s.T.Helper()
	s.PostAttestation(http.StatusCreated, trail, "generic", fmt.Sprintf(`{"attestation_name":%q,"is_compliant":%t%s}`, name, compliant, more))
}

// ListAttestations reads a list of attestations without pages.
func (s *Service) ListAttestations(path string) []any {
	s.T.Helper()
	list, ok := s.Read(path).([]any)
	if !ok {
		s.T.Fatalf("%s: no list", path)
	}
	for _, one := range list {
		ClientReads(s.T, "attestation", one)
	}
	return list
}

// OnlyAttestation reads the only attestation of a name in a trail of the flow build.
func (s *Service) OnlyAttestation(trail, name string) any {
	s.T.Helper()
	list := s.ListAttestations(s.TrailPath(trail) + "/" + name)
	if len(list) != 1 {
		s.T.Fatalf("%s: %d attestations, want 1", name, len(list))
	}
	return list[0]
}

// ReportArtifact reports an artifact to a trail.
func (s *Service) ReportArtifact(flow, trail, name, fingerprint, commit string) {
	s.T.Helper()
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/"+flow, fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"app.jar","git_commit":%q,"build_url":"https://ci.example.com/1","commit_url":"https://git.example.com/1",
		"template_reference_name":%q,"trail_name":%q}`, fingerprint, commit, name, trail))
}

// DigestOf returns the SHA-256 of a text.
func DigestOf(content string) string {
	return evidence.SHA256([]byte(content))
}

// TypesPath returns the path of the custom attestation types.
func (s *Service) TypesPath() string { return "/custom-attestation-types/" + s.Org }

// AttestationTypeBody has the members of a custom attestation type.
type AttestationTypeBody struct {
	Name           string   `json:"name"`
	Description    *string  `json:"description"`
	Org            string   `json:"org"`
	Archived       bool     `json:"archived"`
	CreatedBy      *string  `json:"created_by"`
	CreatedAt      *float64 `json:"created_at"`
	LastModifiedAt *float64 `json:"last_modified_at"`
	Versions       []struct {
		Version    int             `json:"version"`
		Timestamp  float64         `json:"timestamp"`
		CreatedBy  string          `json:"created_by"`
		TypeSchema json.RawMessage `json:"type_schema"`
		Evaluator  json.RawMessage `json:"evaluator"`
		Summary    json.RawMessage `json:"summary"`
	} `json:"versions"`
}

// SchemaFile returns the file of a form with the JSON Schema of a custom attestation type.
func SchemaFile(content string) Part {
	return Part{Field: "type_schema", Filename: "schema.json", ContentType: "application/octet-stream", Content: []byte(content)}
}

// CreateAttestationType creates a custom attestation type.
func (s *Service) CreateAttestationType(data string, files ...Part) {
	s.T.Helper()
	if got := s.WantForm(http.StatusCreated, http.MethodPost, s.TypesPath(), data, files...).Text(s.T); got != "OK" {
		s.T.Errorf("answered %q", got)
	}
}

// GetAttestationType reads a custom attestation type, by its name and the rest of the path.
func (s *Service) GetAttestationType(rest string) AttestationTypeBody {
	s.T.Helper()
	var body AttestationTypeBody
	s.Want(http.StatusOK, http.MethodGet, s.TypesPath()+"/"+rest, nil).Decode(s.T, &body)
	return body
}

// AttestCustom sends an attestation of a custom type.
func (s *Service) AttestCustom(status int, kind, data string) Answer {
	s.T.Helper()
	return s.WantForm(status, http.MethodPost, "/attestations/"+s.Org+"/flow/trail/trail/custom",
		fmt.Sprintf(`{"attestation_name":"custom","type_name":%q,"attestation_data":%s}`, kind, data))
}

// EvidencePath returns the path of the evidence of the only attestation with a name.
func (s *Service) EvidencePath(trail, name string) string {
	s.T.Helper()
	links := Lookup(s.T, s.OnlyAttestation(trail, name), "_links", "evidence", "href")
	address, ok := links.(string)
	if !ok {
		s.T.Fatalf("%s has no evidence", name)
	}
	return strings.TrimPrefix(address, s.URL+"/api/v2")
}

// GenericData is the data of a generic attestation.
const GenericData = `{"attestation_name":"check","is_compliant":true}`

// Pull is a pull request.
type Pull struct {
	Author    string
	Merge     bool // the trail has its merge commit
	Commits   []string
	Approvals []string
}

// TrailCommit is the commit of the trails.
const TrailCommit = "1111111111111111111111111111111111111111"

// JSON encodes the pull request as clients send it.
func (p Pull) JSON() string {
	var commits, approvers []string
	for i, one := range p.Commits {
		var author string
		var at int
		fmt.Sscan(one, &author, &at)
		by, username := author+" <"+author+"@example.com>", `"`+author+`"`
		switch author {
		case "-":
			by, username = "Somebody <somebody@example.com>", "null"
		case "web":
			by, username = "GitHub <noreply@github.com>", `"web-flow"`
		}
		commits = append(commits, fmt.Sprintf(`{"sha1":"%040d","message":"m","author":%q,"author_username":%s,"branch":"b","timestamp":%d}`, i, by, username, at))
	}
	for _, one := range p.Approvals {
		var name, state string
		var at int
		fmt.Sscan(one, &name, &state, &at)
		approvers = append(approvers, fmt.Sprintf(`{"username":%q,"state":%q,"timestamp":%d}`, strings.Trim(name, "-"), state, at))
	}
	merge := "2222222222222222222222222222222222222222"
	if p.Merge {
		merge = TrailCommit
	}
	return fmt.Sprintf(`{"url":"https://git.example.com/pull/1","state":"MERGED","author":%q,"title":"t","created_at":1,"head_ref":"h","merge_commit":%q,"commits":[%s],"approvers":[%s]}`,
		p.Author, merge, strings.Join(commits, ","), strings.Join(approvers, ","))
}

// PullRequests attests pull requests in a trail.
func (s *Service) PullRequests(trail string, pulls ...Pull) { s.PullRequestsOf(trail, "", pulls...) }

// PullRequestsOf attests pull requests in a trail for an artifact by its name in the template, "" for the trail.
func (s *Service) PullRequestsOf(trail, artifact string, pulls ...Pull) {
	s.T.Helper()
	target := ""
	if artifact != "" {
		target = fmt.Sprintf(`"target_artifacts":[%q],`, artifact)
	}
	var all []string
	for _, one := range pulls {
		all = append(all, one.JSON())
	}
	s.WantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.Org+"/build/trail/"+trail+"/pull_request",
		`{`+target+`"attestation_name":"pr","git_provider":"github","pull_requests":[`+strings.Join(all, ",")+`]}`)
}

// AlterPackage returns the archive of a package with the content of each member replaced by the result of alter.
func AlterPackage(t *testing.T, content []byte, alter func(name string, content []byte) []byte) io.Reader {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var altered bytes.Buffer
	from, to := tar.NewReader(compressed), tar.NewWriter(&altered)
	for {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			return &altered
		}
		if err != nil {
			t.Fatal(err)
		}
		member, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		member = alter(header.Name, member)
		header.Size = int64(len(member))
		if err := errors.Join(to.WriteHeader(header), writeAll(to, member)); err != nil {
			t.Fatal(err)
		}
	}
}

func writeAll(to io.Writer, content []byte) error {
	_, err := to.Write(content)
	return err
}
