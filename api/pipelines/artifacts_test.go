package pipelines_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
)

func TestArtifactShowsEverythingThatWasReported(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	fingerprint, commit := apitest.PadHex("abcde1", 64), apitest.PadHex("c1", 40)
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/build", apitest.ArtifactReport("trail-1", "app", fingerprint, commit))
	got := s.Read("/artifacts/" + s.Org + "/build/fingerprint/" + fingerprint)
	apitest.ClientReads(t, "artifact", got)
	apitest.WantMembers(t, got, map[string]any{
		"fingerprint": fingerprint, "filename": "registry.example.com/cli:1.0", "flow_name": "build", "trail_name": "trail-1",
		"template_reference_name": "app", "git_commit": commit, "state": "COMPLIANT", "state_info": "All attestations are compliant",
		"build_url": "https://github.com/acme/cli/actions/runs/1", "repo_url": "https://github.com/acme/cli",
		"html_url": s.URL + "/" + s.Org + "/flows/build/artifacts/" + fingerprint + "?artifact_id=" + apitest.Lookup(t, got, "id").(string),
		"api_url":  s.URL + "/api/v2/artifacts/" + s.Org + "/build/fingerprint/" + fingerprint,
	})
	if apitest.Lookup(t, got, "git_commit_info", "author") != "A. Person <person@example.com>" || apitest.Lookup(t, got, "git_commit_info", "sha1") != commit {
		t.Errorf("commit %s", apitest.AsJSON(apitest.Lookup(t, got, "git_commit_info")))
	}
	if apitest.Lookup(t, got, "repo_info", "name") != "acme/cli" || apitest.Lookup(t, got, "repo_info", "id") != "290597708" || apitest.Lookup(t, got, "repo_info", "provider") != "github" {
		t.Errorf("repo %s", apitest.AsJSON(apitest.Lookup(t, got, "repo_info")))
	}
	if apitest.Lookup(t, got, "annotations", "tier") != 1.0 || apitest.Lookup(t, got, "created_at") != apitest.Lookup(t, got, "last_modified_at") {
		t.Errorf("got %s", apitest.AsJSON(got))
	}
	if self := s.Read(strings.TrimPrefix(apitest.Lookup(t, got, "api_url").(string), s.URL+"/api/v2")); apitest.Lookup(t, self, "id") != apitest.Lookup(t, got, "id") {
		t.Error("its api_url shows another artifact")
	}
}

func TestUnknownCommitHasTheSameValueInAllAnswers(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	unknown, short := evidence.HashAPIKey("bare"), evidence.HashAPIKey("odd")
	const repo = `,"repo_info":{"name":"acme/web","id":"1","url":"https://github.com/acme/web","provider":"github"}`
	for fingerprint, commit := range map[string]string{unknown: "", short: `,"git_commit_info":{"sha1":"v1"}`} {
		s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/build", fmt.Appendf(nil,
			`{"fingerprint":%q,"filename":"f","build_url":"b","commit_url":"c","trail_name":%q,"template_reference_name":"app"%s%s}`,
			fingerprint, fingerprint, commit, repo))
	}
	s.ReportServer("host", "bare", "odd", "stranger")
	shownCommits := map[string]any{}
	for _, fingerprint := range []string{unknown, short} {
		artifact := s.Read("/artifacts/" + s.Org + "/build/fingerprint/" + fingerprint)
		apitest.ClientReads(t, "artifact", artifact)
		shownCommits["artifact "+fingerprint] = apitest.Lookup(t, artifact, "git_commit")
		found, _ := s.Search(fingerprint)
		shownCommits["search "+fingerprint] = apitest.Lookup(t, found, 0, "git_commit")
		for _, event := range apitest.Lookup(t, s.Read("/trails/"+s.Org+"/build/"+fingerprint), "events").([]any) {
			if apitest.Lookup(t, event, "type") == evidence.ArtifactCreation {
				shownCommits["trail "+fingerprint] = apitest.Lookup(t, event, "git_commit")
			}
		}
	}
	found, _ := s.Search(evidence.HashAPIKey("stranger"))
	shownCommits["search without provenance"] = apitest.Lookup(t, found, 0, "git_commit")
	for i, item := range apitest.ClientReadsEach(t, "artifacts_item", s.Read("/artifacts/"+s.Org)) {
		shownCommits[fmt.Sprint("list ", i)] = apitest.Lookup(t, item, "git_commit")
	}
	latest := s.GetSnapshot("host", "-1")
	for _, name := range []string{"bare", "odd"} {
		artifact := latest.Artifact(t, name)
		shownCommits["snapshot "+name] = apitest.Lookup(t, artifact, "git_commit")
		shownCommits["flow of snapshot "+name] = apitest.Lookup(t, artifact, "flows", 0, "git_commit")
	}
	apitest.Equal(t, len(shownCommits), 13, "answers with a commit")
	for where, commit := range shownCommits {
		if commit != evidence.NoCommit {
			t.Errorf("%s: the commit is %q", where, commit)
		}
	}
	// Where the commit may be null, an unknown commit is null.
	apitest.Equal(t, latest.Artifact(t, "stranger")["git_commit"],
		nil, "an artifact that no flow knows has the commit in a snapshot")
	apitest.Each(s, map[string][]any{
		"/deployments/" + s.Org + "/host/" + unknown:                   {"artifact", "git_commit"},
		"/artifacts/" + s.Org + "/build/" + unknown + "/latest_commit": {"latest_commit"},
		"/repos/" + s.Org + "/live-artifacts/acme/web?provider=github": {"live_artifacts", 0, "commit_sha"},
	}, func(s *apitest.Service, path string, members []any) {
		apitest.Equal(s.T, apitest.Lookup(s.T, s.Read(path), members...), nil, "the commit")
	})
}

