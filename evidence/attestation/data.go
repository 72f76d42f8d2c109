package attestation

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"attestry/evidence"
	"attestry/evidence/jsontext"
)

// ReadData returns the payload in an attestation_data member: an object, a list, or JSON in a string (docs/semantics.md
// 8.2). Anything else, and a payload beyond MaxPayload, MaxDepth or the limits of numbers, is an Invalid error.
func ReadData(member json.RawMessage) (json.RawMessage, error) {
	data := bytes.TrimSpace(member)
	switch {
	case len(data) == 0:
		return nil, dataError("", missingText, nil)
	case data[0] == '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return nil, dataError("", "Invalid JSON: not a string", member)
		}
		data = append([]byte{}, bytes.TrimSpace([]byte(text))...) // an empty text is not nil, which stands for no value
	case data[0] != '{' && data[0] != '[':
		return nil, dataError("", "JSON input should be string, object or list", member)
	}
	if _, err := decode(data); err != nil {
		return nil, err
	}
	// decode accepts repeated keys, as earlier versions have stored such payloads.
	if path, key, repeated := jsontext.Repeated(data); repeated {
		shown, _ := json.Marshal(key)
		return nil, dataError(path, jsontext.RepeatedText, shown)
	}
	return data, nil
}

// decode reads a payload, with numbers as json.Number.
func decode(data json.RawMessage) (any, error) {
	switch {
	case len(data) > MaxPayload:
		return nil, dataError("", "Data should have at most 1048576 bytes", data)
	case jsontext.NestsDeeper(data, MaxDepth):
		return nil, dataError("", "Invalid JSON: recursion limit exceeded", data)
	}
	value, err := decodeJSON(data)
	if err != nil {
		return nil, dataError("", "Invalid JSON: "+err.Error(), data)
	}
	if offset := jsontext.Invalid(data); offset >= 0 {
		path, _ := jsontext.Location(data, offset)
		return nil, dataError(path, "Input should be a valid string, unable to parse raw data as a unicode string", data)
	}
	if at, err := checkNumbers(value); err != nil {
		return nil, evidence.FieldError(DataMember+cut(at), "Input should hold numbers of moderate size only: %v", err)
	}
	return value, nil
}

// decodeJSON reads exactly one JSON value.
func decodeJSON(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("unexpected end of input")
		}
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("trailing characters")
	}
	return value, nil
}

// dataError is a finding at a path within the payload.
func dataError(path, text string, raw json.RawMessage) *evidence.Error {
	at := DataMember
	if path != "" && path[0] != '[' {
		at += "."
	}
	at += path
	return evidence.ValidationError(map[string]string{at: text + shown(raw)})
}
