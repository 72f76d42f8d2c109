package storage

import (
	"encoding/base64"
	"encoding/json"
	"errors"

	"attestry/evidence"
)

// Position is a position in an index: the values of the fields that follow a query's equalities, and the id.
type Position struct {
	Values []any
	ID     string
}

// cursor is the content of Page.Next for all engines. Values are JSON of EncodeValue, which keeps their types.
type cursor struct {
	Collection string            `json:"c"`
	Index      string            `json:"x"`
	Descending bool              `json:"d,omitempty"`
	Values     []json.RawMessage `json:"v"`
	ID         string            `json:"i"`
	// Skip is what is left of the query's offset.
	Skip int `json:"s,omitempty"`
}

func (c *cursor) encode() (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(text), nil
}

// CursorIndex returns the index that a cursor was made for, "" if it is malformed.
func CursorIndex(text string) string {
	c, err := unmarshalCursor(text)
	if err != nil {
		return ""
	}
	return c.Index
}

func unmarshalCursor(text string) (cursor, error) {
	var c cursor
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(decoded, &c)
	}
	return c, err
}

// decodeCursor reads the cursor of a query. A cursor of another query is the client's mistake.
func decodeCursor(schema *Schema, index Index, query Query) (Position, int, error) {
	position, skip, err := parseCursor(schema, index, query)
	if err != nil {
		return Position{}, 0, evidence.NewError(evidence.Invalid, "Invalid cursor")
	}
	return position, skip, nil
}

func parseCursor(schema *Schema, index Index, query Query) (Position, int, error) {
	c, err := unmarshalCursor(query.After)
	if err != nil {
		return Position{}, 0, err
	}
	if c.Collection != schema.Name || c.Index != index.Name || c.Descending != query.Descending ||
		len(c.Values) != len(index.Fields)-len(query.Equal) || c.ID == "" || c.Skip < 0 {
		return Position{}, 0, errors.New("the cursor of another query")
	}
	position := Position{ID: c.ID, Values: make([]any, len(c.Values))}
	for i, raw := range c.Values {
		var value any
		if err := decodeExact(string(raw), &value); err != nil {
			return Position{}, 0, err
		}
		if position.Values[i], err = exactValue(value); err != nil {
			return Position{}, 0, err
		}
		if err := CheckValue(position.Values[i]); err != nil {
			return Position{}, 0, err
		}
	}
	return position, c.Skip, CheckText(c.ID)
}
