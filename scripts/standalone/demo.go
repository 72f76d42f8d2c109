package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"text/template"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/scripts/client"
	"attestry/scripts/fixtures"
	"attestry/scripts/standalone/instance"
)

// demoOrganization is the organization of the demonstration. It is public, so that every key can read it.
const demoOrganization = "attestry-demo"

// demonstration plays a delivery through the HTTP API, as clients do.
type demonstration struct {
	out         io.Writer
	client      *client.Client
	flow, trail string
	environment string
	run         string // tells this demonstration from others in the same data
	step        int
}

// demonstrate plays a pipeline that builds and attests an artifact, a cluster that reports, reports the same again, and
// rolls two services out, and a policy that the environment violates until somebody decides.
func demonstrate(ctx context.Context, running *instance.Instance, out io.Writer) error {
	key, err := temporaryKey(ctx, running)
	if err != nil {
		return err
	}
	run := evidence.NewID()[:13]
	d := &demonstration{
		out: out, client: client.New(demoOrganization, key, running.URL), run: run,
		flow: "checkout-ci-" + run, trail: "release-2.0.0", environment: "demo-" + run,
	}
	fmt.Fprintln(out, "A delivery, step by step:")
	for _, step := range slices.Concat(d.pipeline(), d.cluster(), d.policy()) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\nLook at it: %s\n  sign in with an API key, such as the one above\n\n", running.URL+"/"+demoOrganization+"/environments/"+d.environment)
	return nil
}

// temporaryKey makes the user and the organization of the demonstration, with a key for one hour.
func temporaryKey(ctx context.Context, running *instance.Instance) (string, error) {
	secret := evidence.NewAPIKey()
	_, err := running.Process.Store.Tenancy.ApplyBootstrap(ctx, identity.Bootstrap{
		Users: []identity.DeclaredUser{{Name: "demo-user", Keys: []identity.DeclaredKey{{
			Secret: secret, Description: "demonstration", ExpiresAt: time.Now().Add(time.Hour).Unix(),
		}}}},
		Organizations: []identity.DeclaredOrganization{{
			Name: demoOrganization, Members: map[string]evidence.Role{"demo-user": evidence.Admin}, Public: true, Beta: new(true),
		}},
	})
	return secret.Reveal(), err
}

// step is a part of the demonstration.
type step func(ctx context.Context) error

// send makes one request and shows the answer.
func (d *demonstration) send(what, method, path string, body []byte, want int) step {
	return d.sendAs("application/json; charset=utf-8", what, method, path, body, want)
}

func (d *demonstration) sendAs(contentType, what, method, path string, body []byte, want int) step {
	return func(ctx context.Context) error {
		answer, err := d.call(ctx, what, method, path, contentType, body, want)
		if err == nil {
			d.show(answer)
		}
		return err
	}
}

// longestShown is how much of an answer is shown, in bytes.
const longestShown = 240

func (d *demonstration) show(answer []byte) {
	if len(answer) > longestShown {
		answer = append(answer[:longestShown:longestShown], "…"...)
	}
	fmt.Fprintf(d.out, "     answer: %s\n", answer)
}

// call makes one request that must have the wanted status.
func (d *demonstration) call(ctx context.Context, what, method, path, contentType string, body []byte, want int) ([]byte, error) {
	d.step++
	fmt.Fprintf(d.out, "  %d. %s\n     %s /api/v2%s", d.step, what, method, path)
	began := time.Now()
	status, answer, err := d.client.Send(ctx, client.Request{Method: method, Path: path, ContentType: contentType, Body: body})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(d.out, "  → %d in %s\n", status, time.Since(began).Round(time.Millisecond))
	if status != want {
		return nil, fmt.Errorf("%s: status %d, want %d: %s", what, status, want, answer)
	}
	return answer, nil
}

//go:embed demo.tmpl
var demoTemplates string

// shown are the parts of answers that the demonstration shows.
var shown = template.Must(template.New("").Funcs(template.FuncMap{"verdict": verdict, "unchanged": unchanged}).Parse(demoTemplates))

// verdict is what is said of something, "" if it is not judged.
func verdict(compliant any) string {
	return map[any]string{true: "compliant", false: "NOT compliant"}[compliant]
}

// unchanged counts the artifacts of a snapshot that have not changed since the one before.
func unchanged(artifacts []any) (n int) {
	for _, one := range artifacts {
		if one.(map[string]any)["annotation"].(map[string]any)["type"] == "unchanged" {
			n++
		}
	}
	return n
}

// read reads something and shows it by a template.
func (d *demonstration) read(what, path, template string) step {
	return func(ctx context.Context) error {
		answer, err := d.call(ctx, what, http.MethodGet, path, "application/json; charset=utf-8", nil, http.StatusOK)
		if err != nil {
			return err
		}
		var content any
		if err := json.Unmarshal(answer, &content); err != nil {
			return err
		}
		return shown.ExecuteTemplate(d.out, template, content)
	}
}

func (d *demonstration) cluster() []step {
	environment := "/environments/" + demoOrganization + "/" + d.environment
	snapshots := "/snapshots/" + demoOrganization + "/" + d.environment
	return []step{
		d.send("declare a Kubernetes environment", http.MethodPut, "/environments/"+demoOrganization,
			[]byte(`{"name":"`+d.environment+`","type":"K8S","description":"The cluster of the demonstration"}`), http.StatusCreated),
		d.report("the cluster reports 57 pods", fixtures.K8SReport1, http.StatusCreated),
		d.report("a minute later, nothing has changed", fixtures.K8SReport1, http.StatusOK),
		d.report("two services are rolled out", fixtures.K8SReport2Rollout, http.StatusCreated),
		d.read("read the latest snapshot", snapshots+"/-1", "snapshot"),
		d.send("list the snapshots", http.MethodGet, snapshots, nil, http.StatusOK),
		d.read("compare the two snapshots", "/env-diff/"+demoOrganization+"?snappish1="+url.QueryEscape(d.environment+"~1")+
			"&snappish2="+url.QueryEscape(d.environment), "difference"),
		d.read("read the event log", environment+"/events?per_page=4", "events"),
	}
}

func (d *demonstration) report(what string, fixture []byte, want int) step {
	return d.send(what, http.MethodPut, "/environments/"+demoOrganization+"/"+d.environment+"/report/K8S", fixture, want)
}
