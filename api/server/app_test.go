package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/links"
)

// exempt reports whether a path is served outside of the route table.
func exempt(path string) bool {
	return slices.Contains([]string{"/", "/ready", "/openapi.json", documentPath, docsPath, links.Prefix + "/doc", links.Prefix + "/doc/"}, path) ||
		strings.HasPrefix(path, docsPath+"/")
}

// everyRoute returns the routes of the product and of the tests.
func everyRoute() []Route { return append(productRoutes(), testRoutes()...) }

func TestEveryRouteIsInTheTable(t *testing.T) {
	s := start(t, everyRoute())
	var known []string
	for _, route := range everyRoute() {
		known = append(known, route.Method+" "+links.Prefix+strings.NewReplacer("{", ":", "}", "").Replace(route.Path))
	}
	for _, route := range s.app.GetRoutes(true) {
		method := route.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		if !exempt(route.Path) && !slices.Contains(known, method+" "+route.Path) {
			t.Errorf("%s %s is in neither the table nor the list of exempt paths", route.Method, route.Path)
		}
	}
}

func TestEveryRouteEnforcesItsRole(t *testing.T) {
	s := start(t, everyRoute())
	for _, route := range everyRoute() {
		path := links.Prefix + example(route.Path)
		if route.Public {
			continue
		}
		s.send(t, route.Method, path, "", "").expect(t, 401, "An API key is required")
		s.send(t, route.Method, path, "stranger", "").expect(t, 401, evidence.InvalidKeyMessage)
		for role := evidence.Reader; role <= evidence.Admin; role++ {
			got := s.send(t, route.Method, path, role.String(), "")
			refused := got.status == 403 && strings.Contains(got.body, "You don't have permission")
			if want := !role.Allows(route.MinRole); refused != want {
				t.Errorf("%s as %v: %d %s, refused = %v, want %v", route.OperationID, role, got.status, got.body, refused, want)
			}
		}
		if route.ofOrganization() {
			s.send(t, route.Method, path, "outsider", "").expect(t, 403, "Access denied to "+path)
		}
	}
}

func TestOperationsWithoutAKeyTakeASignature(t *testing.T) {
	for _, route := range productRoutes() {
		if route.OperationID == "get_signing_key" {
			continue // anybody may verify signatures
		}
		if route.Public != route.Signed {
			t.Errorf("%s takes neither a key nor a signature", route.OperationID)
		}
	}
}

// example fills in the parameters of a path.
func example(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		switch {
		case segment == "{org}":
			segments[i] = "acme"
		case strings.HasPrefix(segment, "{"):
			segments[i] = "1"
		}
	}
	return strings.Join(segments, "/")
}

// faultOf returns what is wrong with a route, "" if nothing is.
func faultOf(r Route) string {
	switch {
	case r.Method == "" || r.OperationID == "" || r.Tag == "" || r.Summary == "" || r.Serve == nil:
		return "it is incomplete"
	case !strings.HasPrefix(r.Path, "/"):
		return "its path does not begin with a slash"
	case r.MembersOnly && !r.ofOrganization():
		return "it is for members of no organization"
	case r.RefuseTokens && !r.ofOrganization():
		return "it refuses tokens, which are good for no operation outside of an organization"
	case r.Beta && !r.ofOrganization():
		return "it is a beta feature of no organization"
	case r.Signed && !r.Public:
		return "it takes a signature and asks for a key"
	case r.Public && (r.MinRole != evidence.NoRole || r.UsersOnly):
		return "it is public and asks for a role"
	case !r.Public && r.ofOrganization() != (r.MinRole != evidence.NoRole):
		return "an organization in the path and a least role go together"
	}
	return ""
}

func TestRouteTableHasNoFaults(t *testing.T) {
	for _, route := range everyRoute() {
		if fault := faultOf(route); fault != "" {
			t.Errorf("%s: %s", route.OperationID, fault)
		}
	}
	s := start(t, everyRoute())
	for id, op := range s.documented {
		for _, p := range op.Parameters {
			if isList(p) && (p.Explode == nil || !*p.Explode) {
				t.Errorf("%s: list parameter %s lacks `,explode`", id, p.Name)
			}
		}
	}
	good := testRoutes()[0]
	if _, err := New(testDeps(t, &journal{}, newRegistry()), []Route{good, good}); err == nil {
		t.Error("the same operation twice was accepted")
	}
}

