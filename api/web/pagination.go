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
	// Previous and Next are the addresses of other pages of the list, "" for none.
	Previous string `json:"-"`
	Next     string `json:"-"`
}

// number is which page of a list people ask for, from 1.
func (p *page) number() int {
	number, _ := strconv.Atoi(p.c.Query("page"))
	return max(1, number)
}

// paged is the query for a page of a list in the API.
func (p *page) paged() url.Values {
	return url.Values{"page": {strconv.Itoa(p.number())}, "per_page": {strconv.Itoa(rowsPerPage)}}
}

// link sets the addresses of other pages. They keep the filter.
func (n *pagination) link(filter url.Values) {
	address := func(number int) string {
		filter.Set("page", strconv.Itoa(number))
		return "?" + filter.Encode()
	}
	if n.Page > 1 {
		n.Previous = address(min(n.Page-1, max(1, n.Pages)))
	}
	if n.Page < n.Pages {
		n.Next = address(n.Page + 1)
	}
}
