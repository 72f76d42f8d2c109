package request

import (
	"net/url"
	"strconv"

	"attestry/api/web/view"
)

// Paged is the API's query for the requested page of a list.
func (r *Request) Paged() url.Values {
	return url.Values{"page": {strconv.Itoa(r.Number("page"))}, "per_page": {strconv.Itoa(view.RowsPerPage)}}
}

// Query is the query of the page. web.Site has answered one that cannot be parsed with an error.
func (r *Request) Query() url.Values {
	query, _ := url.ParseQuery(string(r.C.Request().URI().QueryString()))
	return query
}

// Pager links to other pages of a list.
type Pager struct {
	// Label names the list for screen readers.
	Label string
	// Number and Last are 0 if they are not known.
	Number, Last   int
	Previous, Next string // URLs, "" for none
}

// Number is the requested page number, from 1.
func (r *Request) Number(parameter string) int {
	number, _ := strconv.Atoi(r.C.Query(parameter))
	return max(1, number)
}

// Pager returns the pager of a list whose page number is a parameter of the query. It keeps the other parameters.
func (r *Request) Pager(parameter string, number, last int) Pager {
	at := func(number int) string {
		values := r.Query()
		values.Set(parameter, strconv.Itoa(number))
		return "?" + values.Encode()
	}
	pager := Pager{Label: "Pages", Number: number, Last: last}
	if parameter != "page" {
		pager.Label = "Pages of " + parameter
	}
	if number > 1 {
		pager.Previous = at(min(number-1, max(1, last)))
	}
	if number < last {
		pager.Next = at(number + 1)
	}
	return pager
}

// Cut returns the requested page of a complete list.
func Cut[T any](r *Request, all []T) ([]T, Pager) {
	last := (len(all) + view.RowsPerPage - 1) / view.RowsPerPage
	number := min(r.Number("page"), max(1, last))
	begin := (number - 1) * view.RowsPerPage
	return all[begin:min(begin+view.RowsPerPage, len(all))], r.Pager("page", number, last)
}
