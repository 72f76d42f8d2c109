package environments

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/memory"
	"attestry/api/validation"
	"attestry/evidence/snapshot"
)

// reportForm is a type of report: a valid artifact, and the members of it that tests may change.
type reportForm struct {
	kind     string
	decode   func(t *testing.T, body []byte) ([]snapshot.Instance, validation.Findings)
	fast     func(body []byte) bool
	artifact map[string]any
	// texts are the required members with any text. optional are the members that may be null.
	texts, optional []string
	// choices are the required members with one of a few texts, each with the message for other texts.
	choices map[string]string
	// unknown reports whether digests may be "".
	unknown bool
}

var goodDigest = strings.Repeat("0a", 32)

func reportForms() []reportForm {
	plain := func() map[string]any {
		return map[string]any{"digests": map[string]any{"app:1.2": goodDigest}, "creationTimestamp": 1_632_122_962}
	}
	with := func(members map[string]any) map[string]any {
		artifact := plain()
		maps.Copy(artifact, members)
		return artifact
	}
	return []reportForm{
		{
			kind: "K8S", decode: decodedAs[K8SReport], fast: decodesFast[K8SReport], artifact: with(map[string]any{"podName": "p", "namespace": "n"}),
			texts: []string{"podName", "namespace"}, optional: []string{"owners"},
		},
		{
			kind: "ECS", decode: decodedAs[ECSReport], fast: decodesFast[ECSReport], artifact: with(map[string]any{"taskArn": "arn:aws:ecs:x"}), unknown: true,
			texts: []string{"taskArn"}, optional: []string{"cluster_name", "service_name", "clusterName", "serviceName"},
		},
		{
			kind: "azure-apps", decode: decodedAs[AzureAppsReport], fast: decodesFast[AzureAppsReport], unknown: true,
			artifact: with(map[string]any{"digests_source": "acr", "app_name": "a", "app_kind": "app"}),
			texts:    []string{"app_name", "app_kind"},
			choices:  map[string]string{"digests_source": "Input should be 'acr', 'logs' or 'kosli-cli'"},
		},
		{
			kind: "cloud-run", decode: decodedAs[CloudRunReport], fast: decodesFast[CloudRunReport], artifact: with(map[string]any{"kind": "job"}), unknown: true,
			optional: []string{"serviceName", "revisionName", "jobName"},
			choices:  map[string]string{"kind": "Input should be 'service' or 'job'"},
		},
		{kind: "S3", decode: decodedAs[S3Report], fast: decodesFast[S3Report], artifact: plain()},
		{kind: "docker", decode: decodedAs[DockerReport], fast: decodesFast[DockerReport], artifact: plain()},
		{kind: "lambda", decode: decodedAs[LambdaReport], fast: decodesFast[LambdaReport], artifact: plain()},
		{kind: "server", decode: decodedAs[ServerReport], fast: decodesFast[ServerReport], artifact: plain()},
		{kind: "serverless", decode: decodedAs[ServerlessReport], fast: decodesFast[ServerlessReport], artifact: plain()},
	}
}

// decodedAs decodes a body like the operation. If the fast path accepts the body, the schema must accept it with the
// same result.
func decodedAs[T any](t *testing.T, body []byte) ([]snapshot.Instance, validation.Findings) {
	t.Helper()
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	schema := registry.Schema(reflect.TypeFor[T](), true, "")
	v, found := validation.NewValidator(registry), validation.Findings{}
	value := decodeReport[T](v, schema, body, found)
	if fast, ok := validation.DecodeFast[T](body); ok {
		doubts := validation.Findings{}
		parsed, _ := validation.ParseJSON(body, "body", doubts)
		if slow := validation.DecodeParsed[T](v, schema, parsed, "", doubts); len(doubts) > 0 || !reflect.DeepEqual(fast, slow) {
			t.Errorf("%s is surely valid for %T, but the schema says %v", body, fast, doubts)
		}
	}
	if value == nil {
		return nil, found
	}
	return any(value).(reportBody).instances(), found
}

