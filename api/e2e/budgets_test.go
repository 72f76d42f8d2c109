package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
)

const mebibyte = 1 << 20

// liveHeap returns the bytes of live objects on the heap, including those that are allocated during the measurement.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // the second run empties the pools
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// attestLarge sends attestations of a name with the numbers [from, to), each with size bytes of data.
func attestLarge(s *apitest.Service, flow, trail, name string, from, to, size int) {
	s.T.Helper()
	for i := from; i < to; i++ {
		s.WantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.Org+"/"+flow+"/trail/"+trail+"/generic",
			fmt.Sprintf(`{"attestation_name":%q,"is_compliant":true,"git_commit_info":{"sha1":"%040d"},"user_data":{"n":%d,"data":%q}}`,
				name, i%3, i, strings.Repeat("x", size)))
	}
}

func TestLargeAttestationsAreListedInLittleMemory(t *testing.T) {
	s := apitest.Start(t, apitest.Options{WithoutWorker: true, MemoryBudget: 64})
	const times = 36
	slow := apitest.Scaled(times/2, times)
	attestLarge(s, "flow", "trail", "scan", 0, slow, 1_000_000)
	t.Run("heap stays small while a long answer is read slowly", func(t *testing.T) { testSlowReader(s.In(t), int64(slow)) })
	attestLarge(s, "flow", "trail", "scan", slow, times, 1_000_000)
	t.Run("pages of large attestations have fewer than 100", func(t *testing.T) { testPageEnds(s.In(t), times) })
}

func testSlowReader(s *apitest.Service, times int64) {
	t := s.T
	for _, path := range []string{
		"/attestations/" + s.Org + "/flow/trail/trail/scan",
		"/attestations/" + s.Org + "/list_attestations_for_criteria?commit_list=" + fmt.Sprintf("%040d&commit_list=%040d&commit_list=%040d", 0, 1, 2),
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/v2"+path, nil)
		s.Must(err)
		request.Header.Set("Authorization", "Bearer "+apitest.ReaderKey)
		// Compressed, the whole answer is so short that it would be sent before the client reads.
		request.Header.Set("Accept-Encoding", "identity")
		before := liveHeap()
		response, err := http.DefaultClient.Do(request)
		s.Must(err)
		received, most := int64(0), int64(0)
		for err == nil {
			var n int64
			n, err = io.CopyN(io.Discard, response.Body, 8*mebibyte)
			received += n
			most = max(most, liveHeap()-before)
		}
		response.Body.Close()
		if err != io.EOF || received < times*1_000_000 {
			t.Fatalf("%s: %d bytes, %v", path, received, err)
		}
		// A batch is 1 MiB here. The whole answer in memory would take at least twice its size, 34 MiB. Some of the heap is
		// used by unfinished work of earlier tests.
		if t.Logf("%s: at most %d KiB of heap for %d KiB", path, most>>10, received>>10); most > 24*mebibyte {
			t.Errorf("%s: %d MiB of heap", path, most>>20)
		}
	}
	apitest.Eventually(t, "the memory is released", func() bool { return s.Metric("attestry_memory_reserved_bytes") == 0 })
}

func testPageEnds(s *apitest.Service, times int) {
	t := s.T
	type page struct {
		Data []struct {
			UserData struct{ N int } `json:"user_data"`
		}
		Links      map[string]struct{ Href string } `json:"_links"`
		Pagination struct{ Total, Page int }
	}
	var sizes []int
	next, number := "/api/v2/attestations/"+s.Org+"?per_page=100", times-1
	for next != "" {
		var read page
		got := s.Do(http.MethodGet, next, apitest.ReaderKey, nil)
		got.Decode(t, &read)
		sizes = append(sizes, len(read.Data))
		for _, attestation := range read.Data {
			if attestation.UserData.N != number {
				t.Fatalf("after attestation %d comes %d", number+1, attestation.UserData.N)
			}
			number--
		}
		apitest.Equal(t, read.Pagination.Total, times)
		apitest.Equal(t, read.Pagination.Page, len(sizes))
		next = strings.TrimPrefix(read.Links["next"].Href, s.URL)
	}
	if number != -1 || len(sizes) != 2 || sizes[0] < 32 || sizes[0] > 38 {
		t.Errorf("pages have %v attestations, the last one is %d", sizes, number+1)
	}
}