func TestStateOfAnArtifactNamesMissingAndBadAttestations(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.WantForm(http.StatusCreated, http.MethodPut, "/flows/"+s.Org+"/template_file", `{"name":"build","description":""}`, apitest.YAMLFile(`version: 1
trail:
  attestations:
    - name: review
      type: generic
  artifacts:
    - name: app
      attestations:
        - name: test
          type: generic
`))
	s.ReportArtifact("build", "t", "app", apitest.AttestedFingerprint, apitest.FirstCommit)
	want := func(state, info, events string) {
		t.Helper()
		got := s.Read("/artifacts/" + s.Org + "/build/fingerprint/" + apitest.AttestedFingerprint)
		apitest.WantMembers(t, got, map[string]any{"state": state, "state_info": info})
		apitest.Equal(t, apitest.History(t, got), events, "history")
		apitest.Equal[any](t, apitest.Lookup(t, s.Read("/artifacts/"+s.Org), 0, "state"), state, "listed as")
		apitest.Equal(t, fmt.Sprint(apitest.Lookup(t, got, "template")), "[test review]", "template")
		if apitest.Lookup(t, got, "last_modified_at").(float64) < apitest.Lookup(t, got, "created_at").(float64) {
			t.Error("modified before it was created")
		}
	}
	ofArtifact := `,"artifact_fingerprint":"` + apitest.AttestedFingerprint + `"`
	want("INCOMPLETE", "Missing attestations: test, review", "app reported")
	s.AttestGeneric("t", "test", false, ofArtifact)
	want("NON-COMPLIANT", "Non-compliant attestations: test. Missing attestations: review", "app reported test evidence received")
	s.AttestGeneric("t", "test", true, ofArtifact)
	s.AttestGeneric("t", "scan", true, `,"target_artifacts":["app"]`)
	s.AttestGeneric("t", "review", true, "")
	const events = "app reported test evidence received test evidence received scan evidence received"
	want("COMPLIANT", "All attestations are compliant", events)
	// Attestations of another artifact do not count for this one.
	s.ReportArtifact("build", "t", "app", apitest.NewFingerprint, apitest.SecondCommit)
	s.AttestGeneric("t", "test", false, `,"artifact_fingerprint":"`+apitest.NewFingerprint+`"`)
	s.AttestGeneric("t", "scan", false, `,"target_artifacts":["app"],"git_commit_info":{"sha1":"`+apitest.SecondCommit+`"}`)
	got := s.Read("/artifacts/" + s.Org + "/build/fingerprint/" + apitest.AttestedFingerprint)
	if apitest.Lookup(t, got, "state") != "COMPLIANT" || apitest.History(t, got) != events {
		t.Errorf("got %s", apitest.AsJSON(got))
	}
}