// decodesFast reports whether the fast path accepts a body.
func decodesFast[T any](body []byte) bool {
	_, ok := validation.DecodeFast[T](body)
	return ok
}

// changed returns a report of one artifact, with one member changed.
func (f *reportForm) changed(t *testing.T, member string, value any) []byte {
	t.Helper()
	artifact := maps.Clone(f.artifact)
	artifact[member] = value
	return f.body(t, artifact)
}

func (f *reportForm) body(t *testing.T, artifacts ...any) []byte {
	t.Helper()
	body, err := json.Marshal(map[string]any{"type": f.kind, "artifacts": append([]any{}, artifacts...)})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// accepts expects a body to be valid.
func (f *reportForm) accepts(t *testing.T, body []byte) []snapshot.Instance {
	t.Helper()
	instances, found := f.decode(t, body)
	if len(found) > 0 {
		t.Errorf("%s: %s is refused: %v", f.kind, body, found)
	}
	return instances
}

// refuses expects a body to have this finding and no other.
func (f *reportForm) refuses(t *testing.T, body []byte, at, text string) {
	t.Helper()
	_, found := f.decode(t, body)
	if len(found) != 1 || !strings.HasPrefix(found[at], text+" [input: ") {
		t.Errorf("%s: %s:\n got %v\nwant %s: %s", f.kind, body, found, at, text)
	}
}

func TestReportsNeedAllTheirRequiredMembers(t *testing.T) {
	for _, form := range reportForms() {
		form.accepts(t, form.body(t, form.artifact))
		form.accepts(t, form.body(t))
		for _, member := range slices.Concat(form.texts, slices.Sorted(maps.Keys(form.choices)), []string{"digests", "creationTimestamp"}) {
			artifact := maps.Clone(form.artifact)
			delete(artifact, member)
			form.refuses(t, form.body(t, artifact), "artifacts[0]."+member, validation.MissingText)
		}
		form.refuses(t, []byte(`{}`), "artifacts", validation.MissingText)
		form.refuses(t, []byte(`{"artifacts":null}`), "artifacts", "Input should be a valid list")
		form.refuses(t, form.body(t, form.artifact, nil), "artifacts[1]", "Input should be a valid dictionary or object to extract fields from")
	}
}

func TestUsualReportsTakeTheFastPath(t *testing.T) {
	for _, form := range reportForms() {
		artifact, err := json.Marshal(form.artifact)
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range [][]byte{form.body(t, form.artifact), form.body(t), fmt.Appendf(nil, `{"artifacts":[%s]}`, artifact)} {
			if !form.fast(body) {
				t.Errorf("%s: %s takes the slow path", form.kind, body)
			}
		}
	}
}

func TestUnknownMembersOfReportsAreRefused(t *testing.T) {
	for _, form := range reportForms() {
		form.refuses(t, form.changed(t, "colour", "red"), "artifacts[0].colour", "Extra inputs are not permitted")
		form.refuses(t, form.changed(t, "Digests", map[string]any{}), "artifacts[0].Digests", "Extra inputs are not permitted")
		form.refuses(t, []byte(`{"artifacts":[],"colour":"red"}`), "colour", "Extra inputs are not permitted")
	}
}

func TestTextsOfReportsMustBeTexts(t *testing.T) {
	for _, form := range reportForms() {
		for _, member := range form.texts {
			form.accepts(t, form.changed(t, member, ""))
			for _, value := range []any{nil, 7, []any{}, true} {
				form.refuses(t, form.changed(t, member, value), "artifacts[0]."+member, "Input should be a valid string")
			}
			form.refuses(t, form.changed(t, member, "a\x00b"), "artifacts[0]."+member, validation.UnreadableText)
		}
		for member, text := range form.choices {
			for _, value := range []any{nil, 7, "", "ACR", "Job"} {
				form.refuses(t, form.changed(t, member, value), "artifacts[0]."+member, text)
			}
		}
		for _, member := range form.optional {
			form.accepts(t, form.changed(t, member, nil))
			wrong := "Input should be a valid string"
			if member == "owners" {
				wrong = "Input should be a valid list"
			}
			form.refuses(t, form.changed(t, member, 7), "artifacts[0]."+member, wrong)
		}
	}
}

func TestTypeOfAReportMustBeThatOfTheOperation(t *testing.T) {
	for _, form := range reportForms() {
		form.accepts(t, []byte(`{"artifacts":[]}`))
		for _, value := range []string{`"logical"`, `""`, `null`, `7`, `"` + strings.ToUpper(form.kind) + `x"`} {
			form.refuses(t, []byte(`{"type":`+value+`,"artifacts":[]}`), "type", "Input should be '"+form.kind+"'")
		}
	}
}

func TestDigestsMustBeFingerprintsOrEmptyWhereAllowed(t *testing.T) {
	for _, form := range reportForms() {
		pattern := "String should match pattern '^[a-f0-9]{64}$'"
		if form.unknown {
			pattern = "String should match pattern '^([a-f0-9]{64})?$'"
		}
		for value, text := range map[any]string{
			strings.ToUpper(goodDigest): pattern, goodDigest[1:]: pattern, goodDigest + "0": pattern, goodDigest + "\n": pattern,
			" ": pattern, "sha256:" + goodDigest: pattern,
			nil: "Input should be a valid string", 7: "Input should be a valid string",
		} {
			digests := map[string]any{"good": goodDigest, "a.b[0]:1": value}
			form.refuses(t, form.changed(t, "digests", digests), "artifacts[0].digests.a.b[0]:1", text)
		}
		for _, value := range []any{nil, []any{}, goodDigest} {
			form.refuses(t, form.changed(t, "digests", value), "artifacts[0].digests", "Input should be a valid dictionary")
		}
		form.accepts(t, form.changed(t, "digests", map[string]any{}))
		unknown := form.changed(t, "digests", map[string]any{"app": ""})
		if !form.unknown {
			form.refuses(t, unknown, "artifacts[0].digests.app", pattern)
			continue
		}
		if got := form.accepts(t, unknown); len(got) != 1 || !maps.Equal(got[0].Digests, map[string]string{"app": ""}) {
			t.Errorf("%s: an unknown digest is read as %+v", form.kind, got)
		}
	}
}

func TestTimesOfReportsAreWholeSeconds(t *testing.T) {
	const integer = "Input should be a valid integer"
	for _, form := range reportForms() {
		body := func(value string) []byte { return form.changed(t, "creationTimestamp", json.RawMessage(value)) }
		for value, want := range map[string]int64{
			"1632122962": 1632122962, "1632122962.0": 1632122962, "1.632122962e9": 1632122962, `"1632122962"`: 1632122962,
			"-5": -5, "0": 0, "-0": 0, "99999999999": 99999999999, "9223372036854775807": 9223372036854775807, "true": 1,
		} {
			if got := form.accepts(t, body(value)); len(got) != 1 || got[0].CreatedAt != want {
				t.Errorf("%s: %s is read as %+v", form.kind, value, got)
			}
		}
		for value, text := range map[string]string{
			"1632122962.5": integer + ", got a number with a fractional part", "null": integer, "[]": integer, "{}": integer,
			`""`: integer + ", unable to parse string as an integer", `"2021-09-20T07:29:22Z"`: integer + ", unable to parse string as an integer",
			"9223372036854775808": "Unable to parse input string as an integer, exceeded maximum size",
			"1e400":               "Unable to parse input string as an integer, exceeded maximum size",
		} {
			form.refuses(t, body(value), "artifacts[0].creationTimestamp", text)
		}
	}
}

func TestOwnersOfPodsNeedTheirMembersAndMayHaveMore(t *testing.T) {
	form := reportForms()[0]
	owner := map[string]any{"apiVersion": "v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": true, "more": []any{1}}
	got := form.accepts(t, form.changed(t, "owners", []any{owner}))
	if len(got) != 1 || len(got[0].PodContext.Owners) != 1 || got[0].PodContext.Owners[0].Kind != "ReplicaSet" {
		t.Fatalf("read as %+v", got)
	}
	for _, member := range []string{"apiVersion", "kind", "name", "uid"} {
		at := "artifacts[0].owners[0]." + member
		wrong := maps.Clone(owner)
		wrong[member] = nil
		form.refuses(t, form.changed(t, "owners", []any{wrong}), at, "Input should be a valid string")
		delete(wrong, member)
		form.refuses(t, form.changed(t, "owners", []any{wrong}), at, validation.MissingText)
		wrong[strings.ToUpper(member)] = "x"
		form.refuses(t, form.changed(t, "owners", []any{wrong}), at, validation.MissingText)
	}
	form.refuses(t, form.changed(t, "owners", []any{nil}), "artifacts[0].owners[0]", "Input should be a valid dictionary or object to extract fields from")
}

func TestContextsAreReadInEverySpelling(t *testing.T) {
	for _, c := range []struct {
		form, members string
		want          snapshot.Context
	}{
		{"ECS", `"taskArn":"t"`, snapshot.Context{ECS: &snapshot.ECSContext{TaskARN: "t"}}},
		{"ECS", `"taskArn":"t","cluster_name":"c","service_name":"s"`,
			snapshot.Context{ECS: &snapshot.ECSContext{TaskARN: "t", ClusterName: new("c"), ServiceName: new("s")}}},
		{"ECS", `"taskArn":"t","clusterName":"c","serviceName":"s"`,
			snapshot.Context{ECS: &snapshot.ECSContext{TaskARN: "t", ClusterName: new("c"), ServiceName: new("s")}}},
		{"ECS", `"taskArn":"t","clusterName":"no","cluster_name":"c","serviceName":"s","service_name":null`,
			snapshot.Context{ECS: &snapshot.ECSContext{TaskARN: "t", ClusterName: new("c"), ServiceName: new("s")}}},
		{"azure-apps", `"digests_source":"kosli-cli","app_name":"a","app_kind":"functionapp"`,
			snapshot.Context{Azure: &snapshot.AzureContext{AppName: "a", AppKind: "functionapp", DigestsSource: "kosli-cli"}}},
		{"cloud-run", `"kind":"service","serviceName":"s","revisionName":"r"`,
			snapshot.Context{CloudRun: &snapshot.CloudRunContext{Kind: "service", ServiceName: new("s"), RevisionName: new("r")}}},
		{"cloud-run", `"kind":"job","jobName":"j","serviceName":null`,
			snapshot.Context{CloudRun: &snapshot.CloudRunContext{Kind: "job", JobName: new("j")}}},
	} {
		forms := reportForms()
		form := forms[slices.IndexFunc(forms, func(f reportForm) bool { return f.kind == c.form })]
		got := form.accepts(t, fmt.Appendf(nil, `{"artifacts":[{"digests":{"a":"%s"},"creationTimestamp":1,%s}]}`, goodDigest, c.members))
		if len(got) != 1 || !reflect.DeepEqual(got[0].Context, &c.want) {
			t.Errorf("%s: %s is read as %+v", c.form, c.members, got)
		}
	}
}

// decodeReport decodes a body without a limit of memory.
func decodeReport[T any](v *validation.Validator, s *huma.Schema, body []byte, found validation.Findings) *T {
	value, err := validation.DecodeStrict[T](memory.Unlimited(), v, s, body, found)
	if err != nil {
		panic(err)
	}
	return value
}

func BenchmarkDecodeK8SReport(b *testing.B) {
	var pods []string
	for i := range 70 {
		pods = append(pods, fmt.Sprintf(`{"podName":"service-%04d-0123456789-abcde","namespace":"team-01","digests":{"registry.example.com/team-01/component-%05d:1.4.2":%q},
			"creationTimestamp":1789000000,"owners":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"service-0001-0123456789","uid":"01234567-0123-0123-0123-0123456789ab",
			"controller":true,"blockOwnerDeletion":true}]}`, i, i, goodDigest))
	}
	body := []byte(`{"type":"K8S","artifacts":[` + strings.Join(pods, ",") + `]}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, ok := validation.DecodeFast[K8SReport](body); !ok {
			b.Fatal("refused")
		}
	}
}