func TestUnknownPathsAndMethodsAreJSON(t *testing.T) {
	s := start(t, testRoutes())
	s.send(t, "GET", links.Prefix+"/nothing", "", "").expect(t, 404, pathUnknownMessage)
	s.send(t, "GET", "/nothing", "admin", "").expect(t, 404, pathUnknownMessage)
	s.send(t, "GET", links.Prefix+"/things/acme/x/", "admin", "").expect(t, 404, pathUnknownMessage)
	got := s.send(t, "DELETE", links.Prefix+"/things/acme/x", "admin", "")
	got.expect(t, 405, "Method Not Allowed")
	s.send(t, "BREW", "/ready", "", "").expect(t, 501, "The request method is unknown")
	if allow := got.header.Get("Allow"); allow != "GET, HEAD" {
		t.Errorf("Allow = %q", allow)
	}
}

func TestStaticSegmentsComeBeforeParameters(t *testing.T) {
	s := start(t, testRoutes())
	if got := s.send(t, "GET", links.Prefix+"/things/acme/search", "reader", ""); !strings.Contains(got.body, `"per_page":15`) {
		t.Errorf("search answered %s", got.body)
	}
}

func TestPathValuesAreUnescapedOnce(t *testing.T) {
	s := start(t, testRoutes())
	for _, name := range []string{"a b", "%23", "#5", "x/y", "é", "a+b", "{1}", "a.b-c_d~e:f"} {
		got := s.send(t, "GET", links.Prefix+"/things/acme/"+url.PathEscape(name), "reader", "")
		if want := `"` + name + `"`; got.status != 200 || got.body != want {
			t.Errorf("%q came back as %d %s", name, got.status, got.body)
		}
	}
}

func TestHeadAnswersTheHeadersOfGet(t *testing.T) {
	s := start(t, testRoutes(), func(d *Deps) { d.Checks = nil })
	for _, path := range []string{links.Prefix + "/things/acme/x", links.Prefix + "/things/acme/search", "/ready", links.Prefix + "/openapi.json", links.Prefix + "/docs"} {
		get, head := s.send(t, "GET", path, "reader", "", "Accept-Encoding", "gzip"), s.send(t, "HEAD", path, "reader", "", "Accept-Encoding", "gzip")
		if head.status != get.status || head.body != "" {
			t.Errorf("HEAD %s = %d %q, GET %d", path, head.status, head.body, get.status)
		}
		for _, name := range []string{"Content-Type", "Content-Length"} {
			if head.header.Get(name) != get.header.Get(name) || get.header.Get(name) == "" {
				t.Errorf("%s of HEAD %s = %q, of GET %q", name, path, head.header.Get(name), get.header.Get(name))
			}
		}
	}
}

func TestAnswersHaveNoNewlineAtTheEnd(t *testing.T) {
	s := start(t, testRoutes())
	if got := s.send(t, "POST", links.Prefix+"/hooks/1", "", "null"); got.body != `"OK"` {
		t.Errorf("body = %q", got.body)
	}
}

func TestBodiesOfOperationsWithoutOneAreIgnored(t *testing.T) {
	s := start(t, testRoutes())
	for _, body := range []string{"", "null", "{", strings.Repeat("x", 5000)} {
		if got := s.send(t, "PUT", links.Prefix+"/things/acme/x/archive", "admin", body); got.status != 200 {
			t.Errorf("body %.10q: %d %s", body, got.status, got.body)
		}
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	s, err := New(testDeps(t, &journal{}, newRegistry()), nil)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// Serve must return even if its context has ended before it starts.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Serve(ctx, listener); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestNewAcceptsTheProductsRoutes(t *testing.T) {
	if _, err := New(testDeps(t, &journal{}, newRegistry()), productRoutes()); err != nil {
		t.Error(err)
	}
}
