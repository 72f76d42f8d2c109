// Package framing prevents request smuggling: it refuses requests whose headers HTTP parsers interpret in different
// ways. If a proxy and the server disagree on the end of a request, the rest of its body becomes another request, which
// the proxy has not checked.
package framing

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/http/httpguts"
)

// fields are the header fields that determine the end, the host and the sender of a request.
type fields struct {
	hosts, lengths, encodings, expectations, credentials [][]byte
}

// Check returns the description of a request's body, or why the request is refused. It parses the headers again,
// because fasthttp has parsed them less strictly than RFC 9112. It cannot check that the request line ends with CR LF.
// This is harmless: a parser that does not end the line at a line feed finds no valid version in it.
func Check(header *fasthttp.RequestHeader) (Announcement, error) {
	if version := string(header.Protocol()); version != "HTTP/1.1" && version != "HTTP/1.0" {
		return Announcement{}, errors.New("the version of HTTP is neither 1.0 nor 1.1")
	}
	if bytes.ContainsFunc(header.RequestURI(), func(char rune) bool { return char <= ' ' || char == 0x7f }) {
		return Announcement{}, errors.New("the request target has control characters")
	}
	if bytes.IndexByte(header.RequestURI(), '#') >= 0 {
		// fasthttp would drop what follows, parameters included.
		return Announcement{}, errors.New("the request target has a fragment")
	}
	f, err := read(header.RawHeaders())
	if err == nil {
		err = f.check(header.IsHTTP11())
	}
	if err != nil {
		return Announcement{}, err
	}
	return f.announcement(header)
}

// read reads lines up to the empty one.
func read(raw []byte) (fields, error) {
	var f fields
	for line := range bytes.Lines(raw) {
		line, ok := bytes.CutSuffix(line, []byte("\r\n"))
		if !ok {
			return f, errors.New("a line of the head does not end with CR LF")
		}
		if len(line) == 0 {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			return f, errors.New("a header field continues on the next line")
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || !httpguts.ValidHeaderFieldName(string(name)) {
			return f, errors.New("a header field has no valid name")
		}
		value = bytes.Trim(value, " \t")
		if !httpguts.ValidHeaderFieldValue(string(value)) {
			return f, fmt.Errorf("the header field %s has control characters", name)
		}
		f.add(name, value)
	}
	return f, nil
}

func (f *fields) add(name, value []byte) {
	switch {
	case bytes.EqualFold(name, []byte(fasthttp.HeaderHost)):
		f.hosts = append(f.hosts, value)
	case bytes.EqualFold(name, []byte(fasthttp.HeaderContentLength)):
		f.lengths = append(f.lengths, value)
	case bytes.EqualFold(name, []byte(fasthttp.HeaderTransferEncoding)):
		f.encodings = append(f.encodings, value)
	case bytes.EqualFold(name, []byte(fasthttp.HeaderExpect)):
		f.expectations = append(f.expectations, value)
	case bytes.EqualFold(name, []byte(fasthttp.HeaderAuthorization)):
		f.credentials = append(f.credentials, value)
	}
}

func (f *fields) check(http11 bool) error {
	switch {
	case len(f.hosts) == 0 && http11:
		return errors.New("the header field Host is missing")
	case len(f.hosts) > 1:
		return errors.New("the header field Host is repeated")
	case len(f.hosts) == 1 && !httpguts.ValidHostHeader(string(f.hosts[0])):
		return errors.New("the header field Host is not a host")
	case len(f.credentials) > 1: // a proxy may have checked another one
		return errors.New("the header field Authorization is repeated")
	case len(f.lengths) > 1:
		return errors.New("the header field Content-Length is repeated")
	case len(f.lengths) == 1 && (len(f.lengths[0]) == 0 || len(bytes.Trim(f.lengths[0], "0123456789")) > 0):
		return errors.New("the header field Content-Length is not a number")
	case len(f.encodings) > 1:
		return errors.New("the header field Transfer-Encoding is repeated")
	case len(f.encodings) == 0:
		return nil
	case string(f.encodings[0]) != "chunked":
		return errors.New("the header field Transfer-Encoding is not chunked")
	case len(f.lengths) == 1:
		return errors.New("the request has both Content-Length and Transfer-Encoding")
	case !http11:
		return errors.New("the request has a Transfer-Encoding, but is not HTTP/1.1")
	default:
		return nil
	}
}
