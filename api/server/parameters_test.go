package server

import (
	"maps"
	"strconv"
	"strings"
	"testing"

	"attestry/api/validation"
	"attestry/evidence"
	"attestry/links"
)

func TestParametersAreReadLaxly(t *testing.T) {
	s := start(t, testRoutes())
	const defaults = `{"page":1,"per_page":15,"reverse":false,"since":0,"sort":"name","name":"","name_given":false,"flow":"","types":null,"numbers":null}`
	for query, want := range map[string]string{
		"":                                defaults,
		"?unknown=1":                      defaults,
		"?page=2&per_page=5.0":            `{"page":2,"per_page":5,"reverse":false,"since":0,"sort":"name","name":"","name_given":false,"flow":"","types":null,"numbers":null}`,
		"?reverse=yes&since=1e3&name=":    `{"page":1,"per_page":15,"reverse":true,"since":1000,"sort":"name","name":"","name_given":true,"flow":"","types":null,"numbers":null}`,
		"?page=9&page=3&reverse=OFF":      `{"page":3,"per_page":15,"reverse":false,"since":0,"sort":"name","name":"","name_given":false,"flow":"","types":null,"numbers":null}`,
		"?type=K8S&type=server":           `{"page":1,"per_page":15,"reverse":false,"since":0,"sort":"name","name":"","name_given":false,"flow":"","types":["K8S","server"],"numbers":null}`,
		"?number=1&number=2.0&name=a%2Cb": `{"page":1,"per_page":15,"reverse":false,"since":0,"sort":"name","name":"a,b","name_given":true,"flow":"","types":null,"numbers":[1,2]}`,
		"?sort=last_modified_at&flow=ab":  `{"page":1,"per_page":15,"reverse":false,"since":0,"sort":"last_modified_at","name":"","name_given":false,"flow":"ab","types":null,"numbers":null}`,
	} {
		if got := s.send(t, "GET", links.Prefix+"/things/acme/search"+query, "reader", ""); got.status != 200 || got.body != want {
			t.Errorf("%s:\n got %d %s\nwant %s", query, got.status, got.body, want)
		}
	}
}

func TestWrongParametersAreAllReported(t *testing.T) {
	s := start(t, testRoutes())
	for query, want := range map[string]map[string]string{
		"page=&per_page=&reverse=&since=&sort=&flow=&type=&number=": {
			"query.page":      "Input should be a valid integer, unable to parse string as an integer [input: ]",
			"query.per_page":  "Input should be a valid integer, unable to parse string as an integer [input: ]",
			"query.reverse":   "Input should be a valid boolean, unable to interpret input [input: ]",
			"query.since":     "Input should be a valid number, unable to parse string as a number [input: ]",
			"query.sort":      "Input should be 'name' or 'last_modified_at' [input: ]",
			"query.flow":      "String should match pattern '^[a-z]+$' [input: ]",
			"query.type[0]":   "Input should be 'K8S' or 'server' [input: ]",
			"query.number[0]": "Input should be a valid integer, unable to parse string as an integer [input: ]",
		},
		"page=0&per_page=51": {"query.page": "Input should be greater than or equal to 1 [input: 0]", "query.per_page": "Input should be less than or equal to 50 [input: 51]"},
		"page=1e3&per_page=1E1": {
			"query.page":     "Input should be a valid integer, unable to parse string as an integer [input: 1e3]",
			"query.per_page": "Input should be a valid integer, unable to parse string as an integer [input: 1E1]",
		},
		"page=%&name=a;b": {
			"query.page": "Input should be a valid string, unable to undo its escapes [input: %]",
			"query.name": "Input should be a valid string, with ';' sent as %3B [input: a;b]",
		},
		"page=1.5":                  {"query.page": "Input should be a valid integer, unable to parse string as an integer [input: 1.5]"},
		"page=99999999999999999999": {"query.page": "Unable to parse input string as an integer, exceeded maximum size [input: 99999999999999999999]"},
		"since=1e999":               {"query.since": "Input should be a finite number [input: 1e999]"},
		"since=nan":                 {"query.since": "Input should be a valid number, unable to parse string as a number [input: nan]"},
		"type=K8S&type=k8s":         {"query.type[1]": "Input should be 'K8S' or 'server' [input: k8s]"},
		"name=%00":                  {"query.name": validation.UnreadableText + " [input: \x00]"},
		"name=%ff":                  {"query.name": validation.UnreadableText + " [input: \uFFFD]"},
		"name=a%ff&name=b":          {"query.name": validation.UnreadableText + " [input: a\uFFFD]"},
		"type=K8S&type=%c0":         {"query.type[1]": validation.UnreadableText + " [input: \uFFFD]"},
		"page=%ff&since=%ff":        {"query.page": validation.UnreadableText + " [input: \uFFFD]", "query.since": validation.UnreadableText + " [input: \uFFFD]"},
		"reverse=%c0&sort=%ff":      {"query.reverse": validation.UnreadableText + " [input: \uFFFD]", "query.sort": validation.UnreadableText + " [input: \uFFFD]"},
		"page=%ff&page=2":           {"query.page": validation.UnreadableText + " [input: \uFFFD]"},
		"number=1&number=%ff":       {"query.number[1]": validation.UnreadableText + " [input: \uFFFD]"},
		"unknown=%ed%a0%80":         {"query.unknown": validation.UnreadableText + " [input: \uFFFD]"},
		"%ff=1":                     {"query.\uFFFD": validation.UnreadableText + " [input: 1]"},
	} {
		got := s.send(t, "GET", links.Prefix+"/things/acme/search?"+query, "reader", "")
		got.expect(t, 400, evidence.ValidationMessage)
		if errors := got.decoded(t).Errors; !maps.Equal(errors, want) {
			t.Errorf("%s:\n got %v\nwant %v", query, errors, want)
		}
	}
}

func TestParametersAreCheckedBeyondTheMaximumOfFindings(t *testing.T) {
	s := start(t, testRoutes())
	query := ""
	for i := range validation.MaxFindings {
		query += "u" + strconv.Itoa(i) + "=%ff&"
	}
	for _, wrong := range []string{"page=x", "reverse=x", "number=x"} {
		s.send(t, "GET", links.Prefix+"/things/acme/search?"+query+wrong, "reader", "").expect(t, 400, evidence.ValidationMessage)
	}
}

func TestPathsThatAreNoTextAreRefusedByParameter(t *testing.T) {
	s := start(t, testRoutes())
	for path, at := range map[string]string{
		"/things/acme/a%ff":          "path.name",
		"/things/acme/%ed%a0%80":     "path.name",
		"/things/acme/a%00":          "path.name",
		"/things/acme/%00":           "path.name",
		"/things/acme%ff/name":       "path.org",
		"/things/acme/%c0%af/search": "",
	} {
		got := s.send(t, "GET", links.Prefix+path, "reader", "")
		if at == "" {
			got.expect(t, 404, pathUnknownMessage)
			continue
		}
		got.expect(t, 400, evidence.ValidationMessage)
		if text := got.decoded(t).Errors[at]; !strings.HasPrefix(text, validation.UnreadableText) {
			t.Errorf("%s: %s, want a finding at %s", path, got.body, at)
		}
	}
	if got := s.send(t, "GET", links.Prefix+"/things/acme/Pr%C3%BCfung", "reader", ""); got.status != 200 || got.body != `"Prüfung"` {
		t.Errorf("%d %s", got.status, got.body)
	}
}
