// Package examples holds one example of a request and its answer for each operation, for the OpenAPI document. The test
// TestExamplesAreWhatTheServiceAnswers sends the requests to the service and compares the answers. It writes the
// answers if ATTESTRY_TEST_UPDATE is set; the requests are written by hand.
package examples

import (
	"embed"
	"encoding/json"
	"fmt"
)

//go:embed *.json
var files embed.FS

// Example is one exchange.
type Example struct {
	// Operation is the id of the operation.
	Operation string `json:"operation"`
	// Parameters are those of path and query.
	Parameters map[string]json.RawMessage `json:"parameters,omitempty"`
	// Request is the body, for a form its parts by name.
	Request json.RawMessage `json:"request,omitempty"`
	// Media is the content type of an answer that is not JSON; Answer is then a string.
	Media  string          `json:"media,omitempty"`
	Answer json.RawMessage `json:"answer"`
}

// Files returns the examples by file name.
func Files() (map[string][]Example, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("list the examples: %w", err)
	}
	all := map[string][]Example{}
	for _, entry := range entries {
		content, err := files.ReadFile(entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read an example: %w", err)
		}
		var examples []Example
		if err := json.Unmarshal(content, &examples); err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name(), err)
		}
		all[entry.Name()] = examples
	}
	return all, nil
}

// All returns the examples by operation id.
func All() (map[string]Example, error) {
	byFile, err := Files()
	if err != nil {
		return nil, err
	}
	all := map[string]Example{}
	for _, examples := range byFile {
		for _, example := range examples {
			all[example.Operation] = example
		}
	}
	return all, nil
}