// readPages returns the items of all pages of a list. list is the member with the items, "" if the answer is an array.
func readPages(s *apitest.Service, path, list string, size int) []any {
	s.T.Helper()
	var all []any
	for number := 1; ; number++ {
		value := s.Read(fmt.Sprintf("%s%sper_page=%d&page=%d", path, map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")], size, number))
		if list != "" {
			value = apitest.Lookup(s.T, value, list)
		}
		page := value.([]any)
		all = append(all, page...)
		if len(page) < size {
			return all
		}
	}
}

// TestListsOfManyBatchesAreComplete compares lists that are read in several batches with their pages.
func TestListsOfManyBatchesAreComplete(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true, ReportWait: time.Millisecond, MemoryBudget: 16}) // batches of 256 KiB
	heavy := strings.Repeat("x", 40_000)
	s.CreateFlow("flow", apitest.YAMLFile("version: 1"))
	for i := range 30 {
		trail := fmt.Sprintf("t%02d", i)
		if i%3 == 0 {
			s.CreateFlow(fmt.Sprintf("flow-%02d", i), apitest.YAMLFile("version: 1\n#"+strings.Repeat(fmt.Sprint(i%10), 60_000)))
		}
		s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/flow", `{"name":"`+trail+`","user_data":{"heavy":"`+heavy+`"}}`)
		s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/flow",
			[]byte(strings.Replace(string(apitest.ArtifactReport("t00", fmt.Sprintf("app%d", i%4), apitest.PadHex(fmt.Sprintf("abc%02d", i), 64), apitest.PipelineCommit)),
				`{"fingerprint"`, `{"user_data":{"heavy":"`+heavy+`"},"fingerprint"`, 1)))
	}
	attestLarge(s, "flow", "t00", "scan", 0, 30, 40_000)
	for i := range 30 {
		s.CreateEnvironment(fmt.Sprintf("env-%02d", i), evidence.Server)
		s.Want(http.StatusCreated, http.MethodPut, "/allowlists/"+s.Org+fmt.Sprintf("/env-%02d", i),
			[]byte(`{"artifact_name":"a","artifact_fingerprint":"`+apitest.PadHex("a", 64)+`","description":"`+heavy+`"}`))
	}
	data := func(value any) []any { return apitest.Lookup(t, value, "data").([]any) }
	array := func(value any) []any { return value.([]any) }
	type testCase struct {
		whole string
		list  func(any) []any
		pages []any
		count int
	}
	apitest.Each(s, map[string]testCase{
		"trails of the organization":       {"/trails/" + s.Org + "?per_page=100", data, readPages(s, "/trails/"+s.Org, "data", 7), 30},
		"trails of a flow":                 {"/trails/" + s.Org + "/flow", array, readPages(s, "/trails/"+s.Org+"/flow", "data", 7), 30},
		"artifacts":                        {"/artifacts/" + s.Org + "?per_page=1000", array, readPages(s, "/artifacts/"+s.Org, "", 7), 30},
		"artifacts of a flow":              {"/artifacts/" + s.Org + "/flow?per_page=1000", array, readPages(s, "/artifacts/"+s.Org+"/flow", "", 7), 30},
		"attestations of a flow":           {"/attestations/" + s.Org + "/flow?per_page=100", data, readPages(s, "/attestations/"+s.Org+"/flow", "data", 7), 30},
		"attestations of the organization": {"/attestations/" + s.Org + "?per_page=100", data, readPages(s, "/attestations/"+s.Org+"/flow", "data", 7), 30},
		"attestations of a name":           {"/attestations/" + s.Org + "/flow/trail/t00/scan", array, readPages(s, "/attestations/"+s.Org+"/flow", "data", 7), 30},
		"flows":                            {"/flows/" + s.Org, array, readPages(s, "/flows/"+s.Org, "data", 7), 11},
	}, func(s *apitest.Service, _ string, row testCase) {
		whole := row.list(s.Read(row.whole))
		if len(whole) != row.count || !reflect.DeepEqual(whole, row.pages) {
			s.T.Errorf("%d, in pages %d, want %d", len(whole), len(row.pages), row.count)
		}
	})
	byCommit := s.Read("/attestations/" + s.Org + "/list_attestations_for_criteria?commit_list=" + fmt.Sprintf("%040d&commit_list=%040d&commit_list=%040d", 0, 2, 7)).(map[string]any)
	all := readPages(s, "/attestations/"+s.Org+"/flow", "data", 100)
	for i := range 3 {
		commit := fmt.Sprintf("%040d", i)
		var want []any
		for _, attestation := range all {
			if apitest.Lookup(t, attestation, "git_commit_info", "sha1") == commit {
				want = append(want, attestation)
			}
		}
		if i == 1 {
			want = nil // not in commit_list
		}
		if got, _ := byCommit[commit].([]any); len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s has %d attestations, want %d", commit, len(got), len(want))
		}
	}
	if none, ok := byCommit[fmt.Sprintf("%040d", 7)].([]any); !ok || len(none) != 0 || len(byCommit) != 3 {
		t.Errorf("commits are %d; without attestations: %v", len(byCommit), none)
	}
	allowed := array(s.Read("/allowlists/" + s.Org))
	for i, one := range allowed {
		if want := fmt.Sprintf("env-%02d", 29-i); apitest.Lookup(t, one, "environment_name") != want {
			t.Errorf("allowance %d is of %v, want %s", i, apitest.Lookup(t, one, "environment_name"), want)
		}
	}
	apitest.Equal(t, len(allowed), 30, "allowances")
}

