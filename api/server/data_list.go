package server

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/jsonstream"
)

// DataPage is a page of a list with its pagination beside it (contract/responses.md,
// style 3).
type DataPage[T any] struct {
	Data       jsonstream.List[T] `json:"data"`
	Pagination PaginationInfo     `json:"pagination"`
}

// dataList is a bare array, or a page when one was asked for.
type dataList[T any] struct {
	paged *PaginationInfo
	items jsonstream.List[T]
}

// JSONForm returns whichever form was asked for.
func (l dataList[T]) JSONForm() any {
	if l.paged == nil {
		return l.items
	}
	return DataPage[T]{Data: l.items, Pagination: *l.paged}
}

func (dataList[T]) escapesHTML() {}

// Schema describes both forms.
func (dataList[T]) Schema(registry huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: huma.TypeArray, Items: registry.Schema(reflect.TypeFor[T](), true, "")},
		registry.Schema(reflect.TypeFor[DataPage[T]](), true, ""),
	}}
}