func TestHistoryHasTheReportAndThenEveryAttestationInOrder(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Real: true})
	other := `,"target_artifacts":["app"],"git_commit_info":{"sha1":"` + apitest.SecondCommit + `"}`
	own := `,"target_artifacts":["app"],"git_commit_info":{"sha1":"` + apitest.FirstCommit + `"}`
	s.AttestGeneric("t", "scan", true, own)
	s.AttestGeneric("t", "scan", false, own)
	s.AttestGeneric("t", "alien", true, other)
	s.AttestGeneric("t", "alien", true, `,"target_artifacts":["lib"]`)
	s.ReportArtifact("build", "t", "app", apitest.AttestedFingerprint, apitest.FirstCommit)
	s.AttestGeneric("t", "test", false, `,"artifact_fingerprint":"`+apitest.AttestedFingerprint+`"`)
	s.AttestGeneric("t", "test", true, `,"target_artifacts":["lib","app"]`)
	s.Clock.Advance(-time.Hour)
	s.AttestGeneric("t", "test", true, `,"artifact_fingerprint":"`+apitest.AttestedFingerprint+`"`)
	s.AttestGeneric("t", "alien", true, "")
	const received = " evidence received"
	const want = "app reported scan" + received + " scan" + received + " test" + received + " test" + received + " test" + received
	got := s.Read("/artifacts/" + s.Org + "/build/fingerprint/" + apitest.AttestedFingerprint)
	found := apitest.Lookup(t, s.Read("/search/"+s.Org+"/sha/"+apitest.AttestedFingerprint[:9]), "artifacts", 0)
	apitest.Equal(t, apitest.History(t, got), want)
	apitest.Equal(t, apitest.History(t, found), want)
}

// TestArtifactsDroppedFromTheirSlotCostNoMore reads many artifacts of one name. Their slot has only the latest of them:
// two more commands read the attestations of all others, one those by fingerprint and one those by name.
func TestArtifactsDroppedFromTheirSlotCostNoMore(t *testing.T) {
	s, counting := apitest.StartCounting(t, apitest.Options{WithoutWorker: true, StoppedAt: apitest.NoonOf30March})
	commands := func(path string) int {
		t.Helper()
		counting.Reset()
		s.Read(path)
		return counting.Snapshot().Commands()
	}
	list, one := "/artifacts/"+s.Org+"?per_page=100", "/artifacts/"+s.Org+"/build/fingerprint/"+apitest.AttestedFingerprint
	s.ReportArtifact("build", "t", "app", apitest.AttestedFingerprint, apitest.FirstCommit)
	s.AttestGeneric("t", "scan", false, `,"artifact_fingerprint":"`+apitest.AttestedFingerprint+`"`)
	fewListed, fewShown := commands(list), commands(one)
	for i := range 45 {
		fingerprint := apitest.PadHex(fmt.Sprintf("abcde%02d", i), 64)
		s.ReportArtifact("build", "t", "app", fingerprint, apitest.SecondCommit)
		s.AttestGeneric("t", "scan", i%2 == 0, `,"artifact_fingerprint":"`+fingerprint+`"`)
	}
	if listed, shown := commands(list), commands(one); listed > fewListed+2 || shown > fewShown {
		t.Errorf("%d commands for the list and %d for one, with few artifacts %d and %d", listed, shown, fewListed, fewShown)
	}
	states := apitest.Column(t, s.Read(list), "state")
	apitest.Equal(t, strings.Count(states, "NON-COMPLIANT"), 23)
	apitest.Equal(t, len(strings.Fields(states)), 46)
	if got := s.Read(one); apitest.Lookup(t, got, "state") != "NON-COMPLIANT" || apitest.History(t, got) != "app reported scan evidence received" {
		t.Errorf("got %s", apitest.AsJSON(got))
	}
}

