package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"attestry/api/access"
	"attestry/api/validation/validationtest"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/tenancy"
	"attestry/storage/tenancy/tenancytest"
)

// newIdentities has a user for each role in acme, and an outsider without a role. The key of a user is its name. The
// database times out for the key "slow" and fails for "broken".
func newIdentities(t *testing.T) *tenancy.Tenancy {
	t.Helper()
	declared := identity.Bootstrap{Organizations: []identity.DeclaredOrganization{{Name: "acme", Members: map[string]evidence.Role{}}}}
	for _, name := range []string{"reader", "snapshotter", "member", "admin", "outsider"} {
		declared.Users = append(declared.Users, tenancytest.User(name, evidence.Secret(name)))
		if role, err := evidence.ParseRole(name); err == nil {
			declared.Organizations[0].Members[name] = role
		}
	}
	return tenancytest.Open(t, declared, func(docs storage.Documents) storage.Documents { return failingDocuments{docs} })
}

type failingDocuments struct{ storage.Documents }

func (d failingDocuments) Get(ctx context.Context, schema *storage.Schema, id string) (storage.Record, error) {
	switch id {
	case evidence.HashAPIKey("slow"):
		return storage.Record{}, context.DeadlineExceeded
	case evidence.HashAPIKey("broken"):
		return storage.Record{}, errors.New("dial tcp 10.1.2.3:27017: password=hunter2")
	}
	return d.Documents.Get(ctx, schema, id)
}

// journal is the log of a test server.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// testServer is a server under test on a loopback port.
type testServer struct {
	*Server
	url      string
	journal  *journal
	registry *prometheus.Registry
}

func testDeps(t *testing.T, j *journal, registry *prometheus.Registry) Deps {
	return Deps{
		BaseURL:    "https://attestry.example.com",
		Clock:      time.Now,
		Logger:     slog.New(slog.NewJSONHandler(j, nil)),
		Registerer: registry,
		Gate:       &access.Gate{Identities: newIdentities(t)},
	}
}

// start runs a server with the given operations until the test ends.
func start(t *testing.T, table []Route, change ...func(*Deps)) *testServer {
	t.Helper()
	r := &testServer{journal: &journal{}, registry: prometheus.NewRegistry()}
	deps := testDeps(t, r.journal, r.registry)
	for _, change := range change {
		change(&deps)
	}
	var err error
	r.Server, err = New(deps, table)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.url = "http://" + listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		http.DefaultClient.CloseIdleConnections()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return r
}

// answer is a response whose body has been read.
type answer struct {
	status int
	header http.Header
	body   string
}

func (r *testServer) send(t *testing.T, method, path, key, body string, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return r.exchange(t, request)
}

func (r *testServer) exchange(t *testing.T, request *http.Request) answer {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(content)}
}

// decoded decodes an error body.
func (a answer) decoded(t *testing.T) problem {
	t.Helper()
	var body problem
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		t.Fatalf("%d %q is no error body: %v", a.status, a.body, err)
	}
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type of an error = %q", got)
	}
	return body
}

func (a answer) expect(t *testing.T, status int, message string) {
	t.Helper()
	if got := a.decoded(t).Message; a.status != status || got != message {
		t.Errorf("got %d %q, want %d %q", a.status, got, status, message)
	}
}

// dial opens a connection for requests that a test writes by itself.
func (r *testServer) dial(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, bufio.NewReader(conn)
}

// The operations with which the tests call the server.

type orgInput struct {
	Org string `path:"org"`
}

type thingInput struct {
	Org  string `path:"org"`
	Name string `path:"name"`
}

type textOutput struct {
	Status int
	Body   string
}

type searchInput struct {
	Org     string   `path:"org"`
	Page    int      `query:"page" minimum:"1" default:"1"`
	PerPage int      `query:"per_page" minimum:"1" maximum:"50" default:"15"`
	Reverse bool     `query:"reverse"`
	Since   float64  `query:"since"`
	Sort    string   `query:"sort" enum:"name,last_modified_at" default:"name"`
	Name    string   `query:"name"`
	Flow    string   `query:"flow" pattern:"^[a-z]+$"`
	Types   []string `query:"type,explode" enum:"K8S,server"`
	Numbers []int    `query:"number,explode"`
}

type searchOutput struct {
	Body struct {
		Page      int      `json:"page"`
		PerPage   int      `json:"per_page"`
		Reverse   bool     `json:"reverse"`
		Since     float64  `json:"since"`
		Sort      string   `json:"sort"`
		Name      string   `json:"name"`
		NameGiven bool     `json:"name_given"`
		Flow      string   `json:"flow"`
		Types     []string `json:"types"`
		Numbers   []int    `json:"numbers"`
	}
}

