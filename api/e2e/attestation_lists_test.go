package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// populateAttestations creates attestations of two flows. It advances the clock by the gap after each.
func (s *service) populateAttestations(gap time.Duration) {
	s.t.Helper()
	post := func(flow, kind, name, members string) {
		s.wantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.org+"/"+flow+"/trail/t/"+kind, `{"attestation_name":"`+name+`",`+members+`}`)
		s.clock.advance(gap)
	}
	commit := `,"git_commit_info":{"sha1":"` + firstCommit + `"}`
	post("one", "generic", "lint", `"is_compliant":true`)
	post("one", "junit", "unit-test", `"junit_results":[]`+commit)
	post("two", "generic", "lint", `"is_compliant":false`+commit)
	post("two", "system", "risk", `"type_name":"decision","attestation_data":{"is_compliant":true}`)
	post("two", "junit", "load-test", `"junit_results":[{"name":"s","failures":1,"errors":0,"skipped":0,"total":5,"duration":2.5}]`)
}

func TestAttestationsOfAnOrganizationAreFiltered(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	before := time.Now().Unix()
	s.populateAttestations(10 * time.Second)
	for query, want := range map[string]string{
		"":                              "load-test risk lint unit-test lint",
		"?name=lint":                    "lint lint",
		"?name=lin":                     "",
		"?name=":                        "load-test risk lint unit-test lint",
		"?name_regex=test":              "load-test unit-test",
		"?name_regex=%5El":              "load-test lint lint",
		"?flow=one":                     "unit-test lint",
		"?flow=one&flow=two&type=junit": "load-test unit-test",
		"?flow=one&flow=nosuch":         "unit-test lint",
		"?flow=nosuch":                  "",
		"?type=decision":                "risk",
		"?type=system:decision":         "risk",
		"?type=junit&type=decision":     "load-test risk unit-test",
		"?type=nosuch":                  "",
		"?is_compliant=true":            "risk unit-test lint",
		"?is_compliant=false&name=lint": "lint",
		"?is_compliant=0&flow=one":      "",
		fmt.Sprintf("?to_timestamp=%d", before-1):                            "",
		fmt.Sprintf("?from_timestamp=%d&to_timestamp=%d", before, before+15): "unit-test lint",
		fmt.Sprintf("?flow=two&from_timestamp=%d", before+25):                "load-test risk",
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			page := s.read("/attestations/" + s.org + query)
			data := lookup(t, page, "data").([]any)
			if got := column(t, data, "attestation_name"); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			for _, one := range data {
				clientReads(t, "attestation", one)
			}
			if total := lookup(t, page, "pagination"); total != nil && lookup(t, total, "total") != float64(len(data)) {
				t.Errorf("total is %v", lookup(t, total, "total"))
			}
		})
	}
	for query, field := range map[string]string{
		"?name=a&name_regex=b":                             "query.name_regex",
		"?name_regex=%28":                                  "query.name_regex",
		"?name_regex=%28%3F%3Da%29":                        "query.name_regex",
		"?name_regex=" + strings.Repeat("a", 501):          "query.name_regex",
		"?name_regex=" + strings.Repeat("a%7B0,999%7D", 9): "query.name_regex",
		"?after=nonsense":                                  "query.after",
		"?after=2.bm9uc2Vuc2U":                             "query.after",
		"?after=1.x":                                       "query.after",
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			message, errors := s.want(http.StatusBadRequest, http.MethodGet, "/attestations/"+s.org+query, nil).problem(t)
			if message != "Input payload validation failed" || errors[field] == "" {
				t.Errorf("%q %q", message, errors)
			}
		})
	}
}

func TestFilterByAllNamesOfAFlowListsAttestationsOnce(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.populateAttestations(0)
	s.want(http.StatusOK, http.MethodPut, "/flows/"+s.org+"/one/rename", []byte(`{"new_name":"uno"}`))
	s.want(http.StatusOK, http.MethodPut, "/flows/"+s.org+"/two/archive", []byte("null"))
	data := lookup(t, s.read("/attestations/"+s.org+"?flow=one&flow=uno&flow=two"), "data")
	if got := column(t, data, "attestation_name"); got != "unit-test lint" {
		t.Errorf("listed %s", got)
	}
}

func TestAttestationsOfAnOrganizationArePagedByCursor(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.populateAttestations(0)
	for filter, want := range map[string]string{
		"":                 "load-test risk lint unit-test lint",
		"&flow=two":        "load-test risk lint",
		"&name_regex=t":    "load-test lint unit-test lint",
		"&is_compliant=on": "risk unit-test lint",
	} {
		t.Run(s.caseName(filter), func(t *testing.T) {
			s := s.in(t)
			var names []string
			address := "/attestations/" + s.org + "?per_page=2" + filter
			for number := 1; address != ""; number++ {
				if number > 5 {
					t.Fatalf("the pages do not end")
				}
				page := s.read(address)
				if self := lookup(t, page, "_links", "self", "href").(string); !strings.HasPrefix(self, s.URL+"/api/v2/attestations/"+s.org+"?") {
					t.Errorf("self is %s", self)
				}
				if pagination := lookup(t, page, "pagination"); pagination != nil {
					clientReads(t, "pagination", pagination)
					if lookup(t, pagination, "page") != float64(number) || lookup(t, pagination, "per_page") != 2.0 {
						t.Errorf("page %d is %v", number, pagination)
					}
				}
				for _, one := range lookup(t, page, "data").([]any) {
					names = append(names, lookup(t, one, "attestation_name").(string))
				}
				address = ""
				if next := lookup(t, page, "_links", "next"); next != nil && number == 1 {
					back := strings.Replace(lookup(t, next, "href").(string), "after=2.", "after=0.", 1)
					s.want(http.StatusBadRequest, http.MethodGet, strings.TrimPrefix(back, s.URL+"/api/v2"), nil)
				}
				if next := lookup(t, page, "_links", "next"); next != nil {
					u, err := url.Parse(lookup(t, next, "href").(string))
					s.must(err)
					address = strings.TrimPrefix(u.RequestURI(), "/api/v2")
				}
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("the pages have %s, want %s", got, want)
			}
		})
	}
}

