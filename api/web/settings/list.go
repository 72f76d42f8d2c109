package settings

import (
	"encoding/json"
	"net/url"
	"strings"

	"attestry/api/jsonstream"
	"attestry/api/server"
)

// maxMember bounds the kept members of a row, in bytes. Longer ones, such as policy files, are not shown in lists.
const maxMember = 4 << 10

// row is an element of a list.
type row map[string]json.RawMessage

// text formats a member, "" if there is none.
func (r row) text(member string) string { return plain(r.value(member)) }

func (r row) value(member string) (value any) {
	if json.Unmarshal(r[member], &value) != nil {
		return nil
	}
	return value
}

func (r row) decodeMember(decoder *jsonstream.Decoder, name string) error {
	var value json.RawMessage
	err := decoder.Decode(&value)
	if len(value) <= maxMember {
		r[name] = value
	}
	return err
}

type list struct {
	rows []row
	// pages is the number of pages, 0 if the answer does not say it.
	pages int
	// array is set if the answer is an array.
	array bool
	links struct {
		Next server.Href `json:"next"`
	}
}

// after is the cursor of the next page, "" for none.
func (l *list) after() string {
	_, query, _ := strings.Cut(l.links.Next.Href, "?")
	next, _ := url.ParseQuery(query)
	return next.Get("after")
}

// decode reads an answer: an array, or an object with an array. An object without one is a single row.
func (l *list) decode(decoder *jsonstream.Decoder) error {
	add := func() error {
		one := row{}
		l.rows = append(l.rows, one)
		return decoder.EachMember(func(name string) error { return one.decodeMember(decoder, name) })
	}
	if l.array = decoder.Begins('['); l.array {
		return decoder.EachElement(add)
	}
	isList, self := false, row{}
	err := decoder.EachMember(func(name string) error {
		switch {
		case decoder.Begins('['):
			isList = true
			return decoder.EachElement(add)
		case name == "_links":
			return decoder.Decode(&l.links)
		case name == "total_pages":
			return decoder.Decode(&l.pages)
		case name == "pagination":
			return decoder.Decode(&struct {
				Pages *int `json:"page_count"`
			}{&l.pages})
		}
		return self.decodeMember(decoder, name)
	})
	if !isList {
		l.rows = []row{self}
	}
	return err
}
