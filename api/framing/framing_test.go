package framing_test

import (
	"bufio"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"attestry/api/framing"
)

func FuzzCheckAcceptsOnlyOneReadingOfAHead(f *testing.F) {
	f.Add("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	f.Add("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
	f.Add("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n")
	f.Add("GET / HTTP/1.1\r\nHost: x\r\n A: b\r\nC\n: d\r\n\r\n")
	f.Add("GET / HTTP/1.1\r\nHost:\r\n\r\n")
	f.Add("GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n")
	f.Fuzz(func(t *testing.T, head string) {
		var header fasthttp.RequestHeader
		if header.Read(bufio.NewReader(strings.NewReader(head))) != nil {
			return
		}
		length := header.ContentLength()
		framing.WithholdBody(&header)
		body, err := framing.Check(&header)
		if err != nil {
			return
		}
		if body.Length != length || header.ContentLength() != length {
			t.Errorf("%q announces %d bytes, the header then %d, want %d", head, body.Length, header.ContentLength(), length)
		}
		hosts, credentials := 0, 0
		for _, line := range strings.Split(strings.TrimSuffix(string(header.RawHeaders()), "\r\n"), "\r\n") {
			if name, _, _ := strings.Cut(line, ":"); strings.EqualFold(name, "Host") {
				hosts++
			} else if strings.EqualFold(name, "Authorization") {
				credentials++
			}
			if strings.ContainsAny(line, "\r\n\x00") || strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
				t.Errorf("%q was accepted with the line %q", head, line)
			}
		}
		if header.IsHTTP11() && hosts != 1 || credentials > 1 {
			t.Errorf("%q was accepted with %d hosts and %d credentials", head, hosts, credentials)
		}
	})
}
