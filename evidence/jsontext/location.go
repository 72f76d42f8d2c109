package jsontext

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Location returns the path of the value at an offset of JSON, such as artifacts[0].digests.name or "" for the root,
// and the value if it is a string. The path of a member's name ends in [key].
func Location(data []byte, offset int) (path, text string) {
	decoder := newDecoder(data)
	for {
		token, err := decoder.ReadToken()
		if err == nil && decoder.InputOffset() <= int64(offset) {
			continue
		}
		if err == nil && token.Kind() == '"' {
			text = token.String()
		}
		return pathOf(decoder), text
	}
}

// newDecoder makes a decoder that accepts the same JSON as encoding/json.
func newDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// pathOf is the path of the last token.
func pathOf(decoder *jsontext.Decoder) (path string) {
	depth := 0
	for token := range decoder.StackPointer().Tokens() {
		depth++
		if kind, _ := decoder.StackIndex(depth); kind == '[' {
			path += "[" + token + "]"
		} else {
			path = join(path, token)
		}
	}
	if kind, length := decoder.StackIndex(decoder.StackDepth()); kind == '{' && length%2 == 1 {
		path = join(path, "[key]")
	}
	return path
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