func TestArtifactIsFoundByFingerprintTrailAndAttestation(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	one, other := apitest.PadHex("abcde1", 64), apitest.PadHex("abcde2", 64)
	s.ReportArtifact("build", "t1", "app", one, apitest.FirstCommit)
	s.AttestGeneric("t1", "scan", true, `,"artifact_fingerprint":"`+one+`"`)
	s.ReportArtifact("build", "t2", "app", one, apitest.SecondCommit)
	s.AttestGeneric("t2", "named", true, `,"target_artifacts":["app"]`)
	s.ReportArtifact("build", "t1", "app", other, apitest.FirstCommit)
	s.ReportArtifact("release", "t1", "app", one, apitest.FirstCommit)
	scan, named := apitest.Lookup(t, s.OnlyAttestation("t1", "scan"), "attestation_id").(string), apitest.Lookup(t, s.OnlyAttestation("t2", "named"), "attestation_id").(string)
	base := "/artifacts/" + s.Org + "/build/fingerprint/"
	apitest.Each(s, map[string]struct{ path, fingerprint, trail string }{
		"fingerprint":                    {one, one, "t2"},
		"prefix of one fingerprint":      {one[:6], one, "t2"},
		"prefix of two fingerprints":     {"abcde", other, "t1"},
		"prefix in a trail":              {"abcde?trail=t2", one, "t2"},
		"fingerprint in a trail":         {one + "?trail=t1", one, "t1"},
		"fingerprint with empty trail":   {one + "?trail=", one, "t2"},
		"attestation":                    {one + "?attestation_id=" + scan, one, "t1"},
		"trail and attestation":          {one + "?trail=t1&attestation_id=" + scan, one, "t1"},
		"prefix of two and attestation":  {"abcde?attestation_id=" + scan, one, "t1"},
		"prefix and attestation by name": {"abcde?attestation_id=" + named, one, "t2"},
	}, func(s *apitest.Service, _ string, c struct{ path, fingerprint, trail string }) {
		got := s.Read(base + c.path)
		apitest.WantMembers(s.T, got, map[string]any{"fingerprint": c.fingerprint, "trail_name": c.trail})
	})
	apitest.Each(s, map[string]struct{ path, fingerprint string }{
		"unknown trail":                   {one[:6] + "?trail=none", one[:6]},
		"another trail":                   {other + "?trail=t2", other},
		"unknown fingerprint":             {apitest.PadHex("abcdf", 64), apitest.PadHex("abcdf", 64)},
		"attestation of another artifact": {other + "?attestation_id=" + scan, other},
		"attestation of another trail":    {one + "?trail=t2&attestation_id=" + scan, one},
		"unknown attestation":             {one + "?attestation_id=00000000-0000-0000-0000-00000000", one},
	}, func(s *apitest.Service, _ string, c struct{ path, fingerprint string }) {
		apitest.WantMessage(s.T, s.Want(http.StatusNotFound, http.MethodGet, base+c.path, nil),
			"Artifact with fingerprint '"+c.fingerprint+"' does not exist in flow 'build' belonging to organization '"+s.Org+"'")
	})
	apitest.WantMessage(t, s.Want(http.StatusNotFound, http.MethodGet, "/artifacts/"+s.Org+"/none/fingerprint/"+one, nil),
		"Flow named 'none' does not exist for organization '"+s.Org+"'")
	apitest.Each(s, map[string]string{
		"build/fingerprint/abcd": "path.fingerprint", "build/fingerprint/ABCDE": "path.fingerprint", "build/fingerprint/" + one + "0": "path.fingerprint",
		"build/fingerprint/" + one + "?attestation_id=1": "query.attestation_id", "-x/fingerprint/" + one: "path.flow_name",
		"build/xyz/latest_commit": "path.fingerprint",
	}, func(s *apitest.Service, path, field string) {
		message, errors := s.Want(http.StatusBadRequest, http.MethodGet, "/artifacts/"+s.Org+"/"+path, nil).Problem(s.T)
		if message != "Input payload validation failed" ||
			!strings.HasPrefix(errors[field], "String should match pattern '^") {
			s.T.Errorf("%q %q", message, errors)
		}
	})
}

