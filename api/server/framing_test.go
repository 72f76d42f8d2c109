package server

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"attestry/links"
)

// putThingLine is the request line of put_thing, which needs a body.
const putThingLine = "PUT " + links.Prefix + "/things/acme HTTP/1.1\r\n"

// sendRaw writes text to a connection and returns at most wanted answers.
func (r *testServer) sendRaw(t *testing.T, text string, wanted int) []*http.Response {
	t.Helper()
	conn, reader := r.dial(t)
	go func() {
		// The server may close the connection while this is written.
		_, _ = io.WriteString(conn, text)
	}()
	var answers []*http.Response
	for len(answers) < wanted {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			break
		}
		if response.StatusCode == http.StatusContinue {
			continue
		}
		body, err := io.ReadAll(response.Body)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		response.Body = io.NopCloser(strings.NewReader(string(body)))
		answers = append(answers, response)
	}
	return answers
}

func TestAmbiguousFramingIsRefusedAndEndsTheConnection(t *testing.T) {
	head := putThingLine + "Authorization: Bearer member\r\n"
	for name, request := range map[string]string{
		"blank before the colon of Content-Length":    head + "Host: x\r\nContent-Length : 2\r\n\r\n{}",
		"blank before the colon of Transfer-Encoding": head + "Host: x\r\nTransfer-Encoding : chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"tab before the colon":                        head + "Host: x\r\nContent-Length\t: 2\r\n\r\n{}",
		"blank before the colon of another field":     head + "Host: x\r\nX-Other : 1\r\nContent-Length: 2\r\n\r\n{}",
		"blank within a name":                         head + "Host: x\r\nContent Length: 2\r\n\r\n{}",
		"no Host":                                     head + "Content-Length: 2\r\n\r\n{}",
		"no header field at all":                      "GET /ready HTTP/1.1\r\n\r\n",
		"two Hosts":                                   head + "Host: x\r\nHost: y\r\nContent-Length: 2\r\n\r\n{}",
		"two equal Hosts":                             head + "Host: x\r\nhost: x\r\nContent-Length: 2\r\n\r\n{}",
		"a Host that is none":                         head + "Host: x y\r\nContent-Length: 2\r\n\r\n{}",
		"two Content-Lengths":                         head + "Host: x\r\nContent-Length: 2\r\nContent-Length: 4\r\n\r\n{}",
		"two equal Content-Lengths":                   head + "Host: x\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\n{}",
		"a list of Content-Lengths":                   head + "Host: x\r\nContent-Length: 2, 2\r\n\r\n{}",
		"a signed Content-Length":                     head + "Host: x\r\nContent-Length: +2\r\n\r\n{}",
		"a negative Content-Length":                   head + "Host: x\r\nContent-Length: -2\r\n\r\n{}",
		"a hexadecimal Content-Length":                head + "Host: x\r\nContent-Length: 0x2\r\n\r\n{}",
		"an empty Content-Length":                     head + "Host: x\r\nContent-Length: \r\n\r\n{}",
		"Content-Length before Transfer-Encoding":     head + "Host: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"Content-Length behind Transfer-Encoding":     head + "Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
		"Transfer-Encoding in capitals":               head + "Host: x\r\nTransfer-Encoding: CHUNKED\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"Transfer-Encoding identity":                  head + "Host: x\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}",
		"Transfer-Encoding gzip, chunked":             head + "Host: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"Transfer-Encoding chunked, identity":         head + "Host: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"an empty Transfer-Encoding":                  head + "Host: x\r\nTransfer-Encoding:\r\nContent-Length: 2\r\n\r\n{}",
		"two Transfer-Encodings":                      head + "Host: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"Transfer-Encoding in HTTP/1.0":               "POST " + links.Prefix + "/hooks/1 HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a folded header field":                       head + "Host: x\r\nX-Other: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
		"a folded Transfer-Encoding":                  head + "Host: x\r\nTransfer-Encoding:\r\n chunked\r\nContent-Length: 2\r\n\r\n{}",
		"a first header field that is folded":         putThingLine + " Host: x\r\nContent-Length: 2\r\n\r\n{}",
		"bare LF behind a header field":               head + "Host: x\nContent-Length: 2\r\n\r\n{}",
		"bare LF behind the head":                     head + "Host: x\r\nContent-Length: 2\r\n\n{}",
		"bare LF everywhere":                          strings.ReplaceAll(head, "\r\n", "\n") + "Host: x\nContent-Length: 2\n\n{}",
		"bare CR within a value":                      head + "Host: x\r\nX-Other: a\rContent-Length: 9\r\nContent-Length: 2\r\n\r\n{}",
		"NUL within a value":                          head + "Host: x\r\nX-Other: a\x00b\r\nContent-Length: 2\r\n\r\n{}",
		"NUL within a name":                           head + "Host: x\r\nX-\x00Other: a\r\nContent-Length: 2\r\n\r\n{}",
		"a control character within a value":          head + "Host: x\r\nX-Other: a\x08b\r\nContent-Length: 2\r\n\r\n{}",
		"an empty name":                               head + "Host: x\r\n: a\r\nContent-Length: 2\r\n\r\n{}",
		"a line without a colon":                      head + "Host: x\r\nContent-Length\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.2":                                    "GET /ready HTTP/1.2\r\nHost: x\r\n\r\n",
		"HTTP/2.0":                                    "GET /ready HTTP/2.0\r\nHost: x\r\n\r\n",
		"a version in small letters":                  "GET /ready http/1.1\r\nHost: x\r\n\r\n",
		"no version":                                  "GET /ready\r\nHost: x\r\n\r\n",
		"two blanks in the request line":              "GET  /ready HTTP/1.1\r\nHost: x\r\n\r\n",
		"a fragment in the request target":            "GET /ready?a=1#&b=2 HTTP/1.1\r\nHost: x\r\n\r\n",
		"a tab in the request target":                 "GET /re\tady HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, testRoutes())
			answers := s.sendRaw(t, request+smuggled+smuggled, 9)
			if len(answers) != 1 {
				t.Fatalf("%d answers, want 1", len(answers))
			}
			answer := answers[0]
			body, _ := io.ReadAll(answer.Body)
			if answer.StatusCode != http.StatusBadRequest || !answer.Close || !strings.HasPrefix(string(body), `{"message":"`) {
				t.Errorf("answered %d, closing %v: %s", answer.StatusCode, answer.Close, body)
			}
			id := answer.Header.Get(requestIDHeader)
			if log := s.journal.String(); id == "" || !strings.Contains(log, id) || strings.Contains(log, `"request"`) {
				t.Errorf("the log of request %q is %s", id, log)
			}
		})
	}
}

