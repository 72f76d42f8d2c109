package request

import (
	"net/url"
	"strconv"

	"attestry/api/web/view"
)

// Paged is the query for a page of a list in the API.
func (r *Request) Paged() url.Values {
	return url.Values{"page": {strconv.Itoa(r.Number("page"))}, "per_page": {strconv.Itoa(view.RowsPerPage)}}
}

// Pager links to other pages of a list.
type Pager struct {
	// Label names the list for screen readers.
	Label          string
	Number, Last   int
	Previous, Next string // addresses, "" for none
}

// Number is the number of the page that the query asks for, from 1.
func (r *Request) Number(parameter string) int {
	asked, _ := strconv.Atoi(r.C.Query(parameter))
	return max(1, asked)
}

// Pager makes a pager of the list whose page is in a parameter of the query. All else of the query stays.
func (r *Request) Pager(parameter string, number, last int) Pager {
	at := func(number int) string {
		values := url.Values{}
		for name, value := range r.C.Queries() {
			values.Set(name, value)
		}
		values.Set(parameter, strconv.Itoa(number))
		return "?" + values.Encode()
	}
	made := Pager{Label: "Pages", Number: number, Last: last}
	if parameter != "page" {
		made.Label = "Pages of " + parameter
	}
	if number > 1 {
		made.Previous = at(min(number-1, max(1, last)))
	}
	if number < last {
		made.Next = at(number + 1)
	}
	return made
}

// Cut is the page of a whole list that the query asks for.
func Cut[T any](r *Request, all []T) ([]T, Pager) {
	last := (len(all) + view.RowsPerPage - 1) / view.RowsPerPage
	number := min(r.Number("page"), max(1, last))
	begin := (number - 1) * view.RowsPerPage
	return all[begin:min(begin+view.RowsPerPage, len(all))], r.Pager("page", number, last)
}