func TestArtifactsAreFoundByCommit(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.ReportArtifact("build", "t1", "app", apitest.PadHex("abcde1", 64), apitest.FirstCommit)
	s.ReportArtifact("build", "t2", "app", apitest.PadHex("abcde1", 64), apitest.FirstCommit)
	s.AttestGeneric("t2", "scan", false, `,"artifact_fingerprint":"`+apitest.PadHex("abcde1", 64)+`"`)
	s.ReportArtifact("build", "t1", "web", apitest.PadHex("abcde2", 64), apitest.FirstCommit)
	s.ReportArtifact("build", "t1", "app", apitest.PadHex("abcde3", 64), apitest.SecondCommit)
	base := "/artifacts/" + s.Org + "/build/commit_sha/"
	apitest.Each(s, map[string]string{
		apitest.FirstCommit:               "t1/web t2/app t1/app",
		apitest.FirstCommit[:7]:           "t1/web t2/app t1/app",
		apitest.FirstCommit + "?trail=t2": "t2/app",
		apitest.FirstCommit + "?trail=":   "t1/web t2/app t1/app",
		apitest.PadHex("9", 40):           "",
		"main":                            "",
	}, func(s *apitest.Service, path, want string) {
		var got []string
		for _, artifact := range s.Read(base + path).([]any) {
			apitest.ClientReads(s.T, "artifact", artifact)
			got = append(got, fmt.Sprint(apitest.Lookup(s.T, artifact, "trail_name"), "/",
				apitest.Lookup(s.T, artifact, "template_reference_name")))
		}
		apitest.Equal(s.T, strings.Join(got, " "), want, got)
	})
	// An attestation counts only for the artifact in its own trail.
	list := s.Read(base + apitest.FirstCommit)
	apitest.Equal(t, apitest.History(t, apitest.Lookup(t, list, 1)), "app reported scan evidence received")
	apitest.Equal(t, apitest.History(t, apitest.Lookup(t, list, 2)), "app reported")
	apitest.WantMessage(t, s.Want(http.StatusNotFound, http.MethodGet, "/artifacts/"+s.Org+"/none/commit_sha/"+apitest.FirstCommit, nil),
		"Flow named 'none' does not exist for organization '"+s.Org+"'")
}

func wantLatestCommit(s *apitest.Service, fingerprint, query string, want any) {
	s.T.Helper()
	got := apitest.Lookup(s.T, s.Read("/artifacts/"+s.Org+"/cli-ci/"+fingerprint+"/latest_commit"+query), "latest_commit")
	apitest.Equal(s.T, got, want, fingerprint, query)
}

func TestLatestCommitIsThatOfTheArtifactOrElseOfTheFlow(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.WantForm(http.StatusCreated, http.MethodPut, "/flows/"+s.Org+"/template_file", `{"name":"cli-ci","description":""}`, apitest.YAMLFile("version: 1\n"))
	wantLatestCommit(s, apitest.CLIFingerprint, "", nil)
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/cli-ci", apitest.ArtifactReport("t", "cli", apitest.CLIFingerprint, apitest.PipelineCommit))
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/cli-ci", apitest.ArtifactReport("t", "cli", apitest.NewFingerprint, apitest.BranchCommit))
	wantLatestCommit(s, apitest.CLIFingerprint, "", apitest.PipelineCommit)
	wantLatestCommit(s, apitest.CLIFingerprint[:7], "?branch=", apitest.PipelineCommit)
	wantLatestCommit(s, apitest.CLIFingerprint, "?branch=main", apitest.PipelineCommit)
	wantLatestCommit(s, apitest.CLIFingerprint, "?branch=other", nil)
	wantLatestCommit(s, apitest.PadHex("1", 64), "", apitest.BranchCommit)
	wantLatestCommit(s, apitest.PadHex("1", 64), "?branch=main", apitest.BranchCommit)
	apitest.WantMessage(t, s.Want(http.StatusNotFound, http.MethodGet, "/artifacts/"+s.Org+"/none/"+apitest.CLIFingerprint+"/latest_commit", nil),
		"Flow named 'none' does not exist for organization '"+s.Org+"'")
}

