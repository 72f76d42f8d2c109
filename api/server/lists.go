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
	"attestry/links"
	"attestry/storage"
)

const (
	// MaxPage ends a page of a list with cursors once that many bytes of it have been read.
	// Lists without cursors have no such limit: they are never in memory as a whole.
	MaxPage = 32 * Mebibyte
	// firstPart is the size of the first part, in documents: the largest page of most lists.
	firstPart = 100
)

// ListOf makes a list that is read batch by batch.
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

// PartsOf is ListOf for documents that are shown together with others, whose size is not known before. Each batch is
// shown in parts. The size of a part follows from how much was read for the part before, so that what is read for a
// part is no larger than a batch.
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
			beside := int(memory.BytesRead()-before) / len(part) // how many more bytes were read for each document
			size = max(1, min(batchBytes/max(1, beside), 4*size, storage.MaxMany))
		}
		return shown, len(pending) > 0 || batches.More(), err
	})
}

// Page is one page of a list that is cut by page numbers.
type Page struct {
	number int // from 1
	size   int
	total  int64
	// address is that of the list, without the query.
	address string
	query   url.Values
	// SizeName is the parameter that sets the size, "" for per_page.
	SizeName string
}

// PageOf describes the page that a request asks for, once the total is known.
func PageOf(ctx context.Context, links links.Links, number, size int, total int64) Page {
	r := RequestOf(ctx)
	return Page{number: number, size: size, total: total, address: links.Base + r.Path, query: r.query}
}

// OffsetOf is how many entries lie before a page. It stays within what a query can skip, however great the number.
func OffsetOf(number, size int) int {
	const most = 1 << 40
	if number < 1 || size < 1 {
		return 0
	}
	return min(number-1, most/size) * size
}

// CutPage returns a page of a list that is in memory.
func CutPage[T any](all []T, number, size int) []T {
	start := min(OffsetOf(number, size), len(all))
	return all[start:min(start+size, len(all))]
}

// count is the number of pages: 0 for an empty list, and for a size of 0, which asks for the total alone.
func (p Page) count() int {
	if p.size == 0 {
		return 0
	}
	return int((p.total + int64(p.size) - 1) / int64(p.size))
}

// Beyond reports whether the page is behind the last one. Of a list that is longer than
// storage.MaxCount no more can be reached by pages.
func (p Page) Beyond() bool {
	return p.size == 0 || int64(OffsetOf(p.number, p.size)) >= p.total
}

// at is the address of another page, all else of the query unchanged.
func (p Page) at(number int) string {
	return p.With("page", strconv.Itoa(number), cmp.Or(p.SizeName, "per_page"), strconv.Itoa(p.size))
}

// With is the address of the request with other values of parameters, each behind its name.
func (p Page) With(changed ...string) string {
	query := url.Values{}
	maps.Copy(query, p.query)
	for pair := range slices.Chunk(changed, 2) {
		query.Set(pair[0], pair[1])
	}
	return p.address + "?" + query.Encode()
}

// Self is the address of the request.
func (p Page) Self() string {
	if len(p.query) == 0 {
		return p.address
	}
	return p.With()
}

// neighbours lists the pages one can go to, by relation.
func (p Page) neighbours() []relation {
	last := max(p.count(), 1)
	relations := []relation{{"first", p.at(1)}}
	if p.number > 1 {
		relations = append(relations, relation{"prev", p.at(min(p.number-1, last))})
	}
	if p.number < last {
		relations = append(relations, relation{"next", p.at(p.number + 1)})
	}
	return append(relations, relation{"last", p.at(last)})
}

type relation struct{ name, address string }

// PageHeaders is pagination by headers (docs/semantics.md 1.10, style 2). Answers
// embed it; it is exported because huma passes over embedded types that are not.
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
	links := storage.Map(p.neighbours(), func(to relation) string { return "<" + to.address + `>; rel="` + to.name + `"` })
	headers.Link = strings.Join(links, ", ")
	return headers
}

// PageEnvelope is pagination by members of the body (docs/semantics.md 1.10, style 4). Bodies embed it, exported for
// the same reason.
type PageEnvelope struct {
	Links      map[string]Href `json:"_links"`
	Page       int             `json:"page"`
	PerPage    int             `json:"per_page"`
	TotalPages int             `json:"total_pages"`
	TotalCount int64           `json:"total_count"`
}

// Href is a link.
type Href struct {
	Href string `json:"href"`
}

// Envelope returns the members of an answer that describe the page.
func (p Page) Envelope() PageEnvelope {
	links := map[string]Href{"self": {p.Self()}}
	for _, relation := range p.neighbours() {
		links[relation.name] = Href{relation.address}
	}
	return PageEnvelope{Links: links, Page: p.number, PerPage: p.size, TotalPages: p.count(), TotalCount: p.total}
}

// PaginationInfo is pagination by a member of its own (docs/semantics.md 1.10, style 3).
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
