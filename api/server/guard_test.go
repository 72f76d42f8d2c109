package server

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"attestry/api/framing"
	"attestry/links"
)

const smuggled = "GET /ready HTTP/1.1\r\nHost: x\r\nX-Request-ID: smuggled\r\n\r\n"

// TestNoBodyIsReadAsTheNextRequest sends a body that contains a request, and then a second request, to every route and
// for every kind of refusal. With -short, each body goes to each route in one form only, and the forms alternate.
func TestNoBodyIsReadAsTheNextRequest(t *testing.T) {
	s := start(t, everyRoute())
	bodies := map[string]string{
		"small":           smuggled,
		"beyond buffers":  strings.Repeat(smuggled, 1+framing.MaxDrained/4/len(smuggled)),
		"beyond draining": strings.Repeat(smuggled, 2+framing.MaxDrained/len(smuggled)),
		"too large":       strings.Repeat(smuggled, 2+jsonLimit/len(smuggled)),
	}
	forms := map[string]string{
		"length":  "Content-Length: %[1]d\r\n\r\n%[2]s",
		"chunked": "Transfer-Encoding: chunked\r\n\r\n%[1]x\r\n%[2]s\r\n0\r\n\r\n",
		"expect":  "Expect: 100-continue\r\nContent-Length: %[1]d\r\n\r\n%[2]s",
	}
	next := 0
	for _, target := range smugglingTargets() {
		for name, body := range bodies {
			names := slices.Sorted(maps.Keys(forms))
			if testing.Short() {
				names = names[next%len(names):][:1]
				next++
			}
			for _, form := range names {
				t.Run(target+" "+name+" "+form, func(t *testing.T) {
					t.Parallel()
					trySmuggling(t, s, target+"\r\nHost: x\r\nX-Request-ID: first\r\n"+fmt.Sprintf(forms[form], len(body), body))
				})
			}
		}
	}
}

// smugglingTargets returns request lines with an Authorization header.
func smugglingTargets() []string {
	var targets []string
	for _, route := range everyRoute() {
		line := route.Method + " " + links.Prefix + example(route.Path) + " HTTP/1.1\r\nAuthorization: Bearer "
		targets = append(targets, line+"admin")
		if !route.Public {
			targets = append(targets, line+"nobody")
		}
		if route.ofOrganization() {
			targets = append(targets, line+"outsider")
		}
	}
	return append(targets,
		"POST /ready HTTP/1.1\r\nAuthorization: Bearer x",
		"GET /ready HTTP/1.1\r\nAuthorization: Bearer x",
		"HEAD /ready HTTP/1.1\r\nAuthorization: Bearer x",
		"PUT /nothing HTTP/1.1\r\nAuthorization: Bearer x",
		"BREW /ready HTTP/1.1\r\nAuthorization: Bearer x",
		"OPTIONS "+links.Prefix+"/things/acme HTTP/1.1\r\nAuthorization: Bearer x",
	)
}

// trySmuggling sends a request and a second one, and checks that nothing else is answered.
func trySmuggling(t *testing.T, s *testServer, request string) {
	conn, reader := s.dial(t)
	go func() {
		// The server may close the connection while this is written.
		_, _ = io.WriteString(conn, request+"GET /ready HTTP/1.1\r\nHost: x\r\nX-Request-ID: second\r\nConnection: close\r\n\r\n")
	}()
	method, _, _ := strings.Cut(request, " ")
	var ids []string
	for {
		response, err := http.ReadResponse(reader, &http.Request{Method: method})
		if err != nil {
			break
		}
		if response.StatusCode == http.StatusContinue {
			continue
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		ids = append(ids, response.Header.Get("X-Request-ID"))
		method = "GET"
	}
	switch got := strings.Join(ids, ","); got {
	case "first", "first,second", "", ",second":
		// A request with an unknown method never gets an id.
		if got == "" && len(ids) == 0 {
			t.Error("no answer at all")
		}
	default:
		t.Errorf("answered were %q", got)
	}
}

func TestConnectionsStayOpenAfterErrors(t *testing.T) {
	s := start(t, testRoutes())
	conn, reader := s.dial(t)
	for _, request := range []string{
		"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n",
		"PUT " + links.Prefix + "/things/acme HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
		"PUT " + links.Prefix + "/things/acme HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nContent-Length: 2\r\n\r\n{}",
		"PUT " + links.Prefix + "/things/acme HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"PUT " + links.Prefix + "/things/acme/x/archive HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nnull\r\n0\r\n\r\n",
		"POST " + links.Prefix + "/things/acme/panic/fail HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nContent-Length: 4\r\n\r\nnull",
		"GET /ready HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatalf("%.60q: %v", request, err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil || response.Close {
			t.Errorf("%.60q: the connection ends, %v", request, err)
		}
	}
}

func TestMalformedChunksAreRefused(t *testing.T) {
	s := start(t, testRoutes())
	conn, reader := s.dial(t)
	request := "PUT " + links.Prefix + "/things/acme HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusBadRequest || !response.Close {
		t.Errorf("status %d, closing %v", response.StatusCode, response.Close)
	}
}
