package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
)

// padHex appends zeros to hexadecimal digits, up to a length.
func padHex(start string, length int) string { return start + strings.Repeat("0", length-len(start)) }

// history returns the events of an artifact's history and checks that those after the report are in the order of time.
func history(t *testing.T, artifact any) string {
	t.Helper()
	events := clientReadsEach(t, "history", lookup(t, artifact, "history"))
	before := 0.0
	for _, event := range events[1:] {
		if when := lookup(t, event, "timestamp").(float64); when < before {
			t.Errorf("the history is out of order: %s", asJSON(events))
		} else {
			before = when
		}
	}
	return column(t, events, "event")
}

func TestArtifactShowsEverythingThatWasReported(t *testing.T) {
	t.Parallel()
	s := share(t)
	fingerprint, commit := padHex("abcde1", 64), padHex("c1", 40)
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/build", artifactReport("trail-1", "app", fingerprint, commit))
	got := s.read("/artifacts/" + s.org + "/build/fingerprint/" + fingerprint)
	clientReads(t, "artifact", got)
	for member, want := range map[string]any{
		"fingerprint": fingerprint, "filename": "registry.example.com/cli:1.0", "flow_name": "build", "trail_name": "trail-1",
		"template_reference_name": "app", "git_commit": commit, "state": "COMPLIANT", "state_info": "All attestations are compliant",
		"build_url": "https://github.com/acme/cli/actions/runs/1", "repo_url": "https://github.com/acme/cli",
		"html_url": s.URL + "/" + s.org + "/flows/build/artifacts/" + fingerprint + "?artifact_id=" + lookup(t, got, "id").(string),
		"api_url":  s.URL + "/api/v2/artifacts/" + s.org + "/build/fingerprint/" + fingerprint,
	} {
		if lookup(t, got, member) != want {
			t.Errorf("%s is %v, want %v", member, lookup(t, got, member), want)
		}
	}
	if lookup(t, got, "git_commit_info", "author") != "A. Person <person@example.com>" || lookup(t, got, "git_commit_info", "sha1") != commit {
		t.Errorf("commit %s", asJSON(lookup(t, got, "git_commit_info")))
	}
	if lookup(t, got, "repo_info", "name") != "acme/cli" || lookup(t, got, "repo_info", "id") != "290597708" || lookup(t, got, "repo_info", "provider") != "github" {
		t.Errorf("repo %s", asJSON(lookup(t, got, "repo_info")))
	}
	if lookup(t, got, "annotations", "tier") != 1.0 || lookup(t, got, "created_at") != lookup(t, got, "last_modified_at") {
		t.Errorf("got %s", asJSON(got))
	}
	if self := s.read(strings.TrimPrefix(lookup(t, got, "api_url").(string), s.URL+"/api/v2")); lookup(t, self, "id") != lookup(t, got, "id") {
		t.Error("its api_url shows another artifact")
	}
}

func TestArtifactWithoutCommitAndRepoShowsNull(t *testing.T) {
	t.Parallel()
	s := share(t)
	fingerprint := padHex("abcde1", 64)
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/build", fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"app","build_url":"","commit_url":""}`, fingerprint))
	got := s.read("/artifacts/" + s.org + "/build/fingerprint/" + fingerprint)
	clientReads(t, "artifact", got)
	if lookup(t, got, "git_commit_info") != nil || lookup(t, got, "repo_info") != nil {
		t.Errorf("got %s", asJSON(got))
	}
}

