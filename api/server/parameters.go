package server

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/validation"
	"attestry/evidence"
)

func isList(p *huma.Param) bool { return p.Schema.Type == huma.TypeArray }

// humaContext is huma.Context under a name that does not clash with its method Context when embedded.
type humaContext huma.Context

// requestContext passes the validated parameters to huma, in a form that huma can parse.
type requestContext struct {
	humaContext
	path  map[string]string
	query url.Values
}

// Unwrap lets humafiber find the wrapped context.
func (c *requestContext) Unwrap() huma.Context { return c.humaContext }

// Param returns a path parameter, unescaped once.
func (c *requestContext) Param(name string) string { return c.path[name] }

// Query returns a query parameter. For lists huma only checks whether it is empty, and takes the values from URL.
func (c *requestContext) Query(name string) string {
	values := c.query[name]
	switch len(values) {
	case 0:
		return ""
	case 1:
		if values[0] != "" {
			return values[0]
		}
	}
	return "list"
}

// URL returns the path as it was sent, with the normalized query.
func (c *requestContext) URL() url.URL {
	u := c.humaContext.URL()
	u.RawQuery = c.query.Encode()
	return u
}

// normalize reads, validates and coerces the parameters of a request. It adds findings to the request, which are
// answered together with those of the body.
func normalize(v *validation.Validator, ctx huma.Context, parameters []*huma.Param, r *Request) (*requestContext, error) {
	c := &requestContext{humaContext: ctx, path: map[string]string{}, query: url.Values{}}
	checkQueryText(parameters, r)
	for _, p := range parameters {
		switch p.In {
		case "query":
			if values := normalizeQuery(v, p, r); values != nil {
				c.query[p.Name] = values
			}
		case "path":
			value, err := unescape(p.Name, ctx.Param(p.Name))
			if err != nil {
				return nil, err
			}
			if checked, ok := checkParameter(v, p, value, r.findings); ok {
				c.path[p.Name] = fmt.Sprint(checked)
			}
		}
	}
	return c, nil
}

// normalizeQuery returns the values for huma: nil if absent, not valid, or an empty text, which is huma's zero value.
func normalizeQuery(v *validation.Validator, p *huma.Param, r *Request) []string {
	sent, ok := r.query[p.Name]
	if !ok {
		if p.Required {
			r.findings.Add("query."+p.Name, validation.MissingText, nil)
		}
		return nil
	}
	if isList(p) {
		items := evidence.Map(sent, func(text string) any { return text })
		if _, ok := checkParameter(v, p, items, r.findings); !ok {
			return nil
		}
		return evidence.Map(items, func(checked any) string { return fmt.Sprint(checked) })
	}
	// The last one counts when a parameter is repeated.
	checked, ok := checkParameter(v, p, sent[len(sent)-1], r.findings)
	if text := fmt.Sprint(checked); ok && text != "" {
		return []string{text}
	}
	return nil
}

// checkParameter checks and coerces a parameter. ok is false for every invalid parameter, as huma must not see one. So
// it collects findings apart from found, which drops repeated findings and those beyond the maximum.
func checkParameter(v *validation.Validator, p *huma.Param, value any, found validation.Findings) (checked any, ok bool) {
	own := validation.Findings{}
	checked = v.Check(p.Schema, value, p.In+"."+p.Name, own)
	found.Merge(own)
	return checked, len(own) == 0
}

// checkQueryText adds findings for query parameters that are not UTF-8, including unknown ones.
func checkQueryText(parameters []*huma.Param, r *Request) {
	for name, values := range r.query {
		list := slices.ContainsFunc(parameters, func(p *huma.Param) bool { return isList(p) && p.Name == name })
		for i, value := range values {
			if utf8.ValidString(name) && utf8.ValidString(value) {
				continue
			}
			at := "query." + strings.ToValidUTF8(name, "\uFFFD")
			if list {
				at += "[" + strconv.Itoa(i) + "]"
			}
			r.findings.Add(at, validation.UnreadableText, value)
		}
	}
}

// unescape unescapes the path segment of a parameter once: names may contain `%23` and `%2F`.
func unescape(name, segment string) (string, error) {
	value, err := url.PathUnescape(segment)
	if err != nil {
		return "", evidence.NewError(evidence.Invalid, "The path is not validly escaped text")
	}
	if !validation.PlainText(value) {
		return "", validation.Fault("path."+name, validation.UnreadableText, value)
	}
	return value, nil
}
