package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"attestry/evidence"
)

// maxIndented is the longest JSON that is indented, in bytes: indentation multiplies deeply nested JSON.
const maxIndented = 64 << 10

var errForm = errors.New("it is not in the form in which packages are written")

// Encode returns the content of a JSON member: indented unless it is long, with a final line break.
func Encode(value any) ([]byte, error) {
	var content bytes.Buffer
	if err := encodeLine(&content, value); err != nil {
		return nil, err
	}
	if content.Len() > maxIndented {
		return content.Bytes(), nil
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, content.Bytes(), "", "  "); err != nil {
		return nil, fmt.Errorf("indent a member: %w", err)
	}
	return indented.Bytes(), nil
}

// Sum is the SHA-256 of a value as Encode writes it.
func Sum(value any) (string, error) {
	content, err := Encode(value)
	return evidence.SHA256(content), err
}

// encodeLine writes a value without indentation, with a final line break.
func encodeLine(content *bytes.Buffer, value any) error {
	encoder := json.NewEncoder(content)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("encode a member: %w", err)
	}
	return nil
}

// Decode reads a JSON member. The content must equal the output of Encode, so that all decoders read the same.
func Decode(content []byte, value any) error {
	if isIndented(content) && len(content) > maxIndented {
		var compact bytes.Buffer
		if json.Compact(&compact, content) != nil || compact.Len() >= maxIndented { // without the line break
			return errForm
		}
	}
	if err := json.Unmarshal(content, value); err != nil {
		return err
	}
	again, err := Encode(value)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, content) {
		return errForm
	}
	return nil
}

// decodeList reads a list as Decode does, entry by entry, because hostile entries can take many times their length when
// they are decoded. It ends at the first entry that Encode would write differently.
func decodeList[T any](v *Verifier, content []byte, kept *[]T) error {
	if isIndented(content) || len(content) <= maxIndented {
		var decoded []T
		if err := v.decode(content, &decoded); err != nil {
			return err
		}
		*kept = decoded
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	var decoded []T
	var again bytes.Buffer
	rest, separator := content, "["
	for ; decoder.More(); separator = "," {
		var text json.RawMessage
		if err := decoder.Decode(&text); err != nil {
			return err
		}
		var entry T
		if err := checkSize(text, &entry, v.limits.decoded); err != nil {
			return err
		}
		if err := json.Unmarshal(text, &entry); err != nil {
			return err
		}
		again.Reset()
		again.WriteString(separator)
		if err := encodeLine(&again, &entry); err != nil {
			return err
		}
		var same bool
		if rest, same = bytes.CutPrefix(rest, bytes.TrimSuffix(again.Bytes(), []byte("\n"))); !same {
			return errForm
		}
		decoded = append(decoded, entry)
	}
	if string(rest) != "]\n" {
		return errForm
	}
	*kept = decoded
	return nil
}

// isIndented reports whether JSON has a line break before its last byte. Strings in JSON contain none.
func isIndented(content []byte) bool { return bytes.IndexByte(content, '\n') < len(content)-1 }