func TestUnknownCommitHasTheSameValueInAllAnswers(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("host", evidence.Server)
	unknown, short := evidence.HashAPIKey("bare"), evidence.HashAPIKey("odd")
	const repo = `,"repo_info":{"name":"acme/web","id":"1","url":"https://github.com/acme/web","provider":"github"}`
	for fingerprint, commit := range map[string]string{unknown: "", short: `,"git_commit_info":{"sha1":"v1"}`} {
		s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/build", fmt.Appendf(nil,
			`{"fingerprint":%q,"filename":"f","build_url":"b","commit_url":"c","trail_name":%q,"template_reference_name":"app"%s%s}`,
			fingerprint, fingerprint, commit, repo))
	}
	s.reportServer("host", "bare", "odd", "stranger")
	shownCommits := map[string]any{}
	for _, fingerprint := range []string{unknown, short} {
		artifact := s.read("/artifacts/" + s.org + "/build/fingerprint/" + fingerprint)
		clientReads(t, "artifact", artifact)
		shownCommits["artifact "+fingerprint] = lookup(t, artifact, "git_commit")
		found, _ := s.search(fingerprint)
		shownCommits["search "+fingerprint] = lookup(t, found, 0, "git_commit")
		for _, event := range lookup(t, s.read("/trails/"+s.org+"/build/"+fingerprint), "events").([]any) {
			if lookup(t, event, "type") == evidence.ArtifactCreation {
				shownCommits["trail "+fingerprint] = lookup(t, event, "git_commit")
			}
		}
	}
	found, _ := s.search(evidence.HashAPIKey("stranger"))
	shownCommits["search without provenance"] = lookup(t, found, 0, "git_commit")
	for i, item := range clientReadsEach(t, "artifacts_item", s.read("/artifacts/"+s.org)) {
		shownCommits[fmt.Sprint("list ", i)] = lookup(t, item, "git_commit")
	}
	latest := s.getSnapshot("host", "-1")
	for _, name := range []string{"bare", "odd"} {
		artifact := latest.artifact(t, name)
		shownCommits["snapshot "+name] = lookup(t, artifact, "git_commit")
		shownCommits["flow of snapshot "+name] = lookup(t, artifact, "flows", 0, "git_commit")
	}
	if len(shownCommits) != 13 {
		t.Errorf("%d answers have a commit", len(shownCommits))
	}
	for where, commit := range shownCommits {
		if commit != evidence.NoCommit {
			t.Errorf("%s: the commit is %q", where, commit)
		}
	}
	// Where the commit may be null, an unknown commit is null.
	if commit := latest.artifact(t, "stranger")["git_commit"]; commit != nil {
		t.Errorf("an artifact that no flow knows has the commit %v in a snapshot", commit)
	}
	for path, members := range map[string][]any{
		"/deployments/" + s.org + "/host/" + unknown:                   {"artifact", "git_commit"},
		"/artifacts/" + s.org + "/build/" + unknown + "/latest_commit": {"latest_commit"},
		"/repos/" + s.org + "/live-artifacts/acme/web?provider=github": {"live_artifacts", 0, "commit_sha"},
	} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s := s.in(t)
			if commit := lookup(t, s.read(path), members...); commit != nil {
				t.Errorf("the commit is %v, want null", commit)
			}
		})
	}
}

