package e2e_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"attestry/api/apitest"
)

func TestBodiesThatAreNotFormsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateFlow("build")
	for path, part := range map[string]string{
		"PUT /trails/" + s.Org + "/build":                        "data_json",
		"PUT /flows/" + s.Org + "/template_file":                 "data_json",
		"POST /attestations/" + s.Org + "/build/trail/t/generic": "data_json",
		"POST /custom-attestation-types/" + s.Org:                "data_json",
		"PUT /policies/" + s.Org:                                 "payload",
	} {
		method, path, _ := strings.Cut(path, " ")
		_, errors := s.Want(http.StatusBadRequest, method, path, []byte(`{"name":"t"}`)).Problem(t)
		want := map[string]string{
			part:   "Field required [input: None]",
			"body": "Input should be multipart/form-data with a boundary [input: application/json; charset=utf-8]",
		}
		if !maps.Equal(errors, want) {
			t.Errorf("%s %s: found %v", method, path, errors)
		}
	}
}

func TestOnlyTheWrongMembersOfACommitAreReported(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for commit, want := range map[string]map[string]string{
		`{"sha1":"a","timestamp":1750923680,"url":5}`:             {"git_commit_info.url": "Input should be a valid string [input: 5]"},
		`{"sha1":5,"timestamp":1750923680.5,"verified":"yes"}`:    {"git_commit_info.sha1": "Input should be a valid string [input: 5]"},
		`{"sha1":"a","timestamp":"soon","parents":["a",1]}`:       {"git_commit_info.timestamp": "Input should be a valid number, unable to parse string as a number [input: soon]", "git_commit_info.parents[1]": "Input should be a valid string [input: 1]"},
		`{"timestamp":"1750923680","author":null,"verified":"x"}`: {"git_commit_info.sha1": "Field required [input: None]", "git_commit_info.verified": "Input should be a valid boolean, unable to interpret input [input: x]"},
	} {
		_, errors := s.WantForm(http.StatusBadRequest, http.MethodPut, "/trails/"+s.Org+"/build", `{"name":"t","git_commit_info":`+commit+`}`).Problem(t)
		if !maps.Equal(errors, want) {
			t.Errorf("%s: found %v", commit, errors)
		}
	}
}
