package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"attestry/links"
)

// announced returns the head of a request whose body is not sent.
func announced(method, path, key, fields string) string {
	return method + " " + links.Prefix + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "\r\n" + fields + "\r\n"
}

// unsent are header fields that announce a body of 20 MB, or one of unknown length.
var unsent = map[string]string{
	"length":            "Content-Length: 20000000\r\n",
	"chunks":            "Transfer-Encoding: chunked\r\n",
	"expecting":         "Content-Length: 20000000\r\nExpect: 100-continue\r\n",
	"chunks, expecting": "Transfer-Encoding: chunked\r\nExpect: 100-Continue\r\n",
}

// refusedUnread are requests that are refused without their body.
func refusedUnread() map[string]struct {
	method, path, key string
	status            int
} {
	return map[string]struct {
		method, path, key string
		status            int
	}{
		"wrong key":              {"PUT", "/things/acme", "nobody", 401},
		"role that is too low":   {"PUT", "/things/acme", "reader", 403},
		"organization of others": {"PUT", "/things/other", "member", 403},
		"unknown path":           {"POST", "/nothing", "member", 404},
		"unknown path, no key":   {"POST", "/nothing", "nobody", 404},
		"operation without body": {"PUT", "/things/acme/x/archive", "nobody", 401},
	}
}

// wantAnswerAndEnd reads one answer, after which the connection must end.
func wantAnswerAndEnd(t *testing.T, reader *bufio.Reader, status int) {
	t.Helper()
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status || !response.Close || !strings.HasPrefix(string(body), `{"message":`) {
		t.Errorf("answered %d, closing %v: %s, %v; want %d", response.StatusCode, response.Close, body, err, status)
	}
	if rest, err := reader.ReadByte(); err != io.EOF {
		t.Errorf("behind the answer comes %q, %v", rest, err)
	}
}

func TestRefusalsDoNotAwaitTheBody(t *testing.T) {
	s := start(t, testRoutes())
	for name, row := range refusedUnread() {
		for form, fields := range unsent {
			t.Run(name+" "+form, func(t *testing.T) {
				t.Parallel()
				conn, reader := s.dial(t)
				if _, err := io.WriteString(conn, announced(row.method, row.path, row.key, fields)); err != nil {
					t.Fatal(err)
				}
				wantAnswerAndEnd(t, reader, row.status)
			})
		}
	}
}

func TestBodiesThatAreAnnouncedAsTooLargeAreNotAwaited(t *testing.T) {
	s := start(t, testRoutes())
	form := startForm(t)
	for name, row := range map[string]struct {
		s            *testServer
		method, path string
	}{"JSON": {s, "PUT", "/things/acme"}, "form": {form, "POST", "/forms/acme"}} {
		for _, fields := range []string{unsent["length"], unsent["expecting"]} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				conn, reader := row.s.dial(t)
				head := announced(row.method, row.path, "member", fields+"Content-Type: multipart/form-data; boundary=x\r\n")
				if _, err := io.WriteString(conn, head); err != nil {
					t.Fatal(err)
				}
				wantAnswerAndEnd(t, reader, 413)
			})
		}
	}
}

// wantContinue reads the answer 100 Continue.
func wantContinue(t *testing.T, reader *bufio.Reader) {
	t.Helper()
	for _, want := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} {
		if line, err := reader.ReadString('\n'); err != nil || line != want {
			t.Fatalf("read %q, %v, want %q", line, err, want)
		}
	}
}

func TestContinueIsSentWhenTheBodyIsNeeded(t *testing.T) {
	s := start(t, testRoutes())
	const thing = `{"name":"a"}`
	for name, row := range map[string]struct{ fields, body string }{
		"length": {"Content-Length: 12\r\nExpect: 100-continue\r\n", thing},
		"chunks": {"Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n", "c\r\n" + thing + "\r\n0\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, reader := s.dial(t)
			for range 2 {
				if _, err := io.WriteString(conn, announced("PUT", "/things/acme", "member", row.fields)); err != nil {
					t.Fatal(err)
				}
				wantContinue(t, reader)
				if _, err := io.WriteString(conn, row.body); err != nil {
					t.Fatal(err)
				}
				response, err := http.ReadResponse(reader, nil)
				if err != nil {
					t.Fatal(err)
				}
				if body, _ := io.ReadAll(response.Body); response.StatusCode != 201 || response.Close {
					t.Errorf("answered %d, closing %v: %s", response.StatusCode, response.Close, body)
				}
			}
		})
	}
}

// TestContinueIsSentAfterThePreviousAnswer sends a request along with the head of the next one.
func TestContinueIsSentAfterThePreviousAnswer(t *testing.T) {
	s := start(t, testRoutes())
	conn, reader := s.dial(t)
	next := announced("PUT", "/things/acme", "member", "Content-Length: 12\r\nExpect: 100-continue\r\n")
	if _, err := io.WriteString(conn, "GET /ready HTTP/1.1\r\nHost: x\r\n\r\n"+next); err != nil {
		t.Fatal(err)
	}
	first, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(first.Body); err != nil || string(body) != "OK" {
		t.Fatalf("the first answer is %q, %v", body, err)
	}
	wantContinue(t, reader)
	if _, err := io.WriteString(conn, `{"name":"a"}`); err != nil {
		t.Fatal(err)
	}
	if second, err := http.ReadResponse(reader, nil); err != nil || second.StatusCode != 201 {
		t.Errorf("the second answer is %v, %v", second, err)
	}
}

func TestClientsOfHTTP10GetNoContinue(t *testing.T) {
	s := start(t, testRoutes())
	conn, reader := s.dial(t)
	head := strings.Replace(announced("PUT", "/things/acme", "member", "Content-Length: 12\r\nExpect: 100-continue\r\n"), "HTTP/1.1", "HTTP/1.0", 1)
	if _, err := io.WriteString(conn, head+`{"name":"a"}`); err != nil {
		t.Fatal(err)
	}
	if line, err := reader.ReadString('\n'); err != nil || line != "HTTP/1.0 201 Created\r\n" && line != "HTTP/1.1 201 Created\r\n" {
		t.Errorf("answered %q, %v", line, err)
	}
}

// TestUnauthorizedClientsCannotUploadALargeBody counts how much of a refused body a connection takes.
func TestUnauthorizedClientsCannotUploadALargeBody(t *testing.T) {
	// The socket buffers of both ends take some MB.
	const length, most = 200 << 20, 24 << 20
	s := start(t, testRoutes())
	conn, _ := s.dial(t)
	head := announced("PUT", "/things/acme", "nobody", fmt.Sprintf("Content-Length: %d\r\n", length))
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	written, err := io.CopyN(struct{ io.Writer }{conn}, zeros{}, length)
	if err == nil || written > most {
		t.Errorf("the connection took %d bytes, %v", written, err)
	}
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Error("the connection was not closed")
	}
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestBodiesWithoutAKeyMustArriveSoon sends no key, and only the first byte of the body.
func TestBodiesWithoutAKeyMustArriveSoon(t *testing.T) {
	hook := Route{Method: "POST", Path: "/signed/{org}", OperationID: "signed", Tag: "T", Summary: "S", Public: true, Serve: WithBody(putThing)}
	s := start(t, []Route{hook})
	s.anonymousTimeout = 50 * time.Millisecond
	conn, reader := s.dial(t)
	if _, err := io.WriteString(conn, announced("POST", "/signed/acme", "", "Content-Length: 100\r\n")+"{"); err != nil {
		t.Fatal(err)
	}
	wantAnswerAndEnd(t, reader, http.StatusRequestTimeout)
}