func TestAttestationsOfAFlowAreListedInPages(t *testing.T) {
	t.Parallel()
	s := start(t, options{real: true})
	before := time.Now().Unix()
	s.populateAttestations(10 * time.Second)
	for query, want := range map[string]string{
		"":                              "load-test risk lint",
		"?page=1&per_page=2":            "load-test risk",
		"?page=2&per_page=2":            "lint",
		"?page=3&per_page=2":            "",
		"?page=0&per_page=0":            "load-test",
		"?page=-1&per_page=1000":        "load-test risk lint",
		"?page=9999999999&per_page=100": "",
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			page := s.read("/attestations/" + s.org + "/two" + query)
			clientReads(t, "pagination", lookup(t, page, "pagination"))
			if got := column(t, lookup(t, page, "data"), "attestation_name"); got != want || lookup(t, page, "pagination", "total") != 3.0 {
				t.Errorf("%s of %v, want %s", got, lookup(t, page, "pagination"), want)
			}
		})
	}
	if got := lookup(t, s.read("/attestations/"+s.org+"/two?per_page=1000"), "pagination", "per_page"); got != 100.0 {
		t.Errorf("a page has %v", got)
	}
	page := s.read(fmt.Sprintf("/attestations/%s/two?to_timestamp=%d", s.org, before+25))
	if got := column(t, lookup(t, page, "data"), "attestation_name"); got != "lint" || lookup(t, page, "pagination", "total") != 1.0 {
		t.Errorf("in the span are %s of %v", got, lookup(t, page, "pagination"))
	}
}

func TestAttestationsAreFoundByTheirCommit(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.populateAttestations(0)
	s.reportArtifact("two", "t2", "app", attestedFingerprint, secondCommit)
	s.wantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.org+"/two/trail/t2/generic",
		`{"attestation_name":"of-artifact","is_compliant":true,"artifact_fingerprint":"`+attestedFingerprint+`"}`)
	path := "/attestations/" + s.org + "/list_attestations_for_criteria?commit_list=" + firstCommit
	unknown := strings.Repeat("3", 40)
	for query, want := range map[string]string{
		"":                              "lint unit-test",
		"&flow_name=one":                "unit-test",
		"&attestation_name=lint":        "lint",
		"&attestation_type=junit":       "unit-test",
		"&attestation_type=custom:x":    "",
		"&attestation_type=decision":    "",
		"&attestation_id=ignored":       "lint unit-test",
		"&commit_list=" + secondCommit:  "lint unit-test",
		"&commit_list=" + unknown:       "lint unit-test",
		"&flow_name=&attestation_name=": "lint unit-test",
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			if got := column(t, lookup(t, s.read(path+query), firstCommit), "attestation_name"); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	both := s.read(path + "&commit_list=" + secondCommit + "&commit_list=" + unknown).(map[string]any)
	if got := column(t, both[secondCommit], "attestation_name"); got != "of-artifact" || len(both) != 3 || len(both[unknown].([]any)) != 0 {
		t.Errorf("read %v", both)
	}
	bare := "/attestations/" + s.org + "/list_attestations_for_criteria"
	wantMessage(t, s.want(http.StatusBadRequest, http.MethodGet, bare, nil), "commit_list is required: provide one or more commit SHAs to search.")
	wantMessage(t, s.want(http.StatusBadRequest, http.MethodGet, bare+"?attestation_name=lint", nil), "commit_list is required: provide one or more commit SHAs to search.")
	for query, field := range map[string]string{"?commit_list=abc": "query.commit_list[0]", "?commit_list=" + firstCommit + "&attestation_type=nosuch": "query.attestation_type"} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			if _, errors := s.want(http.StatusBadRequest, http.MethodGet, bare+query, nil).problem(t); errors[field] == "" {
				t.Errorf("%q", errors)
			}
		})
	}
	s.want(http.StatusNotFound, http.MethodGet, path+"&flow_name=nosuch", nil)
}

func TestAttestationsAreFoundByTheirIDs(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.attestGeneric("t", "one", true, "")
	s.attestGeneric("t", "two", true, "")
	one, two := lookup(t, s.onlyAttestation("t", "one"), "attestation_id").(string), lookup(t, s.onlyAttestation("t", "two"), "attestation_id").(string)
	got := s.read("/attestations/" + s.org + "?ids=" + two + "&ids=" + one + "&ids=unknown&name=other")
	if list := lookup(t, got, "data").([]any); len(list) != 2 || lookup(t, list[0], "attestation_id") != min(one, two) {
		t.Errorf("answered %v", got)
	}
	if foreign := lookup(t, s.read("/attestations/"+s.public+"?ids="+one), "data").([]any); len(foreign) != 0 {
		t.Errorf("another organization is answered %v", foreign)
	}
}