func TestListsLeaveOutLongTemplatesAndSchemas(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	comment := func(size int) string { return "version: 1\n#" + strings.Repeat("x", size) }
	s.CreateFlow("short", apitest.YAMLFile(comment(60_000)))
	s.CreateFlow("long", apitest.YAMLFile(comment(70_000)))
	list := s.ListFlows("")
	if len(list) != 2 || list[0].Name != "long" || list[0].Template != "" || list[1].Template != comment(60_000) {
		t.Errorf("got %d flows", len(list))
	}
	if list := s.Read("/flows/" + s.Org).([]any); apitest.Lookup(t, list[0], "template") != nil {
		t.Error("a template that is left out is not null")
	}
	apitest.Equal(t, s.GetFlow("long").Template, comment(70_000), "a flow by itself lacks its template")
	schema := func(size int) string { return `{"type":"object","description":"` + strings.Repeat("x", size) + `"}` }
	s.CreateAttestationType(`{"name":"scan"}`, apitest.SchemaFile(schema(100)))
	s.CreateAttestationType(`{"name":"scan"}`, apitest.SchemaFile(schema(100_000)))
	s.CreateAttestationType(`{"name":"scan"}`, apitest.SchemaFile(schema(200)))
	var types []apitest.AttestationTypeBody
	s.Want(http.StatusOK, http.MethodGet, s.TypesPath(), nil).Decode(t, &types)
	whole := s.GetAttestationType("scan")
	if len(types) != 1 || len(types[0].Versions) != 3 || len(whole.Versions) != 3 {
		t.Fatalf("%d types, %d versions", len(types), len(whole.Versions))
	}
	for i, size := range []int{200, 100_000, 100} {
		want := schema(size)
		if got := string(whole.Versions[i].TypeSchema); got != want {
			t.Errorf("version %d has a schema of %d bytes, want %d", 3-i, len(got), len(want))
		}
		if size == 100_000 {
			want = "null"
		}
		if got := string(types[0].Versions[i].TypeSchema); got != want {
			t.Errorf("in the list, version %d has a schema of %d bytes, want %d", 3-i, len(got), len(want))
		}
	}
}

