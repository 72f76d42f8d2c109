package web

import (
	"net/url"
	"strconv"
)

// pagination tells how a list of the API is divided into pages.
type pagination struct {
	Total int64 `json:"total"`
	Page  int   `json:"page"`
	Pages int   `json:"page_count"`
}

// paged is the query for a page of a list in the API.
func (p *page) paged() url.Values {
	return url.Values{"page": {strconv.Itoa(p.number("page"))}, "per_page": {strconv.Itoa(rowsPerPage)}}
}

// pager leads to other pages of a list.
type pager struct {
	// Label tells the lists of a page apart for people who cannot see it.
	Label          string
	Number, Last   int
	Previous, Next string // addresses, "" for none
}

// number is the number of the page that the query asks for, from 1.
func (p *page) number(parameter string) int {
	asked, _ := strconv.Atoi(p.c.Query(parameter))
	return max(1, asked)
}

// pager makes a pager of the list whose page is in a parameter of the query. All else of the query
// stays.
func (p *page) pager(parameter string, number, last int) pager {
	at := func(number int) string {
		values := url.Values{}
		for name, value := range p.c.Queries() {
			values.Set(name, value)
		}
		values.Set(parameter, strconv.Itoa(number))
		return "?" + values.Encode()
	}
	made := pager{Label: "Pages", Number: number, Last: last}
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

// cutPage is the page of a whole list that the query asks for.
func cutPage[T any](p *page, all []T) ([]T, pager) {
	last := (len(all) + rowsPerPage - 1) / rowsPerPage
	number := min(p.number("page"), max(1, last))
	begin := (number - 1) * rowsPerPage
	return all[begin:min(begin+rowsPerPage, len(all))], p.pager("page", number, last)
}