func TestArtifactsAreListedInPages(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for i := range 17 {
		s.ReportArtifact("build", "t", "app", apitest.PadHex(fmt.Sprintf("abc%02d", i), 64), apitest.FirstCommit)
	}
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/release", apitest.ArtifactReport("t", "app", apitest.CLIFingerprint, apitest.PipelineCommit))
	apitest.Each(s, map[string]int{
		"": 15, "?page=2": 3, "?page=3": 0, "?page=1&per_page=18": 18, "?per_page=5&page=4": 3, "?page=99999999999": 0,
		"?page=0&per_page=0": 15, "?page=-1&per_page=-1": 15, "?per_page=5000": 18,
		"?flow_name=build": 15, "?flow_name=build&page=2": 2, "?flow_name=release": 1,
		"?repo_name=acme/cli": 1, "?repo_name=": 15, "?repo_name=acme/cli&flow_name=build": 0, "?repo_name=acme/cli&flow_name=release": 1,
		"?search=APP.j": 15, "?search=app.j&page=2": 2, "?search=none": 0, "?search=app.j&flow_name=release": 0,
		"/build": 15, "/build?page=2": 2, "/release?page=1&per_page=20": 1, "/release?page=2": 0,
	}, func(s *apitest.Service, query string, want int) {
		got := s.Read("/artifacts/" + s.Org + query).([]any)
		apitest.Equal(s.T, len(got), want, "artifacts")
		for _, item := range got {
			apitest.ClientReads(s.T, "artifacts_item", item)
		}
	})
	list := s.Read("/artifacts/" + s.Org)
	if apitest.Lookup(t, list, 0, "fingerprint") != apitest.CLIFingerprint || apitest.Lookup(t, list, 1, "fingerprint") != apitest.PadHex("abc16", 64) {
		t.Errorf("not the newest first: %s", apitest.Column(t, list, "fingerprint"))
	}
	apitest.Equal(t, string(s.Want(http.StatusOK, http.MethodGet, "/artifacts/"+s.Org+"?page=9", nil).Body),
		"[]", "beyond the end")
	apitest.WantMessage(t, s.Want(http.StatusNotFound, http.MethodGet, "/artifacts/"+s.Org+"?repo_name=none", nil), "Repo 'none' not found")
	apitest.EachOf(s, []string{"?flow_name=none", "/none"}, func(s *apitest.Service, path string) {
		apitest.WantMessage(s.T, s.Want(http.StatusNotFound, http.MethodGet, "/artifacts/"+s.Org+path, nil),
			"Flow named 'none' does not exist for organization '"+s.Org+"'")
	})
	for query, field := range map[string]string{"?flow_name=": "query.flow_name", "?flow_name=a%20b": "query.flow_name", "?page=x": "query.page", "?per_page=": "query.per_page"} {
		t.Run(s.CaseName(query), func(t *testing.T) {
			s := s.In(t)
			apitest.WantFault(t, s.Want(http.StatusBadRequest, http.MethodGet, "/artifacts/"+s.Org+query, nil), field)
		})
	}
}

func TestRunningArtifactShowsWhereItRuns(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	fingerprint := evidence.HashAPIKey("web")
	s.ReportArtifact("build", "t", "app", fingerprint, apitest.FirstCommit)
	s.CreateEnvironment("prod", evidence.Server)
	s.CreateEnvironment("beta", evidence.Server)
	s.ReportServer("prod", "web")
	s.ReportServer("prod", "web", "db")
	s.ReportServer("beta", "db")
	s.ReportServer("beta", "db", "web")
	var got any
	// A worker records started artifacts after the report is answered.
	apitest.Eventually(t, "the artifact runs in two environments", func() bool {
		got = s.Read("/artifacts/" + s.Org + "/build/fingerprint/" + fingerprint)
		return len(apitest.Lookup(t, got, "running").([]any)) == 2
	})
	apitest.Equal(t, fmt.Sprint(apitest.Lookup(t, got, "running")),
		"[map[environment_name:beta snapshot_index:2] map[environment_name:prod snapshot_index:2]]", "running")
	apitest.Equal(t, apitest.History(t, got),
		"app reported Started running in prod#1 environment Started running in beta#2 environment", "history")
	s.ReportServer("beta", "db")
	apitest.Eventually(t, "the artifact has exited", func() bool {
		got = apitest.Lookup(t, s.Read("/artifacts/"+s.Org+"/build/commit_sha/"+apitest.FirstCommit), 0)
		return apitest.Column(t, apitest.Lookup(t, got, "running"), "environment_name") == "prod"
	})
	apitest.Equal(t, fmt.Sprint(apitest.Lookup(t, got, "exited")),
		"[map[environment_name:beta snapshot_index:3]]", "exited")
	if events := apitest.History(t, got); !strings.HasSuffix(events, "No longer running in beta#3 environment") {
		t.Errorf("history %q", events)
	}
	// The time of the commit is unknown.
	if times := apitest.Lookup(t, got, "commit_lead_times").(map[string]any); len(times) != 0 {
		t.Errorf("lead times of the commit %v", times)
	}
	times := apitest.Lookup(t, got, "build_lead_times").(map[string]any)
	if beta, prod := times["beta"].(float64), times["prod"].(float64); prod < 0 || beta <= prod {
		t.Errorf("lead times of the build %v", times)
	}
}