func TestStateOfAnArtifactNamesMissingAndBadAttestations(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.wantForm(http.StatusCreated, http.MethodPut, "/flows/"+s.org+"/template_file", `{"name":"build","description":""}`, yamlFile(`version: 1
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
	s.reportArtifact("build", "t", "app", attestedFingerprint, firstCommit)
	want := func(state, info, events string) {
		t.Helper()
		got := s.read("/artifacts/" + s.org + "/build/fingerprint/" + attestedFingerprint)
		if lookup(t, got, "state") != state || lookup(t, got, "state_info") != info {
			t.Errorf("got %v, %v; want %s, %s", lookup(t, got, "state"), lookup(t, got, "state_info"), state, info)
		}
		if shown := history(t, got); shown != events {
			t.Errorf("history %q, want %q", shown, events)
		}
		if listed := lookup(t, s.read("/artifacts/"+s.org), 0, "state"); listed != state {
			t.Errorf("listed as %v", listed)
		}
		if required := fmt.Sprint(lookup(t, got, "template")); required != "[test review]" {
			t.Errorf("template %s", required)
		}
		if lookup(t, got, "last_modified_at").(float64) < lookup(t, got, "created_at").(float64) {
			t.Error("modified before it was created")
		}
	}
	ofArtifact := `,"artifact_fingerprint":"` + attestedFingerprint + `"`
	want("INCOMPLETE", "Missing attestations: test, review", "app reported")
	s.attestGeneric("t", "test", false, ofArtifact)
	want("NON-COMPLIANT", "Non-compliant attestations: test. Missing attestations: review", "app reported test evidence received")
	s.attestGeneric("t", "test", true, ofArtifact)
	s.attestGeneric("t", "scan", true, `,"target_artifacts":["app"]`)
	s.attestGeneric("t", "review", true, "")
	const events = "app reported test evidence received test evidence received scan evidence received"
	want("COMPLIANT", "All attestations are compliant", events)
	// Attestations of another artifact do not count for this one.
	s.reportArtifact("build", "t", "app", newFingerprint, secondCommit)
	s.attestGeneric("t", "test", false, `,"artifact_fingerprint":"`+newFingerprint+`"`)
	s.attestGeneric("t", "scan", false, `,"target_artifacts":["app"],"git_commit_info":{"sha1":"`+secondCommit+`"}`)
	got := s.read("/artifacts/" + s.org + "/build/fingerprint/" + attestedFingerprint)
	if lookup(t, got, "state") != "COMPLIANT" || history(t, got) != events {
		t.Errorf("got %s", asJSON(got))
	}
}

func TestArtifactDroppedFromItsSlotIsJudgedByItsOwnAttestations(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.reportArtifact("build", "t", "app", attestedFingerprint, firstCommit)
	s.attestGeneric("t", "scan", false, `,"artifact_fingerprint":"`+attestedFingerprint+`"`)
	for i := range 40 {
		s.reportArtifact("build", "t", "app", padHex(fmt.Sprintf("abcde%02d", i), 64), secondCommit)
	}
	got := s.read("/artifacts/" + s.org + "/build/fingerprint/" + attestedFingerprint)
	if lookup(t, got, "state") != "NON-COMPLIANT" || history(t, got) != "app reported scan evidence received" {
		t.Errorf("got %s", asJSON(got))
	}
	listed := s.read("/artifacts/" + s.org + "?per_page=100").([]any)
	if oldest := listed[len(listed)-1]; len(listed) != 41 || lookup(t, oldest, "state") != "NON-COMPLIANT" {
		t.Errorf("%d listed, the oldest as %s", len(listed), asJSON(oldest))
	}
}

func TestHistoryHasTheReportAndThenEveryAttestationInOrder(t *testing.T) {
	t.Parallel()
	s := start(t, options{real: true})
	other := `,"target_artifacts":["app"],"git_commit_info":{"sha1":"` + secondCommit + `"}`
	own := `,"target_artifacts":["app"],"git_commit_info":{"sha1":"` + firstCommit + `"}`
	s.attestGeneric("t", "scan", true, own)
	s.attestGeneric("t", "scan", false, own)
	s.attestGeneric("t", "alien", true, other)
	s.attestGeneric("t", "alien", true, `,"target_artifacts":["lib"]`)
	s.reportArtifact("build", "t", "app", attestedFingerprint, firstCommit)
	s.attestGeneric("t", "test", false, `,"artifact_fingerprint":"`+attestedFingerprint+`"`)
	s.attestGeneric("t", "test", true, `,"target_artifacts":["lib","app"]`)
	s.clock.advance(-time.Hour)
	s.attestGeneric("t", "test", true, `,"artifact_fingerprint":"`+attestedFingerprint+`"`)
	s.attestGeneric("t", "alien", true, "")
	const received = " evidence received"
	const want = "app reported scan" + received + " scan" + received + " test" + received + " test" + received + " test" + received
	got := s.read("/artifacts/" + s.org + "/build/fingerprint/" + attestedFingerprint)
	found := lookup(t, s.read("/search/"+s.org+"/sha/"+attestedFingerprint[:9]), "artifacts", 0)
	if history(t, got) != want || history(t, found) != want {
		t.Errorf("history %q, found with %q, want %q", history(t, got), history(t, found), want)
	}
}

// TestArtifactsDroppedFromTheirSlotCostNoMore reads many artifacts of one name. Their slot has only the latest of them:
// two more commands read the attestations of all others, one those by fingerprint and one those by name.
func TestArtifactsDroppedFromTheirSlotCostNoMore(t *testing.T) {
	s, counting := startCounting(t, options{withoutWorker: true, stoppedAt: noonOf30March})
	commands := func(path string) int {
		t.Helper()
		counting.Reset()
		s.read(path)
		return counting.Snapshot().Commands()
	}
	list, one := "/artifacts/"+s.org+"?per_page=100", "/artifacts/"+s.org+"/build/fingerprint/"+attestedFingerprint
	s.reportArtifact("build", "t", "app", attestedFingerprint, firstCommit)
	s.attestGeneric("t", "scan", false, `,"artifact_fingerprint":"`+attestedFingerprint+`"`)
	fewListed, fewShown := commands(list), commands(one)
	for i := range 45 {
		fingerprint := padHex(fmt.Sprintf("abcde%02d", i), 64)
		s.reportArtifact("build", "t", "app", fingerprint, secondCommit)
		s.attestGeneric("t", "scan", i%2 == 0, `,"artifact_fingerprint":"`+fingerprint+`"`)
	}
	if listed, shown := commands(list), commands(one); listed > fewListed+2 || shown > fewShown {
		t.Errorf("%d commands for the list and %d for one, with few artifacts %d and %d", listed, shown, fewListed, fewShown)
	}
	states := column(t, s.read(list), "state")
	if strings.Count(states, "NON-COMPLIANT") != 23 || len(strings.Fields(states)) != 46 {
		t.Errorf("the states are %s", states)
	}
}

func TestArtifactIsFoundByFingerprintTrailAndAttestation(t *testing.T) {
	t.Parallel()
	s := share(t)
	one, other := padHex("abcde1", 64), padHex("abcde2", 64)
	s.reportArtifact("build", "t1", "app", one, firstCommit)
	s.attestGeneric("t1", "scan", true, `,"artifact_fingerprint":"`+one+`"`)
	s.reportArtifact("build", "t2", "app", one, secondCommit)
	s.attestGeneric("t2", "named", true, `,"target_artifacts":["app"]`)
	s.reportArtifact("build", "t1", "app", other, firstCommit)
	s.reportArtifact("release", "t1", "app", one, firstCommit)
	scan, named := lookup(t, s.onlyAttestation("t1", "scan"), "attestation_id").(string), lookup(t, s.onlyAttestation("t2", "named"), "attestation_id").(string)
	base := "/artifacts/" + s.org + "/build/fingerprint/"
	for name, c := range map[string]struct{ path, fingerprint, trail string }{
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
	} {
		t.Run(name, func(t *testing.T) {
			got := s.in(t).read(base + c.path)
			if lookup(t, got, "fingerprint") != c.fingerprint || lookup(t, got, "trail_name") != c.trail {
				t.Errorf("got %v in %v, want %v in %v", lookup(t, got, "fingerprint"), lookup(t, got, "trail_name"), c.fingerprint, c.trail)
			}
		})
	}
	for name, c := range map[string]struct{ path, fingerprint string }{
		"unknown trail":                   {one[:6] + "?trail=none", one[:6]},
		"another trail":                   {other + "?trail=t2", other},
		"unknown fingerprint":             {padHex("abcdf", 64), padHex("abcdf", 64)},
		"attestation of another artifact": {other + "?attestation_id=" + scan, other},
		"attestation of another trail":    {one + "?trail=t2&attestation_id=" + scan, one},
		"unknown attestation":             {one + "?attestation_id=00000000-0000-0000-0000-00000000", one},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, base+c.path, nil),
				"Artifact with fingerprint '"+c.fingerprint+"' does not exist in flow 'build' belonging to organization '"+s.org+"'")
		})
	}
	wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, "/artifacts/"+s.org+"/none/fingerprint/"+one, nil),
		"Flow named 'none' does not exist for organization '"+s.org+"'")
	for path, field := range map[string]string{
		"build/fingerprint/abcd": "path.fingerprint", "build/fingerprint/ABCDE": "path.fingerprint", "build/fingerprint/" + one + "0": "path.fingerprint",
		"build/fingerprint/" + one + "?attestation_id=1": "query.attestation_id", "-x/fingerprint/" + one: "path.flow_name",
		"build/xyz/latest_commit": "path.fingerprint",
	} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s := s.in(t)
			message, errors := s.want(http.StatusBadRequest, http.MethodGet, "/artifacts/"+s.org+"/"+path, nil).problem(t)
			if message != "Input payload validation failed" || !strings.HasPrefix(errors[field], "String should match pattern '^") {
				t.Errorf("%q %q", message, errors)
			}
		})
	}
}

func TestArtifactsAreFoundByCommit(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.reportArtifact("build", "t1", "app", padHex("abcde1", 64), firstCommit)
	s.reportArtifact("build", "t2", "app", padHex("abcde1", 64), firstCommit)
	s.attestGeneric("t2", "scan", false, `,"artifact_fingerprint":"`+padHex("abcde1", 64)+`"`)
	s.reportArtifact("build", "t1", "web", padHex("abcde2", 64), firstCommit)
	s.reportArtifact("build", "t1", "app", padHex("abcde3", 64), secondCommit)
	base := "/artifacts/" + s.org + "/build/commit_sha/"
	for path, want := range map[string]string{
		firstCommit:               "t1/web t2/app t1/app",
		firstCommit[:7]:           "t1/web t2/app t1/app",
		firstCommit + "?trail=t2": "t2/app",
		firstCommit + "?trail=":   "t1/web t2/app t1/app",
		padHex("9", 40):           "",
		"main":                    "",
	} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s := s.in(t)
			var got []string
			for _, artifact := range s.read(base + path).([]any) {
				clientReads(t, "artifact", artifact)
				got = append(got, fmt.Sprint(lookup(t, artifact, "trail_name"), "/", lookup(t, artifact, "template_reference_name")))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("got %v, want %s", got, want)
			}
		})
	}
	// An attestation counts only for the artifact in its own trail.
	list := s.read(base + firstCommit)
	if history(t, lookup(t, list, 1)) != "app reported scan evidence received" || history(t, lookup(t, list, 2)) != "app reported" {
		t.Errorf("got %s", asJSON(list))
	}
	wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, "/artifacts/"+s.org+"/none/commit_sha/"+firstCommit, nil),
		"Flow named 'none' does not exist for organization '"+s.org+"'")
}

func TestLatestCommitIsThatOfTheArtifactOrElseOfTheFlow(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.wantForm(http.StatusCreated, http.MethodPut, "/flows/"+s.org+"/template_file", `{"name":"cli-ci","description":""}`, yamlFile("version: 1\n"))
	s.wantLatestCommit(cliFingerprint, "", nil)
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/cli-ci", artifactReport("t", "cli", cliFingerprint, pipelineCommit))
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/cli-ci", artifactReport("t", "cli", newFingerprint, branchCommit))
	s.wantLatestCommit(cliFingerprint, "", pipelineCommit)
	s.wantLatestCommit(cliFingerprint[:7], "?branch=", pipelineCommit)
	s.wantLatestCommit(cliFingerprint, "?branch=main", pipelineCommit)
	s.wantLatestCommit(cliFingerprint, "?branch=other", nil)
	s.wantLatestCommit(padHex("1", 64), "", branchCommit)
	s.wantLatestCommit(padHex("1", 64), "?branch=main", branchCommit)
	wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, "/artifacts/"+s.org+"/none/"+cliFingerprint+"/latest_commit", nil),
		"Flow named 'none' does not exist for organization '"+s.org+"'")
}

func TestArtifactsAreListedInPages(t *testing.T) {
	t.Parallel()
	s := share(t)
	for i := range 17 {
		s.reportArtifact("build", "t", "app", padHex(fmt.Sprintf("abc%02d", i), 64), firstCommit)
	}
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/release", artifactReport("t", "app", cliFingerprint, pipelineCommit))
	for query, want := range map[string]int{
		"": 15, "?page=2": 3, "?page=3": 0, "?page=1&per_page=18": 18, "?per_page=5&page=4": 3, "?page=99999999999": 0,
		"?page=0&per_page=0": 15, "?page=-1&per_page=-1": 15, "?per_page=5000": 18,
		"?flow_name=build": 15, "?flow_name=build&page=2": 2, "?flow_name=release": 1,
		"?repo_name=acme/cli": 1, "?repo_name=": 15, "?repo_name=acme/cli&flow_name=build": 0, "?repo_name=acme/cli&flow_name=release": 1,
		"?search=APP.j": 15, "?search=app.j&page=2": 2, "?search=none": 0, "?search=app.j&flow_name=release": 0,
		"/build": 15, "/build?page=2": 2, "/release?page=1&per_page=20": 1, "/release?page=2": 0,
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			got := s.read("/artifacts/" + s.org + query).([]any)
			if len(got) != want {
				t.Errorf("%d artifacts, want %d", len(got), want)
			}
			for _, item := range got {
				clientReads(t, "artifacts_item", item)
			}
		})
	}
	list := s.read("/artifacts/" + s.org)
	if lookup(t, list, 0, "fingerprint") != cliFingerprint || lookup(t, list, 1, "fingerprint") != padHex("abc16", 64) {
		t.Errorf("not the newest first: %s", column(t, list, "fingerprint"))
	}
	if got := string(s.want(http.StatusOK, http.MethodGet, "/artifacts/"+s.org+"?page=9", nil).body); got != "[]" {
		t.Errorf("beyond the end: %s", got)
	}
	wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, "/artifacts/"+s.org+"?repo_name=none", nil), "Repo 'none' not found")
	for _, path := range []string{"?flow_name=none", "/none"} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s := s.in(t)
			wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, "/artifacts/"+s.org+path, nil),
				"Flow named 'none' does not exist for organization '"+s.org+"'")
		})
	}
	for query, field := range map[string]string{"?flow_name=": "query.flow_name", "?flow_name=a%20b": "query.flow_name", "?page=x": "query.page", "?per_page=": "query.per_page"} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			_, errors := s.want(http.StatusBadRequest, http.MethodGet, "/artifacts/"+s.org+query, nil).problem(t)
			if errors[field] == "" {
				t.Errorf("%q", errors)
			}
		})
	}
}

func TestRunningArtifactShowsWhereItRuns(t *testing.T) {
	t.Parallel()
	s := share(t)
	fingerprint := evidence.HashAPIKey("web")
	s.reportArtifact("build", "t", "app", fingerprint, firstCommit)
	s.createEnvironment("prod", evidence.Server)
	s.createEnvironment("beta", evidence.Server)
	s.reportServer("prod", "web")
	s.reportServer("prod", "web", "db")
	s.reportServer("beta", "db")
	s.reportServer("beta", "db", "web")
	var got any
	// A worker records started artifacts after the report is answered.
	eventually(t, "the artifact runs in two environments", func() bool {
		got = s.read("/artifacts/" + s.org + "/build/fingerprint/" + fingerprint)
		return len(lookup(t, got, "running").([]any)) == 2
	})
	if running := fmt.Sprint(lookup(t, got, "running")); running != "[map[environment_name:beta snapshot_index:2] map[environment_name:prod snapshot_index:2]]" {
		t.Errorf("running %s", running)
	}
	if events := history(t, got); events != "app reported Started running in prod#1 environment Started running in beta#2 environment" {
		t.Errorf("history %q", events)
	}
	s.reportServer("beta", "db")
	eventually(t, "the artifact has exited", func() bool {
		got = lookup(t, s.read("/artifacts/"+s.org+"/build/commit_sha/"+firstCommit), 0)
		return column(t, lookup(t, got, "running"), "environment_name") == "prod"
	})
	if exited := fmt.Sprint(lookup(t, got, "exited")); exited != "[map[environment_name:beta snapshot_index:3]]" {
		t.Errorf("exited %s", exited)
	}
	if events := history(t, got); !strings.HasSuffix(events, "No longer running in beta#3 environment") {
		t.Errorf("history %q", events)
	}
	// The time of the commit is unknown.
	if times := lookup(t, got, "commit_lead_times").(map[string]any); len(times) != 0 {
		t.Errorf("lead times of the commit %v", times)
	}
	times := lookup(t, got, "build_lead_times").(map[string]any)
	if beta, prod := times["beta"].(float64), times["prod"].(float64); prod < 0 || beta <= prod {
		t.Errorf("lead times of the build %v", times)
	}
}

func TestHistoryOfAnArtifactWithoutATrailBeginsWithItsCreation(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	for fingerprint, c := range map[string]struct{ members, events string }{
		attestedFingerprint: {"", "Artifact created"},
		newFingerprint:      {`,"trail_name":null,"template_reference_name":"app"`, "Artifact created"},
		digestOf("trail"):   {`,"trail_name":"t","template_reference_name":"web"`, "web reported"},
	} {
		s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/build", fmt.Appendf(nil,
			`{"fingerprint":%q,"filename":"app.jar","git_commit":%q,"build_url":"b","commit_url":"c"%s}`, fingerprint, firstCommit, c.members))
		if events := history(t, s.read("/artifacts/"+s.org+"/build/fingerprint/"+fingerprint)); events != c.events {
			t.Errorf("with %s: history %q, want %q", c.members, events, c.events)
		}
	}
}

func TestArtifactsStayWithinTheirOrganization(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.reportArtifact("build", "t", "app", attestedFingerprint, firstCommit)
	s.attestGeneric("t", "scan", true, `,"artifact_fingerprint":"`+attestedFingerprint+`"`)
	scan := lookup(t, s.onlyAttestation("t", "scan"), "attestation_id").(string)
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.public+"/build", fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"theirs","build_url":"","commit_url":"","trail_name":"t"}`, attestedFingerprint))
	if list := s.read("/artifacts/" + s.public); column(t, list, "filename") != "theirs" {
		t.Errorf("another organization lists %s", asJSON(list))
	}
	theirs := s.read("/artifacts/" + s.public + "/build/fingerprint/" + attestedFingerprint)
	if lookup(t, theirs, "filename") != "theirs" || history(t, theirs) != "artifact reported" {
		t.Errorf("another organization reads %s", asJSON(theirs))
	}
	s.want(http.StatusNotFound, http.MethodGet, "/artifacts/"+s.public+"/build/fingerprint/"+attestedFingerprint+"?attestation_id="+scan, nil)
	if list := s.read("/artifacts/" + s.public + "/build/commit_sha/" + firstCommit).([]any); len(list) != 0 {
		t.Errorf("another organization reads %s", asJSON(list))
	}
}

func TestListOfArtifactsCostsTheSameForOneAsForMany(t *testing.T) {
	counter := &commandCounter{}
	s := start(t, options{wrap: counter.wrap, withoutWorker: true})
	commands := func() []string {
		t.Helper()
		counter.take()
		s.read("/artifacts/" + s.org + "?per_page=50")
		return counter.take()
	}
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/flow", artifactReport("t", "app", padHex("1", 64), pipelineCommit))
	one := commands()
	for i := range 30 {
		s.want(http.StatusCreated, http.MethodPost, fmt.Sprintf("/artifacts/%s/flow-%d", s.org, i%3),
			artifactReport(fmt.Sprintf("t%d", i), fmt.Sprintf("app%d", i%4), padHex(fmt.Sprintf("abc%02d", i), 64), pipelineCommit))
	}
	if many := commands(); !slices.Equal(one, many) {
		t.Errorf("one artifact takes %v, many take %v", one, many)
	}
}
