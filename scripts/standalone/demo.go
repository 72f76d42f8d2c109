package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/template"
	"time"

	"go.yaml.in/yaml/v4"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/scripts/client"
	"attestry/scripts/fixtures"
	"attestry/scripts/standalone/instance"
)

// demoOrganization is the organization of the demonstration. It is public, so that every key can read it.
const demoOrganization = "attestry-demo"

// demonstrated are the names in the steps of a demonstration. Run tells it from others in the same data. The artifact of
// Fingerprint, built from Commit, runs after the rollout.
type demonstrated struct{ Org, Run, Flow, Trail, Environment, Fingerprint, Commit string }

// step is a request of the demonstration.
type step struct {
	// Say says what it does, and Send has the method and the path.
	Say, Send string
	// Body is sent as JSON, or as the form's part Part. File is the part with a file: Content, or the fixture of that name.
	// A fixture without a File is the body.
	Body, Part, File, Content, Fixture string
	// Want is the status, by default 200 of what reads and 201 of what writes.
	Want int
	// Show is the template that shows the answer, "" to show it as it is.
	Show string
}

//go:embed demo.yaml
var demoSteps string

//go:embed demo.tmpl
var demoTemplates string

// demonstrate plays a pipeline that builds and attests an artifact, a cluster that reports, reports the same again, and
// rolls two services out, and a policy that the environment violates until somebody decides: all through the HTTP API, as
// clients do.
func demonstrate(ctx context.Context, running *instance.Instance, out io.Writer) error {
	key, err := temporaryKey(ctx, running)
	if err != nil {
		return err
	}
	run := evidence.NewID()[:13]
	names := demonstrated{
		Org: demoOrganization, Run: run, Flow: "checkout-ci-" + run, Trail: "release-2.0.0", Environment: "demo-" + run,
		Fingerprint: "62bd363c808f722d109b64e12d0aece4a8449e7037be2ef4d004ce1e46c48758", Commit: "4ab2c0e1f5d9a7b3c8e6f0d1a2b3c4d5e6f70819",
	}
	var filled strings.Builder
	if err := template.Must(template.New("").Delims("<<", ">>").Parse(demoSteps)).Execute(&filled, names); err != nil {
		return err
	}
	var steps []step
	if err := yaml.Unmarshal([]byte(filled.String()), &steps); err != nil {
		return err
	}
	fmt.Fprintln(out, "A delivery, step by step:")
	asking := client.New(demoOrganization, key, running.URL)
	for i := range steps {
		fmt.Fprintf(out, "  %d. %s\n", i+1, steps[i].Say)
		if err := steps[i].play(ctx, asking, out); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\nLook at it: %s\n  sign in with an API key, such as the one above\n\n", running.URL+"/"+demoOrganization+"/environments/"+names.Environment)
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

// play sends the request, which must be answered with the wanted status, and shows the answer.
func (s *step) play(ctx context.Context, asking *client.Client, out io.Writer) error {
	method, path, _ := strings.Cut(s.Send, " ")
	request := client.Request{Method: method, Path: path, ContentType: "application/json; charset=utf-8", Body: []byte(s.Body)}
	content := []byte(s.Content)
	if s.Fixture != "" {
		content = fixtures.Read(s.Fixture)
	}
	switch {
	case s.Part != "":
		request.Body, request.ContentType = client.EncodeForm(s.Part, s.Body, s.File, content)
	case s.Fixture != "":
		request.Body = content
	}
	fmt.Fprintf(out, "     %s /api/v2%s", method, path)
	began := time.Now()
	status, answer, err := asking.Send(ctx, request)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "  → %d in %s\n", status, time.Since(began).Round(time.Millisecond))
	want := http.StatusCreated
	if method == http.MethodGet {
		want = http.StatusOK
	}
	if want = cmp.Or(s.Want, want); status != want {
		return fmt.Errorf("%s: status %d, want %d: %s", s.Say, status, want, answer)
	}
	return s.show(answer, out)
}

// longestShown is how much of an answer is shown, in bytes.
const longestShown = 240

// shown are the parts of answers that the demonstration shows.
var shown = template.Must(template.New("").Funcs(template.FuncMap{"verdict": verdict, "unchanged": unchanged}).Parse(demoTemplates))

func (s *step) show(answer []byte, out io.Writer) error {
	var content any
	switch s.Show {
	case "":
		if len(answer) > longestShown {
			answer = append(answer[:longestShown:longestShown], "…"...)
		}
		_, err := fmt.Fprintf(out, "     answer: %s\n", answer)
		return err
	case "package":
		content = map[string]any{"size": len(answer), "sha256": fmt.Sprintf("%x", sha256.Sum256(answer))}
	default:
		if err := json.Unmarshal(answer, &content); err != nil {
			return err
		}
	}
	return shown.ExecuteTemplate(out, s.Show, content)
}

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