func TestUnusualButValidRequestsAreAnswered(t *testing.T) {
	head := putThingLine + "Authorization: Bearer member\r\n"
	thing := `{"name":"a"}`
	for name, request := range map[string]string{
		"blank lines before the request": "\r\n\r\n" + head + "Host: x\r\nContent-Length: 12\r\n\r\n" + thing,
		"no blank behind colons":         putThingLine + "Authorization:Bearer member\r\nHost:x\r\nContent-Length:12\r\n\r\n" + thing,
		"blanks and tabs around values":  head + "Host: \t x \t\r\nContent-Length: \t12 \r\n\r\n" + thing,
		"names in small letters":         head + "host: x\r\ncontent-length: 12\r\n\r\n" + thing,
		"Host with a port":               head + "Host: example.com:8001\r\nContent-Length: 12\r\n\r\n" + thing,
		"Host with an IPv6 address":      head + "Host: [::1]:8001\r\nContent-Length: 12\r\n\r\n" + thing,
		"an empty Host":                  head + "Host:\r\nContent-Length: 12\r\n\r\n" + thing,
		"an absolute target":             strings.Replace(head, "PUT ", "PUT http://x", 1) + "Host: x\r\nContent-Length: 12\r\n\r\n" + thing,
		"bytes beyond ASCII in a value":  head + "Host: x\r\nUser-Agent: caf\xe9 \xc3\xa9\r\nContent-Length: 12\r\n\r\n" + thing,
		"an empty value":                 head + "Host: x\r\nX-Empty:\r\nContent-Length: 12\r\n\r\n" + thing,
		"a repeated other field":         head + "Host: x\r\nAccept: a/b\r\nAccept: c/d\r\nContent-Length: 12\r\n\r\n" + thing,
		"chunks":                         head + "Host: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n" + thing[:5] + "\r\n7\r\n" + thing[5:] + "\r\n0\r\n\r\n",
		"a chunk with an extension":      head + "Host: x\r\nTransfer-Encoding: chunked\r\n\r\nC;name=value\r\n" + thing + "\r\n0\r\n\r\n",
		"a length with leading zeros":    head + "Host: x\r\nContent-Length: 0012\r\n\r\n" + thing,
		"Expect":                         head + "Host: x\r\nExpect: 100-continue\r\nContent-Length: 12\r\n\r\n" + thing,
		"an upgrade that is offered":     head + "Host: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nContent-Length: 12\r\n\r\n" + thing,
		"HTTP/1.0 that keeps alive":      strings.Replace(head, "1.1", "1.0", 1) + "Connection: keep-alive\r\nContent-Length: 12\r\n\r\n" + thing,
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, testRoutes())
			answers := s.sendRaw(t, request+"GET /ready HTTP/1.1\r\nHost: x\r\n\r\n", 2)
			if len(answers) != 2 || answers[0].StatusCode != http.StatusCreated || answers[0].Close || answers[1].StatusCode != http.StatusOK {
				for _, answer := range answers {
					body, _ := io.ReadAll(answer.Body)
					t.Errorf("answered %d, closing %v: %s", answer.StatusCode, answer.Close, body)
				}
				t.Errorf("%d answers, want 201 and 200 on one connection", len(answers))
			}
		})
	}
}

