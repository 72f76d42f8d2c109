package server

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"attestry/api/jsonstream"
	"attestry/evidence"
	"attestry/links"
	"attestry/storage"
)

const (
	// MaxPage bounds a page of a list with cursors, in bytes read. The page ends after the batch that exceeds it, and
	// the next page continues there. Other lists have no such limit, as they are never in memory as a whole.
	MaxPage = 32 * Mebibyte
	// firstPart is the size of the first part of a batch, in documents: the largest page of most lists.
	firstPart = 100
)

// ListOf returns a list that is read batch by batch.
func ListOf[S, T any](batchBytes int, batches *storage.Batches[S], show func(context.Context, []S) ([]T, error)) jsonstream.List[T] {
	return jsonstream.NewList(func(ctx context.Context) ([]T, bool, error) {
		RequestOf(ctx).Memory.Rewind(0)
		batch, err := batches.Next(ctx, batchBytes)
		if err != nil {
			return nil, false, err
		}
		shown, err := show(ctx, batch)
		return shown, batches.More(), err
	})
}

// PartsOf is ListOf for documents that are shown together with other documents, whose size is not known in advance.
// Each batch is shown in parts. The size of a part is computed from how much was read for the previous part, so that
// no more is read for a part than for a batch.
func PartsOf[S, T any](batchBytes int, batches *storage.Batches[S], show func(context.Context, []S) ([]T, error)) jsonstream.List[T] {
	var pending []S
	var mark int64    // the memory that is reserved for the batch itself
	size := firstPart // how many documents the next part has at most
	return jsonstream.NewList(func(ctx context.Context) ([]T, bool, error) {
		memory := RequestOf(ctx).Memory
		if len(pending) == 0 {
			memory.Rewind(0)
			var err error
			if pending, err = batches.Next(ctx, batchBytes); err != nil {
				return nil, false, err
			}
			mark = memory.Mark()
		}
		memory.Rewind(mark)
		part := pending[:min(size, len(pending))]
		pending = pending[len(part):]
		before := memory.BytesRead()
		shown, err := show(ctx, part)
		if len(part) > 0 {
			perDocument := int(memory.BytesRead()-before) / len(part) // bytes of other documents
			size = max(1, min(batchBytes/max(1, perDocument), 4*size, storage.MaxMany))
		}
		return shown, len(pending) > 0 || batches.More(), err
	})
}

// Page is one page of a list with page numbers.
type Page struct {
	number int // from 1
	size   int
	total  int64
	// address is the list's URL without the query.
	address string
	query   url.Values
	// SizeName is the query parameter of the size, "" for per_page.
	SizeName string
}

// PageOf returns the requested page of a list of total entries.
func PageOf(ctx context.Context, links links.Links, number, size int, total int64) Page {
	r := RequestOf(ctx)
	return Page{number: number, size: size, total: total, address: links.Base + r.Path, query: r.query}
}

// OffsetOf is the number of entries before a page, limited to what a query can skip.
func OffsetOf(number, size int) int {
	const maxSkip = 1 << 40
	if number < 1 || size < 1 {
		return 0
	}
	return int(min(float64(number-1)*float64(size), maxSkip))
}

// CutPage returns a page of a list that is in memory.
func CutPage[T any](all []T, number, size int) []T {
	start := min(OffsetOf(number, size), len(all))
	return all[start:min(start+size, len(all))]
}

// count is the number of pages: 0 for an empty list, and for a size of 0, with which clients get only the total.
func (p Page) count() int {
	if p.size == 0 {
		return 0
	}
	return int((p.total + int64(p.size) - 1) / int64(p.size))
}

// Beyond reports whether the page has no entries. Totals are at most storage.MaxCount, so later entries have no page.
func (p Page) Beyond() bool {
	return p.size == 0 || int64(OffsetOf(p.number, p.size)) >= p.total
}

// at is the URL of another page, with the rest of the query unchanged.
func (p Page) at(number int) string {
	return p.With("page", strconv.Itoa(number), cmp.Or(p.SizeName, "per_page"), strconv.Itoa(p.size))
}

// With is the URL of the request with changed query parameters, given as pairs of name and value.
func (p Page) With(changed ...string) string {
	query := url.Values{}
	maps.Copy(query, p.query)
	for pair := range slices.Chunk(changed, 2) {
		query.Set(pair[0], pair[1])
	}
	return p.address + "?" + query.Encode()
}

// Self is the URL of the request.
func (p Page) Self() string { return strings.TrimSuffix(p.With(), "?") }

// relations are the links to pages, in the order of docs/semantics.md 1.10.
func (p Page) relations() []relation {
	last := max(p.count(), 1)
	relations := []relation{{"self", p.Self()}, {"first", p.at(1)}}
	if p.number > 1 {
		relations = append(relations, relation{"prev", p.at(min(p.number-1, last))})
	}
	if p.number < last {
		relations = append(relations, relation{"next", p.at(p.number + 1)})
	}
	return append(relations, relation{"last", p.at(last)})
}

type relation struct{ name, address string }

// PageHeaders is pagination by headers (docs/semantics.md 1.10, style 2). Answers embed it. It is exported because huma
// skips unexported embedded types.
type PageHeaders struct {
	TotalCount  int64  `header:"X-Total-Count"`
	PerPage     int    `header:"X-Per-Page"`
	CurrentPage int    `header:"X-Current-Page"`
	TotalPages  int    `header:"X-Total-Pages"`
	Link        string `header:"Link" doc:"Only when there is more than one page."`
}

// Headers returns the headers that describe the page.
func (p Page) Headers() PageHeaders {
	headers := PageHeaders{TotalCount: p.total, PerPage: p.size, CurrentPage: p.number, TotalPages: p.count()}
	if p.count() < 2 {
		return headers
	}
	links := evidence.Map(p.relations()[1:], func(to relation) string {
		return "<" + to.address + `>; rel="` + to.name + `"`
	})
	headers.Link = strings.Join(links, ", ")
	return headers
}

// PageEnvelope is pagination by members of the body (docs/semantics.md 1.10, style 4). Bodies embed it.
type PageEnvelope struct {
	Links      jsonstream.Map[Href] `json:"_links"`
	Page       int                  `json:"page"`
	PerPage    int                  `json:"per_page"`
	TotalPages int                  `json:"total_pages"`
	TotalCount int64                `json:"total_count"`
}

// Href is a link.
type Href struct {
	Href string `json:"href"`
}

// Envelope returns the members of an answer that describe the page.
func (p Page) Envelope() PageEnvelope {
	links := jsonstream.NewMap(func(yield func(string, Href) bool) {
		for _, to := range p.relations() {
			if !yield(to.name, Href{to.address}) {
				return
			}
		}
	})
	return PageEnvelope{Links: links, Page: p.number, PerPage: p.size, TotalPages: p.count(), TotalCount: p.total}
}

// PaginationInfo is pagination by one member of the body (docs/semantics.md 1.10, style 3).
type PaginationInfo struct {
	Total     int64 `json:"total"`
	Page      int   `json:"page"`
	PerPage   int   `json:"per_page"`
	PageCount int   `json:"page_count"`
}

// PaginationOf describes a page of a list.
func PaginationOf(number, size int, total int64) PaginationInfo {
	p := Page{number: number, size: size, total: total}
	return PaginationInfo{Total: total, Page: number, PerPage: size, PageCount: p.count()}
}
