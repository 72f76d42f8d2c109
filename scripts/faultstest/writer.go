package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"attestry/evidence"
	"attestry/scripts/clienttest"
)

const (
	// patience is how long a writer repeats a request.
	patience = 2 * time.Minute
	// One of releasesPerEvidence releases has an evidence file, and one of releasesPerPackage an audit package.
	releasesPerEvidence, releasesPerPackage = 5, 20
	evidenceSize                            = 100_000
	// accepted is the answer to a report without a verdict in time.
	accepted = `"report accepted, it will be processed"`
)

// The requirements of all releases: a trail needs an attestation, its artifact another one.
const (
	template = "version: 1\ntrail: {attestations: [{name: unit-test, type: generic}], artifacts: [{name: web, attestations: [{name: scan, type: generic}]}]}\n"
	policy   = "_schema: https://kosli.com/schemas/policy/environment/v1\nartifacts: {provenance: {required: true}, trail-compliance: {required: true}}\n"
)

// verdicts are those of trails in turn: two comply, one fails, and one lacks an attestation.
var verdicts = [...]string{"COMPLIANT", "COMPLIANT", "NON-COMPLIANT", "INCOMPLETE"}

// writer is a pipeline with a cluster. Its flow and its environment have its name.
type writer struct {
	name   string
	client *clienttest.Client
	ledger *ledger
	// pause is how long it waits after each request.
	pause time.Duration
	// releases is how many releases were acknowledged.
	releases int
	// answered and judged are when the last request with an answer, and the last report with a verdict, were sent.
	answered, judged atomic.Int64
	acknowledged     atomic.Int64 // requests
}

// setup returns the requests that create the flow and the environment.
func (w *writer) setup() []clienttest.Request {
	return []clienttest.Request{
		clienttest.Form(http.MethodPut, "/flows/{org}/template_file", "data_json", fmt.Sprintf(`{"name": %q, "description": ""}`, w.name), "template_file", []byte(template)),
		clienttest.CreateEnvironment(w.name),
		clienttest.JSON(http.MethodPost, "/environments/{org}/"+w.name+"/policies", `{"policy_names": ["policy"]}`),
	}
}

// work makes releases until enough is set.
func (w *writer) work(ctx context.Context, enough *atomic.Bool) error {
	for !enough.Load() {
		if err := w.release(ctx, w.releases); err != nil {
			return err
		}
		w.releases++
	}
	return nil
}

func (w *writer) trail(release int) string { return fmt.Sprintf("%s-%d", w.name, release) }

func (w *writer) packagePath(release int) string {
	return "/trails/{org}/" + w.name + "/" + w.trail(release) + "/audit_package"
}

func fingerprint(trail string) string {
	return evidence.SHA256([]byte(trail))
}

// release makes a trail with an artifact, attests both, and reports that the artifact runs, together with that of the
// last release. The report makes the next snapshot of the environment.
func (w *writer) release(ctx context.Context, n int) error {
	trail, verdict := w.trail(n), verdicts[n%len(verdicts)]
	artifact, compliant := fingerprint(trail), verdict == "COMPLIANT"
	running, allCompliant := []string{artifact}, compliant
	if n > 0 {
		running, allCompliant = append(running, fingerprint(w.trail(n-1))), compliant && verdicts[(n-1)%len(verdicts)] == "COMPLIANT"
	}
	var evidence []byte
	if n%releasesPerEvidence == 0 {
		evidence = []byte(strings.Repeat(trail, evidenceSize/len(trail)))
	}
	var err error
	send := func(kind, of string, verdict any, request func(mark string) clienttest.Request) {
		if err == nil {
			_, err = w.send(ctx, kind, of, verdict, request)
		}
	}
	send("", "", "", func(string) clienttest.Request { return clienttest.BeginTrail(w.name, trail) })
	send("artifact", trail, verdict, func(mark string) clienttest.Request { return clienttest.ReportArtifact(w.name, trail, artifact, mark) })
	send("attestation", trail+"/unit-test", true, func(mark string) clienttest.Request {
		return clienttest.Attest(w.name, trail, "", "unit-test", mark, true, evidence)
	})
	if verdict != "INCOMPLETE" {
		send("attestation", trail+"/scan", compliant, func(mark string) clienttest.Request {
			return clienttest.Attest(w.name, trail, artifact, "scan", mark, compliant, nil)
		})
	}
	if n%releasesPerPackage == 0 {
		send("", "", "", func(string) clienttest.Request { return clienttest.JSON(http.MethodPost, w.packagePath(n), "") })
	}
	send("", "", "", func(string) clienttest.Request { return clienttest.ReportCluster(w.name, running...) })
	if err == nil {
		w.ledger.acknowledge("trail %s %s", trail, verdict)
		w.ledger.acknowledge("snapshot %s:%d %t %s", w.name, n+1, allCompliant, artifact)
	}
	return err
}

// send sends a fact until it is acknowledged. Each attempt has its own mark, as one without an answer may have been
// recorded. Requests without a kind are idempotent. Only broken connections and the status 503 are retried.
func (w *writer) send(ctx context.Context, kind, of string, verdict any, request func(mark string) clienttest.Request) ([]byte, error) {
	began := time.Now()
	for n := 1; ; n++ {
		mark, sent := fmt.Sprintf("%s#%d", of, n), time.Now()
		r, name := request(mark), fmt.Sprintf("%s %s %v", kind, mark, verdict)
		w.ledger.send(name)
		status, body, err := w.client.Send(ctx, r)
		time.Sleep(w.pause)
		switch {
		case err == nil && (status == http.StatusOK || status == http.StatusCreated):
			w.acknowledged.Add(1)
			w.answered.Store(sent.UnixNano())
			if strings.HasSuffix(r.Path, "/report/K8S") && string(body) != accepted {
				w.judged.Store(sent.UnixNano())
			}
			if kind != "" {
				w.ledger.acknowledge("%s", name)
			}
			return body, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil && status != http.StatusServiceUnavailable, time.Since(began) > patience:
			return nil, fmt.Errorf("%s %s, since %s: %v, status %d %.300s", r.Method, r.Path, time.Since(began), err, status, body)
		}
	}
}
