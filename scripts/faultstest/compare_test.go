package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/translog"
	"attestry/scripts/clienttest"
)

// item is an item of a list.
type item = map[string]any

// fake is a fake service, with the lists of its API by path.
type fake struct {
	lists   map[string][]item
	entries []translog.Entry
}

const (
	trailsPath       = "/trails/faults/w"
	artifactsPath    = "/artifacts/faults/w"
	attestationsPath = "/attestations/faults/w"
	snapshotsPath    = "/snapshots/faults/w"
	eventsPath       = "/environments/faults/w/events"
	logicalPath      = "/snapshots/faults/all"
)

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v2")
	if strings.HasPrefix(path, "/log/faults/tile/") {
		texts := evidence.Map(f.entries, func(entry translog.Entry) []byte { return entry.Text() })
		w.Write(translog.Bundle(texts))
		return
	}
	var answer any = f.lists[path]
	switch {
	case path == "/log/faults":
		answer = item{"size": len(f.entries), "verifier_keys": []string{"key"}}
	case r.URL.Query().Get("page") != "1":
		answer = []item{}
	case path == trailsPath, path == attestationsPath:
		answer = item{"data": f.lists[path]}
	}
	json.NewEncoder(w).Encode(answer)
}

// newTested returns a writer that has made two releases, and a service that has them. Both artifacts were sent twice, and only
// the second request was acknowledged: the first one was recorded for the first release, and not for the second.
func newTested(t *testing.T) (*tested, *fake) {
	tested := &tested{ledger: newLedger(), writers: []*writer{{name: "w"}}, logical: 1, receiver: &receiver{delivered: map[string]map[string]bool{}}}
	f := &fake{lists: map[string][]item{logicalPath: {{"index": 1}, {"index": 2}, {"index": 3}}}}
	artifact := func(n, try int) {
		id := fmt.Sprintf("artifact-%d-%d", n, try)
		f.lists[artifactsPath] = append(f.lists[artifactsPath], item{
			"id": id, "trail_name": fmt.Sprintf("w-%d", n), "fingerprint": fmt.Sprint("f", n), "state": "COMPLIANT",
			"user_data": item{"mark": fmt.Sprintf("w-%d#%d", n, try)},
		})
		f.entries = append(f.entries, translog.Entry{Kind: "artifact", ID: id})
		tested.deliver(fmt.Sprintf("notice ARTIFACT_REPORTED : w-%d f%d ", n, n), id)
	}
	for n := range 2 {
		trail := fmt.Sprintf("w-%d", n)
		tested.send("artifact " + trail + "#1 COMPLIANT")
		artifact(n, 2)
		tested.acknowledge("artifact %s#2 COMPLIANT", trail)
		f.lists[trailsPath] = append(f.lists[trailsPath], item{"name": trail, "compliance_state": "COMPLIANT"})
		tested.acknowledge("trail %s COMPLIANT", trail)
		tested.deliver("notice TRAIL_STARTED : "+trail+"  ", "1")
		f.lists[attestationsPath] = append(f.lists[attestationsPath], item{
			"attestation_id": fmt.Sprint("a", n), "trail_name": trail, "is_compliant": true, "user_data": item{"mark": trail + "/scan#1"},
		})
		f.entries = append(f.entries, translog.Entry{Kind: "attestation", ID: fmt.Sprint("a", n)})
		tested.acknowledge("attestation %s/scan#1 true", trail)
		tested.deliver(fmt.Sprintf("notice ATTESTATION_REPORTED : %s  a%d", trail, n), "1")
		f.lists[snapshotsPath] = append(f.lists[snapshotsPath], item{"index": n + 1, "compliant": true})
		f.lists[eventsPath] = append(f.lists[eventsPath], item{"snapshot_index": n + 1, "sha256": fmt.Sprint("f", n), "type": "started-compliant"},
			item{"snapshot_index": n + 1, "sha256": "before", "type": "exited"})
		f.entries = append(f.entries, translog.Entry{Kind: "snapshot", ID: fmt.Sprintf("of-w:%d", n+1)})
		tested.acknowledge("snapshot w:%d true f%d", n+1, n)
		tested.deliver(fmt.Sprintf("notice ARTIFACT_STARTED w:%d  f%d ", n+1, n), "1")
	}
	artifact(0, 1)
	for n := range 3 {
		f.entries = append(f.entries, translog.Entry{Kind: "snapshot", ID: fmt.Sprintf("of-all:%d", n+1)}, translog.Entry{Kind: "policy", ID: fmt.Sprint(n)})
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	tested.client = clienttest.New(organization, apiKey, server.URL)
	return tested, f
}

func (t *tested) deliver(name, delivery string) {
	if t.receiver.delivered[name] == nil {
		t.receiver.delivered[name] = map[string]bool{}
	}
	t.receiver.delivered[name][delivery] = true
}

func TestLostDoubledAndWrongFactsAreFound(t *testing.T) {
	without := func(path string) func(*tested, *fake) {
		return func(_ *tested, f *fake) { f.lists[path] = f.lists[path][1:] }
	}
	double := func(path string) func(*tested, *fake) {
		return func(_ *tested, f *fake) { f.lists[path] = append(f.lists[path], f.lists[path][0]) }
	}
	set := func(path, member string, value any) func(*tested, *fake) {
		return func(_ *tested, f *fake) { f.lists[path][0][member] = value }
	}
	for name, row := range map[string]struct {
		plant func(*tested, *fake)
		want  []string
	}{
		"nothing":                       {func(*tested, *fake) {}, nil},
		"a trail is lost":               {without(trailsPath), []string{"lost: trail w-0 COMPLIANT", "unexpected: notice TRAIL_STARTED : w-0  "}},
		"a trail is there twice":        {double(trailsPath), []string{"twice: trail w-0 COMPLIANT", "lost: notice TRAIL_STARTED : w-0  "}},
		"a trail is judged wrongly":     {set(trailsPath, "compliance_state", "INCOMPLETE"), []string{"lost: trail w-0 COMPLIANT", "unexpected: trail w-0 INCOMPLETE"}},
		"an artifact is lost":           {without(artifactsPath), []string{"lost: artifact w-0#2 COMPLIANT"}},
		"an artifact is judged wrongly": {set(artifactsPath, "state", "INCOMPLETE"), []string{"unexpected: artifact w-0#2 INCOMPLETE"}},
		"an unacknowledged fact is doubled": {func(_ *tested, f *fake) {
			f.lists[artifactsPath] = append(f.lists[artifactsPath], f.lists[artifactsPath][2])
		}, []string{"twice: artifact w-0#1 COMPLIANT"}},
		"an attestation is lost":           {without(attestationsPath), []string{"lost: attestation w-0/scan#1 true", "unexpected: entry attestation/a0"}},
		"an attestation is there twice":    {double(attestationsPath), []string{"twice: attestation w-0/scan#1 true"}},
		"an attestation is judged wrongly": {set(attestationsPath, "is_compliant", false), []string{"lost: attestation w-0/scan#1 true"}},
		"an attestation is unknown":        {set(attestationsPath, "user_data", item{"mark": "x"}), []string{"unexpected: attestation x true"}},
		"the numbers have a gap":           {set(snapshotsPath, "index", 3), []string{"lost: snapshot w:1 true f0", "unexpected: snapshot w:3 true "}},
		"a snapshot is there twice":        {double(snapshotsPath), []string{"twice: snapshot w:1 true f0", "lost: snapshot all:4"}},
		"a snapshot is judged wrongly":     {set(snapshotsPath, "compliant", false), []string{"unexpected: snapshot w:1 false f0"}},
		"a snapshot is of another report":  {set(eventsPath, "sha256", "f7"), []string{"unexpected: snapshot w:1 true f7"}},
		"a logical snapshot is lost":       {without(logicalPath), []string{"lost: snapshot all:1"}},
		"a notice is lost":                 {func(s *tested, _ *fake) { delete(s.receiver.delivered, "notice TRAIL_STARTED : w-1  ") }, []string{"lost: notice TRAIL_STARTED : w-1  "}},
		"a notice is sent twice":           {func(s *tested, _ *fake) { s.deliver("notice TRAIL_STARTED : w-1  ", "2") }, []string{"twice: notice TRAIL_STARTED : w-1  "}},
		"a notice is unknown":              {func(s *tested, _ *fake) { s.deliver("notice TRAIL_STARTED : w-9  ", "1") }, []string{"unexpected: notice TRAIL_STARTED : w-9  "}},
		"a fact is not in the log":         {func(_ *tested, f *fake) { f.entries = f.entries[1:] }, []string{"lost: entry artifact/artifact-0-2"}},
		"a fact is in the log twice":       {func(_ *tested, f *fake) { f.entries = append(f.entries, f.entries[1]) }, []string{"twice: entry attestation/a0"}},
		"a snapshot is in the log twice":   {func(_ *tested, f *fake) { f.entries = append(f.entries, f.entries[2]) }, []string{"twice: entry snapshot/1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, f := newTested(t)
			row.plant(s, f)
			l, err := s.compare(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			for _, finding := range l.compare() {
				found[finding.fault+": "+finding.name] = true
			}
			for _, want := range row.want {
				if !found[want] {
					t.Errorf("no %q in the findings %q", want, slices.Sorted(maps.Keys(found)))
				}
			}
			var out strings.Builder
			if err := printLedger(&out, l); (err != nil) != (len(row.want) > 0) || len(row.want) == 0 && len(found) > 0 {
				t.Errorf("got %v after %d findings:\n%s", err, len(found), &out)
			}
		})
	}
}

func TestFaultsNeedAWriter(t *testing.T) {
	if err := run(t.Context(), false, time.Second, 0, 0); err == nil || err.Error() != "--writers must be at least 1" {
		t.Error(err)
	}
}
