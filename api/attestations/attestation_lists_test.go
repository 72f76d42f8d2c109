package attestations_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
)

// populateAttestations creates attestations of two flows. It advances the clock by the gap after each.
func populateAttestations(s *apitest.Service, gap time.Duration) {
	s.T.Helper()
	post := func(flow, kind, name, members string) {
		s.WantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.Org+"/"+flow+"/trail/t/"+kind, `{"attestation_name":"`+name+`",`+members+`}`)
		s.Clock.Advance(gap)
	}
	commit := `,"git_commit_info":{"sha1":"` + apitest.FirstCommit + `"}`
	post("one", "generic", "lint", `"is_compliant":true`)
	post("one", "junit", "unit-test", `"junit_results":[]`+commit)
	post("two", "generic", "lint", `"is_compliant":false`+commit)
	post("two", "system", "risk", `"type_name":"decision","attestation_data":{"is_compliant":true}`)
	post("two", "junit", "load-test", `"junit_results":[{"name":"s","failures":1,"errors":0,"skipped":0,"total":5,"duration":2.5}]`)
}

func TestAttestationsOfAnOrganizationAreFiltered(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	before := time.Now().Unix()
	populateAttestations(s, 10*time.Second)
	apitest.Each(s, map[string]string{
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
	}, func(s *apitest.Service, query, want string) {
		page := s.Read("/attestations/" + s.Org + query)
		data := apitest.Lookup(s.T, page, "data").([]any)
		apitest.Equal(s.T, apitest.Column(s.T, data, "attestation_name"), want)
		for _, one := range data {
			apitest.ClientReads(s.T, "attestation", one)
		}
		total := apitest.Lookup(s.T, page, "pagination")
		if total != nil && apitest.Lookup(s.T, total, "total") != float64(len(data)) {
			s.T.Errorf("total is %v", apitest.Lookup(s.T, total, "total"))
		}
	})
	apitest.Each(s, map[string]string{
		"?name=a&name_regex=b":                             "query.name_regex",
		"?name_regex=%28":                                  "query.name_regex",
		"?name_regex=%28%3F%3Da%29":                        "query.name_regex",
		"?name_regex=" + strings.Repeat("a", 501):          "query.name_regex",
		"?name_regex=" + strings.Repeat("a%7B0,999%7D", 9): "query.name_regex",
		"?after=nonsense":                                  "query.after",
		"?after=2.bm9uc2Vuc2U":                             "query.after",
		"?after=1.x":                                       "query.after",
	}, func(s *apitest.Service, query, field string) {
		apitest.WantFault(s.T, s.Want(http.StatusBadRequest, http.MethodGet, "/attestations/"+s.Org+query, nil), field)
	})
}

func TestFilterByAllNamesOfAFlowListsAttestationsOnce(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	populateAttestations(s, 0)
	s.Want(http.StatusOK, http.MethodPut, "/flows/"+s.Org+"/one/rename", []byte(`{"new_name":"uno"}`))
	s.Want(http.StatusOK, http.MethodPut, "/flows/"+s.Org+"/two/archive", []byte("null"))
	data := apitest.Lookup(t, s.Read("/attestations/"+s.Org+"?flow=one&flow=uno&flow=two"), "data")
	apitest.Equal(t, apitest.Column(t, data, "attestation_name"), "unit-test lint", "listed")
}

func TestAttestationsOfAnOrganizationArePagedByCursor(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	populateAttestations(s, 0)
	apitest.Each(s, map[string]string{
		"":                 "load-test risk lint unit-test lint",
		"&flow=two":        "load-test risk lint",
		"&name_regex=t":    "load-test lint unit-test lint",
		"&is_compliant=on": "risk unit-test lint",
	}, func(s *apitest.Service, filter, want string) {
		var names []string
		address := "/attestations/" + s.Org + "?per_page=2" + filter
		for number := 1; address != ""; number++ {
			if number > 5 {
				s.T.Fatalf("the pages do not end")
			}
			page := s.Read(address)
			self := apitest.Lookup(s.T, page, "_links", "self", "href").(string)
			if !strings.HasPrefix(self, s.URL+"/api/v2/attestations/"+s.Org+"?") {
				s.T.Errorf("self is %s", self)
			}
			if pagination := apitest.Lookup(s.T, page, "pagination"); pagination != nil {
				apitest.ClientReads(s.T, "pagination", pagination)
				apitest.WantMembers(s.T, pagination, map[string]any{"page": float64(number), "per_page": 2.0})
			}
			for _, one := range apitest.Lookup(s.T, page, "data").([]any) {
				names = append(names, apitest.Lookup(s.T, one, "attestation_name").(string))
			}
			address = ""
			if next := apitest.Lookup(s.T, page, "_links", "next"); next != nil && number == 1 {
				back := strings.Replace(apitest.Lookup(s.T, next, "href").(string), "after=2.", "after=0.", 1)
				s.Want(http.StatusBadRequest, http.MethodGet, strings.TrimPrefix(back, s.URL+"/api/v2"), nil)
			}
			if next := apitest.Lookup(s.T, page, "_links", "next"); next != nil {
				u, err := url.Parse(apitest.Lookup(s.T, next, "href").(string))
				s.Must(err)
				address = strings.TrimPrefix(u.RequestURI(), "/api/v2")
			}
		}
		apitest.Equal(s.T, strings.Join(names, " "), want, "the pages have")
	})
}

