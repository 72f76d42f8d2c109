package resource

import (
	"context"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/links"
)

// ParseCursor reads the parameter `after` of a list that goes on by a cursor
// (docs/semantics.md 1.10, style 5): the number of the page, and where the store goes on.
func ParseCursor(after string) (number int, cursor string, err error) {
	if after == "" {
		return 1, "", nil
	}
	digits, cursor, found := strings.Cut(after, ".")
	number, err = strconv.Atoi(digits)
	if err != nil || !found || number < 2 || cursor == "" {
		return 0, "", WrongCursor(after)
	}
	return number, cursor, nil
}

// WrongCursor is the answer to a cursor that is not one of this list.
func WrongCursor(after string) error {
	return evidence.ValidationError(map[string]string{
		"query.after": "Input should be the cursor of a page of this list [input: " + validation.Cut(after) + "]",
	})
}

// CursorLinks are the links of a page of a list that goes on by a cursor: its own, and that
// of the page of the number next. cursor is where the store goes on, "" if there is no next
// page.
func CursorLinks(ctx context.Context, all links.Links, next int, cursor string) map[string]server.Href {
	asked := server.PageOf(ctx, all, 1, 1, 0)
	links := map[string]server.Href{"self": {Href: asked.Self()}}
	if cursor == "" {
		return links
	}
	asked.Query = maps.Clone(asked.Query)
	if asked.Query == nil {
		asked.Query = url.Values{}
	}
	asked.Query.Set("after", strconv.Itoa(next)+"."+cursor)
	links["next"] = server.Href{Href: asked.Self()}
	return links
}
