package resource

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/jsonstream"
	"attestry/api/server"
)

// DataPage is a page of a list with its pagination beside it
// (docs/semantics.md 1.10, style 3).
type DataPage[T any] struct {
	Data       jsonstream.List[T]    `json:"data"`
	Pagination server.PaginationInfo `json:"pagination"`
}

// DataList is a bare array, or a page when one was asked for.
type DataList[T any] struct {
	Paged *server.PaginationInfo
	Items jsonstream.List[T]
}

// JSONForm returns whichever form was asked for.
func (l DataList[T]) JSONForm() any {
	if l.Paged == nil {
		return l.Items
	}
	return DataPage[T]{Data: l.Items, Pagination: *l.Paged}
}

// EscapesHTML marks the answers in which <, > and & are written as escapes.
func (DataList[T]) EscapesHTML() {}

// Schema describes both forms.
func (DataList[T]) Schema(registry huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: huma.TypeArray, Items: registry.Schema(reflect.TypeFor[T](), true, "")},
		registry.Schema(reflect.TypeFor[DataPage[T]](), true, ""),
	}}
}
