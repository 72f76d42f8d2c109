package resource

import (
	"cmp"
	"context"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/jsonstream"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/links"
	"attestry/storage"
)

// ParseCursor reads the parameter `after` of a list with cursors (docs/semantics.md 1.10, style 5). It returns the
// number of the page and the store's cursor.
func ParseCursor(after string) (number int, cursor string, err error) {
	if after == "" {
		return 1, "", nil
	}
	digits, cursor, found := strings.Cut(after, ".")
	number, err = strconv.Atoi(digits)
	if err != nil || !found || number < 2 || cursor == "" {
		return 0, "", invalidCursor(after)
	}
	return number, cursor, nil
}

func invalidCursor(after string) error {
	return validation.Fault("query.after", "Input should be the cursor of a page of this list", after)
}

// CursorPage lists the documents of the page after a cursor. It ends after the batch that exceeds server.MaxPage.
func CursorPage[S, T any](batchBytes int, after string, found *storage.Batches[S], show func(context.Context, []S) ([]T, error)) jsonstream.List[T] {
	return jsonstream.NewList(func(ctx context.Context) ([]T, bool, error) {
		server.RequestOf(ctx).Memory.Rewind(0)
		batch, err := found.Next(ctx, batchBytes)
		if err != nil && after != "" && evidence.CodeOf(err) == evidence.Invalid {
			err = invalidCursor(after)
		}
		if err != nil {
			return nil, false, err
		}
		shown, err := show(ctx, batch)
		return shown, found.More() && found.Bytes() < server.MaxPage, err
	})
}

// LinksAfter returns the links to this page of a list with cursors, and to the next page, which has the number next.
// They are made after the page has been sent. Then cursor returns the store's cursor, "" if there is no next page.
func LinksAfter(ctx context.Context, all links.Links, next int, cursor func() string) jsonstream.Map[server.Href] {
	return jsonstream.NewMap(func(yield func(string, server.Href) bool) {
		page := server.PageOf(ctx, all, 1, 1, 0)
		if after := cursor(); after == "" || yield("next", server.Href{Href: page.With("after", strconv.Itoa(next)+"."+after)}) {
			yield("self", server.Href{Href: page.Self()})
		}
	})
}

// DataPage is a page of a list with its pagination (docs/semantics.md 1.10, style 3).
type DataPage[T any] struct {
	Data       jsonstream.List[T]    `json:"data"`
	Pagination server.PaginationInfo `json:"pagination"`
}

// ListOrPage is an L, which is an array, or a P if the query has a page.
type ListOrPage[L, P any] struct {
	List L
	Page *P
}

// JSONForm returns the page if there is one, else the array.
func (l ListOrPage[L, P]) JSONForm() any {
	if l.Page == nil {
		return l.List
	}
	return *l.Page
}

// EscapesHTML marks answers whose JSON escapes <, > and &.
func (ListOrPage[L, P]) EscapesHTML() {}

// Schema describes both forms.
func (ListOrPage[L, P]) Schema(registry huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		registry.Schema(reflect.TypeFor[L](), true, ""), registry.Schema(reflect.TypeFor[P](), true, ""),
	}}
}

// DataList is a bare array, or a DataPage if the query has a page.
type DataList[T any] = ListOrPage[jsonstream.List[T], DataPage[T]]

// NewDataList makes a list of items. Without a pagination, it is an array.
func NewDataList[T any](items jsonstream.List[T], paged *server.PaginationInfo) DataList[T] {
	if paged == nil {
		return DataList[T]{List: items}
	}
	return DataList[T]{Page: &DataPage[T]{Data: items, Pagination: *paged}}
}

const (
	// DefaultWindow is the length of a window without a start, in seconds: 28 days (docs/semantics.md 14.4).
	DefaultWindow = 28 * 24 * 3600
	// MaxSeries bounds the times in a series. The newest ones are kept.
	MaxSeries = 100_000
)

// WindowQuery bounds a query in time. It is exported because huma ignores unexported embedded types.
type WindowQuery struct {
	Start float64 `query:"start_ts" doc:"Unix seconds, included. 28 days before end_ts when left out."`
	End   float64 `query:"end_ts" doc:"Unix seconds, included. Now when left out."`
}

// Window is a range of time in Unix seconds, both bounds included. It is empty if it ends before it begins.
type Window struct{ From, To float64 }

// WindowOf returns the window of a query, with defaults. It is rounded because answers repeat it.
func (b *Base) WindowOf(ctx context.Context, in WindowQuery) Window {
	return b.WindowBetween(IfSent(ctx, "start_ts", in.Start), IfSent(ctx, "end_ts", in.End))
}

// WindowBetween returns the window between two bounds, with defaults for those that are nil.
func (b *Base) WindowBetween(start, end *float64) Window {
	end = cmp.Or(end, new(evidence.Seconds(b.Clock())))
	start = cmp.Or(start, new(*end-DefaultWindow))
	return Window{From: evidence.RoundSeconds(*start), To: evidence.RoundSeconds(*end)}
}

// IfSent returns the value of a query parameter, nil if it was not sent.
func IfSent[T any](ctx context.Context, name string, value T) *T {
	if !server.QueryHas(ctx, name) {
		return nil
	}
	return &value
}
