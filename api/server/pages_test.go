package server

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"attestry/api/access"
	"attestry/evidence"
	"attestry/links"
)

type listInput struct {
	Org     string `path:"org"`
	Page    int    `query:"page" minimum:"1" default:"1"`
	PerPage int    `query:"per_page" minimum:"1" default:"10"`
	Total   int64  `query:"total"`
}

type listOutput struct {
	PageHeaders
	Body struct {
		PageEnvelope
		Things []string `json:"things"`
	}
}

func startList(t *testing.T) *testServer {
	links := links.Links{Base: "https://attestry.example.com"}
	return start(t, []Route{{Method: "GET", Path: "/list/{org}", OperationID: "list_things", Tag: "T", Summary: "S", Rule: access.Rule{MinRole: evidence.Reader},
		Serve: Handle(func(ctx context.Context, in *listInput) (*listOutput, error) {
			p := PageOf(ctx, links, in.Page, in.PerPage, in.Total)
			out := &listOutput{PageHeaders: p.Headers()}
			out.Body.PageEnvelope, out.Body.Things = p.Envelope(), []string{}
			return out, nil
		})}})
}

func TestPagesAreDescribedInHeadersAndBody(t *testing.T) {
	s := startList(t)
	const list = "https://attestry.example.com/api/v2/list/acme"
	for query, want := range map[string]struct{ link, body string }{
		"?total=25&page=2": {
			`<` + list + `?page=1&per_page=10&total=25>; rel="first", <` + list + `?page=1&per_page=10&total=25>; rel="prev", ` +
				`<` + list + `?page=3&per_page=10&total=25>; rel="next", <` + list + `?page=3&per_page=10&total=25>; rel="last"`,
			`{"_links":{"self":{"href":"` + list + `?page=2&total=25"},"first":{"href":"` + list + `?page=1&per_page=10&total=25"},` +
				`"prev":{"href":"` + list + `?page=1&per_page=10&total=25"},"next":{"href":"` + list + `?page=3&per_page=10&total=25"},` +
				`"last":{"href":"` + list + `?page=3&per_page=10&total=25"}},"page":2,"per_page":10,"total_pages":3,"total_count":25,"things":[]}`,
		},
		"": {"", `{"_links":{"self":{"href":"` + list + `"},"first":{"href":"` + list + `?page=1&per_page=10"},"last":{"href":"` + list + `?page=1&per_page=10"}},` +
			`"page":1,"per_page":10,"total_pages":0,"total_count":0,"things":[]}`},
	} {
		got := s.send(t, "GET", links.Prefix+"/list/acme"+query, "reader", "")
		if got.header.Get("Link") != want.link || got.body != want.body {
			t.Errorf("%q:\n got %s\n     %s\nwant %s\n     %s", query, got.header.Get("Link"), got.body, want.link, want.body)
		}
	}
	got := s.send(t, "GET", links.Prefix+"/list/acme?total=25&page=2", "reader", "").header
	for name, want := range map[string]string{"X-Total-Count": "25", "X-Per-Page": "10", "X-Current-Page": "2", "X-Total-Pages": "3"} {
		if got.Get(name) != want {
			t.Errorf("%s = %q, want %q", name, got.Get(name), want)
		}
	}
}

func TestPagesBeyondTheEndLinkToTheLastPage(t *testing.T) {
	s := startList(t)
	var body struct {
		Links map[string]Href `json:"_links"`
	}
	if err := json.Unmarshal([]byte(s.send(t, "GET", links.Prefix+"/list/acme?total=25&page=9", "reader", "").body), &body); err != nil {
		t.Fatal(err)
	}
	if _, ok := body.Links["next"]; ok || body.Links["prev"] != body.Links["last"] {
		t.Errorf("links of a page beyond the end: %v", body.Links)
	}
}

func TestOffsetsDoNotOverflow(t *testing.T) {
	for _, test := range []struct{ number, size, want int }{{1, 15, 0}, {3, 15, 30}, {0, 15, 0}, {2, math.MaxInt, 1 << 40}} {
		if got := OffsetOf(test.number, test.size); got != test.want {
			t.Errorf("offsetOf(%d, %d) = %d, want %d", test.number, test.size, got, test.want)
		}
	}
	if got := OffsetOf(math.MaxInt, math.MaxInt); got < 0 {
		t.Errorf("the offset of the greatest page is %d", got)
	}
}