func search(ctx context.Context, in *searchInput) (*searchOutput, error) {
	out := &searchOutput{}
	out.Body.Page, out.Body.PerPage, out.Body.Reverse, out.Body.Since = in.Page, in.PerPage, in.Reverse, in.Since
	out.Body.Sort, out.Body.Name, out.Body.NameGiven = in.Sort, in.Name, QueryHas(ctx, "name")
	out.Body.Flow, out.Body.Types, out.Body.Numbers = in.Flow, in.Types, in.Numbers
	return out, nil
}

// Thing is the body of a test operation.
type Thing struct {
	Name    string            `json:"name" pattern:"^[a-z]+$"`
	Count   int               `json:"count,omitempty" minimum:"0"`
	Ratio   float64           `json:"ratio,omitempty"`
	On      *bool             `json:"on,omitempty" nullable:"true"`
	Kind    string            `json:"kind,omitempty" enum:"a,b,c"`
	Home    string            `json:"home,omitempty" format:"uri"`
	Label   string            `json:"label,omitempty" minLength:"2" maxLength:"3"`
	Parts   []Part            `json:"parts,omitempty" maxItems:"3"`
	Names   map[string]string `json:"names,omitempty"`
	Comment *string           `json:"comment,omitempty" nullable:"true"`
	Data    any               `json:"data,omitempty"`
}

// Part is a part of a Thing.
type Part struct {
	ID int64 `json:"id"`
}

type thingOutput struct {
	Status int
	Body   *Thing
}

func putThing(_ context.Context, in *orgInput, thing *Thing) (*thingOutput, error) {
	return &thingOutput{Status: http.StatusCreated, Body: thing}, nil
}

func greet(_ context.Context, in *thingInput) (*textOutput, error) {
	return &textOutput{Status: http.StatusOK, Body: in.Name}, nil
}

func failing(_ context.Context, in *thingInput) (*textOutput, error) {
	switch in.Name {
	case "panic":
		panic("hunter2")
	case "internal":
		return nil, errors.New("secret detail")
	case "deadline":
		return nil, context.DeadlineExceeded
	case "conflict":
		return nil, evidence.NewError(evidence.Conflict, "taken")
	case "slower":
		return nil, &evidence.Error{Code: evidence.Unavailable, Message: "slower", RetryAfter: 1500 * time.Millisecond}
	default:
		return nil, &evidence.Error{Code: evidence.Unavailable, Message: "later"}
	}
}

func testRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/things/{org}/{name}", OperationID: "get_thing", Tag: "Things", Summary: "Get a thing",
			Rule: access.Rule{MinRole: evidence.Reader}, Serve: Handle(greet)},
		{Method: "GET", Path: "/things/{org}/search", OperationID: "search_things", Tag: "Things", Summary: "Search things",
			Rule: access.Rule{MinRole: evidence.Reader}, Serve: Handle(search)},
		{Method: "PUT", Path: "/things/{org}", OperationID: "put_thing", Tag: "Things", Summary: "Put a thing",
			Rule: access.Rule{MinRole: evidence.Member}, Statuses: []int{201, 200}, BasicToo: true, Serve: WithBody(putThing)},
		{Method: "PUT", Path: "/things/{org}/{name}/archive", OperationID: "archive_thing", Tag: "Things", Summary: "Archive a thing",
			Rule: access.Rule{MinRole: evidence.Admin}, Deprecated: true, Serve: Handle(greet)},
		{Method: "PUT", Path: "/things/{org}/{name}/report", OperationID: "report_thing", Tag: "Things", Summary: "Report a thing",
			Rule: access.Rule{MinRole: evidence.Snapshotter}, BodyLimit: ReportLimit, Serve: WithBody(reportThing)},
		{Method: "POST", Path: "/things/{org}/{name}/fail", OperationID: "fail_thing", Tag: "Things", Summary: "Fail",
			Rule: access.Rule{MinRole: evidence.Reader}, Serve: Handle(failing)},
		{Method: "GET", Path: "/mine", OperationID: "get_mine", Tag: "Mine", Summary: "Who am I",
			Serve: Handle(func(ctx context.Context, _ *struct{}) (*textOutput, error) {
				return &textOutput{Status: 200, Body: Principal(ctx).Name}, nil
			})},
		{Method: "POST", Path: "/hooks/{uid}", OperationID: "hook", Tag: "Hooks", Summary: "A hook",
			Public: true, Serve: Handle(func(context.Context, *struct {
				UID string `path:"uid"`
			}) (*textOutput, error) {
				return &textOutput{Status: 200, Body: "OK"}, nil
			})},
	}
}

func reportThing(_ context.Context, _ *thingInput, report *validationtest.Report) (*textOutput, error) {
	return &textOutput{Status: 200, Body: "OK"}, nil
}

func newRegistry() *prometheus.Registry { return prometheus.NewRegistry() }