func TestAttestationsOfAFlowAreListedInPages(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Real: true})
	before := time.Now().Unix()
	populateAttestations(s, 10*time.Second)
	apitest.Each(s, map[string]string{
		"":                              "load-test risk lint",
		"?page=1&per_page=2":            "load-test risk",
		"?page=2&per_page=2":            "lint",
		"?page=3&per_page=2":            "",
		"?page=0&per_page=0":            "load-test",
		"?page=-1&per_page=1000":        "load-test risk lint",
		"?page=9999999999&per_page=100": "",
	}, func(s *apitest.Service, query, want string) {
		page := s.Read("/attestations/" + s.Org + "/two" + query)
		apitest.ClientReads(s.T, "pagination", apitest.Lookup(s.T, page, "pagination"))
		if got := apitest.Column(s.T, apitest.Lookup(s.T, page, "data"), "attestation_name"); got != want ||
			apitest.Lookup(s.T, page, "pagination", "total") != 3.0 {
			s.T.Errorf("%s of %v, want %s", got, apitest.Lookup(s.T, page, "pagination"), want)
		}
	})
	if got := apitest.Lookup(t, s.Read("/attestations/"+s.Org+"/two?per_page=1000"), "pagination", "per_page"); got != 100.0 {
		t.Errorf("a page has %v", got)
	}
	page := s.Read(fmt.Sprintf("/attestations/%s/two?to_timestamp=%d", s.Org, before+25))
	if got := apitest.Column(t, apitest.Lookup(t, page, "data"), "attestation_name"); got != "lint" || apitest.Lookup(t, page, "pagination", "total") != 1.0 {
		t.Errorf("in the span are %s of %v", got, apitest.Lookup(t, page, "pagination"))
	}
}

func TestAttestationsAreFoundByTheirCommit(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	populateAttestations(s, 0)
	s.ReportArtifact("two", "t2", "app", apitest.AttestedFingerprint, apitest.SecondCommit)
	s.WantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.Org+"/two/trail/t2/generic",
		`{"attestation_name":"of-artifact","is_compliant":true,"artifact_fingerprint":"`+apitest.AttestedFingerprint+`"}`)
	path := "/attestations/" + s.Org + "/list_attestations_for_criteria?commit_list=" + apitest.FirstCommit
	unknown := strings.Repeat("3", 40)
	apitest.Each(s, map[string]string{
		"":                                     "lint unit-test",
		"&flow_name=one":                       "unit-test",
		"&attestation_name=lint":               "lint",
		"&attestation_type=junit":              "unit-test",
		"&attestation_type=custom:x":           "",
		"&attestation_type=decision":           "",
		"&attestation_id=ignored":              "lint unit-test",
		"&commit_list=" + apitest.SecondCommit: "lint unit-test",
		"&commit_list=" + unknown:              "lint unit-test",
		"&flow_name=&attestation_name=":        "lint unit-test",
	}, func(s *apitest.Service, query, want string) {
		if got := apitest.Column(s.T, apitest.Lookup(s.T, s.Read(path+query), apitest.FirstCommit),
			"attestation_name"); got != want {
			s.T.Errorf("%s, want %s", got, want)
		}
	})
	both := s.Read(path + "&commit_list=" + apitest.SecondCommit + "&commit_list=" + unknown).(map[string]any)
	if got := apitest.Column(t, both[apitest.SecondCommit], "attestation_name"); got != "of-artifact" || len(both) != 3 || len(both[unknown].([]any)) != 0 {
		t.Errorf("read %v", both)
	}
	bare := "/attestations/" + s.Org + "/list_attestations_for_criteria"
	apitest.WantMessage(t, s.Want(http.StatusBadRequest, http.MethodGet, bare, nil), "commit_list is required: provide one or more commit SHAs to search.")
	apitest.WantMessage(t, s.Want(http.StatusBadRequest, http.MethodGet, bare+"?attestation_name=lint", nil), "commit_list is required: provide one or more commit SHAs to search.")
	for query, field := range map[string]string{"?commit_list=abc": "query.commit_list[0]", "?commit_list=" + apitest.FirstCommit + "&attestation_type=nosuch": "query.attestation_type"} {
		t.Run(s.CaseName(query), func(t *testing.T) {
			s := s.In(t)
			apitest.WantFault(t, s.Want(http.StatusBadRequest, http.MethodGet, bare+query, nil), field)
		})
	}
	s.Want(http.StatusNotFound, http.MethodGet, path+"&flow_name=nosuch", nil)
}

func TestAttestationsAreFoundByTheirIDs(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.AttestGeneric("t", "one", true, "")
	s.AttestGeneric("t", "two", true, "")
	one, two := apitest.Lookup(t, s.OnlyAttestation("t", "one"), "attestation_id").(string), apitest.Lookup(t, s.OnlyAttestation("t", "two"), "attestation_id").(string)
	got := s.Read("/attestations/" + s.Org + "?ids=" + two + "&ids=" + one + "&ids=unknown&name=other")
	if list := apitest.Lookup(t, got, "data").([]any); len(list) != 2 || apitest.Lookup(t, list[0], "attestation_id") != min(one, two) {
		t.Errorf("answered %v", got)
	}
	if foreign := apitest.Lookup(t, s.Read("/attestations/"+s.Public+"?ids="+one), "data").([]any); len(foreign) != 0 {
		t.Errorf("another organization is answered %v", foreign)
	}
}