func TestRequestsThatReachNoOperationHaveAnIDAndAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"malformed framing":  {"GET /ready HTTP/1.1\r\n\r\n", 400},
		"no HTTP":            {"GARBAGE\r\n\r\n", 400},
		"a head too large":   {"GET /ready HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 2*headerLimit) + "\r\n\r\n", 431},
		"an unknown method":  {"BREW /ready HTTP/1.1\r\nHost: x\r\n\r\n", 501},
		"an unexpected body": {"GET /ready HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 400},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, testRoutes())
			answers := s.sendRaw(t, c.request, 1)
			if len(answers) != 1 || answers[0].StatusCode != c.status {
				t.Fatalf("answers %v, want one with %d", answers, c.status)
			}
			expectSecurityHeaders(t, answers[0].Header, "no-store")
			if body, _ := io.ReadAll(answers[0].Body); !strings.HasPrefix(string(body), `{"message":`) {
				t.Errorf("answered %s", body)
			}
			if id := answers[0].Header.Get(requestIDHeader); id == "" || !strings.Contains(s.journal.String(), `"request_id":"`+id+`"`) {
				t.Errorf("request id %q, log %s", id, s.journal)
			}
			var counted dto.Metric
			if err := s.metrics.rejected.WithLabelValues(strconv.Itoa(c.status)).Write(&counted); err != nil || counted.Counter.GetValue() != 1 {
				t.Errorf("counted %v, %v, want 1", counted.Counter.GetValue(), err)
			}
		})
	}
}

func expectSecurityHeaders(t *testing.T, header http.Header, caching string) {
	t.Helper()
	if got := header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("X-Content-Type-Options = %q", got)
	}
	if got := header.Get("Cache-Control"); got != caching {
		t.Errorf("Cache-Control = %q, want %q", got, caching)
	}
}

func TestAnswersOfEveryRouteForbidSniffingAndCaching(t *testing.T) {
	s := start(t, everyRoute())
	for _, route := range everyRoute() {
		for _, key := range []string{"", "nobody", "outsider", "admin"} {
			t.Run(route.Method+" "+route.Path+" "+key, func(t *testing.T) {
				got := s.send(t, route.Method, links.Prefix+example(route.Path), key, "{}")
				expectSecurityHeaders(t, got.header, "no-store")
			})
		}
	}
	for path, caching := range map[string]string{
		"/ready": "no-store", "/nothing": "no-store",
		"/openapi.json": publicCaching, links.Prefix + "/openapi.json": publicCaching, links.Prefix + "/docs": publicCaching,
	} {
		t.Run(path, func(t *testing.T) { expectSecurityHeaders(t, s.send(t, "GET", path, "", "").header, caching) })
	}
}
