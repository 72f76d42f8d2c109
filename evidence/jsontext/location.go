package jsontext

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Location returns the path to the value at an offset of JSON, such as
// artifacts[0].digests.name or "" for the whole, and the value if it is a string.
// That of a member's name ends in [key].
func Location(data []byte, offset int) (path, text string) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var open []container
	for {
		token, err := decoder.Token()
		if err != nil {
			return pathOf(open), ""
		}
		reached := decoder.InputOffset() > int64(offset)
		text, isText := token.(string)
		if n := len(open); n > 0 && open[n-1].expectsName && isText {
			open[n-1].name, open[n-1].expectsName = text, false
			if reached {
				return join(pathOf(open), "[key]"), text
			}
			continue
		}
		if reached {
			return pathOf(open), text
		}
		switch token {
		case json.Delim('{'):
			open = append(open, container{expectsName: true})
			continue
		case json.Delim('['):
			open = append(open, container{isList: true})
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if n := len(open); n > 0 {
			open[n-1].next()
		}
	}
}

type container struct {
	isList      bool
	index       int
	name        string
	expectsName bool
}

// next moves behind a value.
func (c *container) next() {
	c.index++
	c.expectsName = !c.isList
}

func pathOf(open []container) string {
	path := ""
	for _, c := range open {
		switch {
		case c.isList:
			path += "[" + strconv.Itoa(c.index) + "]"
		case !c.expectsName:
			path = join(path, c.name)
		}
	}
	return path
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