func TestHistoryOfAnArtifactWithoutATrailBeginsWithItsCreation(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	for fingerprint, c := range map[string]struct{ members, events string }{
		apitest.AttestedFingerprint: {"", "Artifact created"},
		apitest.NewFingerprint:      {`,"trail_name":null,"template_reference_name":"app"`, "Artifact created"},
		apitest.DigestOf("trail"):   {`,"trail_name":"t","template_reference_name":"web"`, "web reported"},
	} {
		s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/build", fmt.Appendf(nil,
			`{"fingerprint":%q,"filename":"app.jar","git_commit":%q,"build_url":"b","commit_url":"c"%s}`, fingerprint, apitest.FirstCommit, c.members))
		shown := s.Read("/artifacts/" + s.Org + "/build/fingerprint/" + fingerprint)
		apitest.ClientReads(t, "artifact", shown)
		apitest.Equal(t, apitest.History(t, shown), c.events, c.members)
		apitest.WantMembers(t, shown, map[string]any{"git_commit_info": nil, "repo_info": nil})
	}
}

func TestArtifactsStayWithinTheirOrganization(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.ReportArtifact("build", "t", "app", apitest.AttestedFingerprint, apitest.FirstCommit)
	s.AttestGeneric("t", "scan", true, `,"artifact_fingerprint":"`+apitest.AttestedFingerprint+`"`)
	scan := apitest.Lookup(t, s.OnlyAttestation("t", "scan"), "attestation_id").(string)
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Public+"/build", fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"theirs","build_url":"","commit_url":"","trail_name":"t"}`, apitest.AttestedFingerprint))
	if list := s.Read("/artifacts/" + s.Public); apitest.Column(t, list, "filename") != "theirs" {
		t.Errorf("another organization lists %s", apitest.AsJSON(list))
	}
	theirs := s.Read("/artifacts/" + s.Public + "/build/fingerprint/" + apitest.AttestedFingerprint)
	if apitest.Lookup(t, theirs, "filename") != "theirs" || apitest.History(t, theirs) != "artifact reported" {
		t.Errorf("another organization reads %s", apitest.AsJSON(theirs))
	}
	s.Want(http.StatusNotFound, http.MethodGet, "/artifacts/"+s.Public+"/build/fingerprint/"+apitest.AttestedFingerprint+"?attestation_id="+scan, nil)
	if list := s.Read("/artifacts/" + s.Public + "/build/commit_sha/" + apitest.FirstCommit).([]any); len(list) != 0 {
		t.Errorf("another organization reads %s", apitest.AsJSON(list))
	}
}

func TestListOfArtifactsCostsTheSameForOneAsForMany(t *testing.T) {
	counter := &commandCounter{}
	s := apitest.Start(t, apitest.Options{Wrap: counter.wrap, WithoutWorker: true})
	commands := func() []string {
		t.Helper()
		counter.take()
		s.Read("/artifacts/" + s.Org + "?per_page=50")
		return counter.take()
	}
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/flow", apitest.ArtifactReport("t", "app", apitest.PadHex("1", 64), apitest.PipelineCommit))
	one := commands()
	for i := range 30 {
		s.Want(http.StatusCreated, http.MethodPost, fmt.Sprintf("/artifacts/%s/flow-%d", s.Org, i%3),
			apitest.ArtifactReport(fmt.Sprintf("t%d", i), fmt.Sprintf("app%d", i%4), apitest.PadHex(fmt.Sprintf("abc%02d", i), 64), apitest.PipelineCommit))
	}
	apitest.EqualList(t, one, commands())
}