// largeReport returns a report of at least size bytes, of pods that run 500 images.
func largeReport(size int) []byte {
	var body strings.Builder
	body.WriteString(`{"artifacts":[`)
	for i := 0; body.Len() < size; i++ {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"podName":"pod-%06d","namespace":"team-%d","digests":{"image-%d":"%064x"},"creationTimestamp":1795274782,"owners":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"cart-7d9f8b6c5","uid":"8d3f9a1e-4c2b-4f6a-9d7e-%012d"}]}`,
			i, i%20, i%500, i%500, i)
	}
	body.WriteString("]}")
	return []byte(body.String())
}

// sendReport sends spaces and then a report, as a snapshotter. It may be called from any goroutine.
func sendReport(s *apitest.Service, environment string, spaces int, report []byte) (status int, retryAfter string, err error) {
	request, err := http.NewRequestWithContext(s.T.Context(), http.MethodPut,
		s.URL+"/api/v2/environments/"+s.Org+"/"+environment+"/report/K8S", nil)
	if err != nil {
		return 0, "", err
	}
	// All senders read the same report: copies would count as memory of the service.
	request.GetBody = func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader(strings.Repeat(" ", spaces)), bytes.NewReader(report))), nil
	}
	if request.Body, err = request.GetBody(); err != nil {
		return 0, "", err
	}
	request.ContentLength = int64(spaces + len(report))
	request.Header.Set("Authorization", "Bearer "+apitest.SnapshotterKey)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	_, err = io.ReadAll(response.Body)
	return response.StatusCode, response.Header.Get("Retry-After"), err
}

func TestConcurrentLargeReportsAreAllAnsweredWithinTheBudget(t *testing.T) {
	s := apitest.Start(t, apitest.Options{MemoryBudget: 64})
	defer http.DefaultClient.CloseIdleConnections()
	s.CreateEnvironment("prod", evidence.K8S)
	body := largeReport(4_000_000)
	s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath()+"/prod/report/K8S", body)
	// With less garbage, requests must help the collector before they may allocate much during a measurement.
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	before := liveHeap()
	var mu sync.Mutex
	counts := map[int]int{}
	var senders sync.WaitGroup
	for i := range 64 {
		senders.Go(func() {
			// The bytes of each report differ, so that each is decoded.
			status, after, err := sendReport(s, "prod", i+1, body)
			mu.Lock()
			defer mu.Unlock()
			counts[status]++
			if err != nil || status == http.StatusServiceUnavailable && after == "" {
				t.Errorf("got %d, Retry-After %q, %v", status, after, err)
			}
		})
	}
	answered, measured := make(chan struct{}), make(chan int64)
	go func() {
		most := int64(0)
		for waiting := true; waiting; {
			most = max(most, liveHeap()-before)
			select {
			case <-answered:
				waiting = false
			default:
			}
		}
		measured <- most
	}()
	apitest.EachOf(s, []string{"/ready", "/api/v2/environments/" + s.Org + "/prod"},
		func(s *apitest.Service, path string) {
			apitest.Equal(s.T, s.Do(http.MethodGet, path, apitest.ReaderKey, nil).Status, http.StatusOK, path)
		})
	senders.Wait()
	close(answered)
	most := <-measured
	t.Logf("answers %v, at most %d MiB of heap more", counts, most>>20)
	// It can happen that all are refused: each one when it needs memory to be decoded, while others still arrive.
	if counts[http.StatusOK]+counts[http.StatusServiceUnavailable] != 64 || counts[http.StatusServiceUnavailable] == 0 {
		t.Errorf("answers %v", counts)
	}
	// Without a budget it is more than 300 MiB. Allocations during the measurement are counted too.
	if most > 128*mebibyte {
		t.Errorf("%d MiB of heap on a budget of 64", most>>20)
	}
	apitest.Eventually(t, "the memory is released", func() bool { return s.Metric("attestry_memory_reserved_bytes") == 0 })
	if s.Metric("attestry_memory_refusals_total") < float64(counts[http.StatusServiceUnavailable]) {
		t.Error("refusals were not counted")
	}
	status, _, err := sendReport(s, "prod", 65, body)
	if err != nil || status != http.StatusOK {
		t.Errorf("a report that is sent again, got %d, %v", status, err)
	}
}

func TestWaitingReportUsesNoMemory(t *testing.T) {
	// As on a large machine.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(64))
	s := apitest.Start(t, apitest.Options{WithoutWorker: true, MemoryBudget: 64})
	s.CreateEnvironment("prod", evidence.K8S)
	body := largeReport(4_000_000)
	before := liveHeap()
	ended := make(chan int, 1)
	go func() {
		status, _, err := sendReport(s, "prod", 0, body)
		if err != nil {
			t.Error(err)
		}
		ended <- status
	}()
	apitest.Eventually(t, "the report is stored", func() bool {
		reports, _, err := s.Process.Store.Reports.AcceptedBefore(t.Context(), evidence.Seconds(time.Now().Add(time.Hour)), "")
		s.Must(err)
		return len(reports) == 1
	})
	apitest.Eventually(t, "its memory is released", func() bool { return s.Metric("attestry_memory_reserved_bytes") == 0 })
	// The compressor keeps 8 MiB for the next report.
	if most := liveHeap() - before; most > 12*mebibyte {
		t.Errorf("%d MiB of heap are in use while the report waits", most>>20)
	}
	s.RunWorker()
	if status := <-ended; status != http.StatusCreated {
		t.Errorf("the report is answered %d", status)
	}
}

// sendHalfReport sends the first size bytes of a chunk of twice that size, and leaves the request unfinished.
func sendHalfReport(s *apitest.Service, environment string, size int) net.Conn {
	s.T.Helper()
	conn, err := new(net.Dialer).DialContext(s.T.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	s.Must(err)
	s.T.Cleanup(func() { conn.Close() })
	_, err = fmt.Fprintf(conn, "PUT /api/v2/environments/%s/%s/report/K8S HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s", s.Org, environment, apitest.SnapshotterKey, 2*size, strings.Repeat(" ", size))
	s.Must(err)
	return conn
}

func TestServiceAnswersWhileSlowRequestsUseTheBudget(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{MemoryBudget: 16})
	defer http.DefaultClient.CloseIdleConnections()
	s.CreateEnvironment("prod", evidence.K8S)
	s.CreateFlow("flow", apitest.YAMLFile("version: 1"))
	s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/flow", `{"name":"trail"}`)
	// The reservation of a body doubles as it arrives. 8, 4 and 2 MiB are all that large requests may reserve.
	var slow []net.Conn
	for reserved, size := int64(0), int64(8*mebibyte); size >= 2*mebibyte; size /= 2 {
		slow = append(slow, sendHalfReport(s, "prod", int(size*3/4)))
		reserved += size
		apitest.Eventually(t, "the body has arrived", func() bool { return s.Metric("attestry_memory_reserved_bytes") == float64(reserved) })
	}
	attest := func(size int) apitest.Answer {
		return s.Form(http.MethodPost, "/attestations/"+s.Org+"/flow/trail/trail/generic", apitest.MemberKey, "data_json", `{"attestation_name":"scan","is_compliant":true}`,
			apitest.Part{Field: "attachment_file", Filename: "a.txt", ContentType: "text/plain", Content: make([]byte, size)})
	}
	for name, row := range map[string]struct {
		got    apitest.Answer
		status int
	}{
		"readiness":           {s.Do(http.MethodGet, "/ready", "", nil), http.StatusOK},
		"small answer":        {s.Do(http.MethodGet, "/api/v2/environments/"+s.Org+"/prod", apitest.ReaderKey, nil), http.StatusOK},
		"small body":          {s.Do(http.MethodPut, "/api/v2/environments/"+s.Org, apitest.AdminKey, []byte(`{"name":"dev","type":"docker","description":""}`)), http.StatusCreated},
		"small report":        {s.Do(http.MethodPut, "/api/v2/environments/"+s.Org+"/prod/report/K8S", apitest.SnapshotterKey, largeReport(100_000)), http.StatusCreated},
		"large report":        {s.Do(http.MethodPut, "/api/v2/environments/"+s.Org+"/prod/report/K8S", apitest.SnapshotterKey, largeReport(1_000_000)), http.StatusServiceUnavailable},
		"small file":          {attest(100_000), http.StatusCreated},
		"large file":          {attest(1_200_000), http.StatusServiceUnavailable},
		"document of the API": {s.Do(http.MethodGet, "/api/v2/openapi.json", "", nil), http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			apitest.Equal(t, row.got.Status, row.status, row.got.Body)
			apitest.Equal(t, (row.got.Header.Get("Retry-After") != ""),
				(row.status == http.StatusServiceUnavailable), "Retry-After")
		})
	}
	for _, conn := range slow {
		s.Must(conn.Close())
	}
	apitest.Eventually(t, "the memory is released", func() bool { return s.Metric("attestry_memory_reserved_bytes") == 0 })
	apitest.WantAnswer(t, attest(1_200_000), http.StatusCreated)
}
