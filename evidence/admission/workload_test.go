package admission

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

const web = `{"metadata":{"name":"web","namespace":"shop","labels":{"team":"a"},"annotations":{"why":"rollback"}},`

func TestReadWorkloadFindsTheImagesOfAllKinds(t *testing.T) {
	t.Parallel()
	pod := `"spec":{"initContainers":[{"image":"init"}],"containers":[{"image":"app"},{"image":"app"}],` +
		`"ephemeralContainers":[{"image":"debug"}],"volumes":[{"name":"a"},{"image":{"reference":"model"}}]}`
	all := []string{"init", "app", "debug", "model"}
	for _, one := range []struct {
		kind, object string
		want         []string
	}{
		{"Pod", web + pod + "}", all},
		{"Deployment", web + `"spec":{"template":{` + pod + `}}}`, all},
		{"StatefulSet", web + `"spec":{"template":{` + pod + `}}}`, all},
		{"DaemonSet", web + `"spec":{"template":{` + pod + `}}}`, all},
		{"ReplicaSet", web + `"spec":{"template":{` + pod + `}}}`, all},
		{"ReplicationController", web + `"spec":{"template":{` + pod + `}}}`, all},
		{"Job", web + `"spec":{"template":{` + pod + `}}}`, all},
		{"CronJob", web + `"spec":{"jobTemplate":{"spec":{"template":{` + pod + `}}}}}`, all},
		{"ConfigMap", web + `"spec":"none"}`, nil},
		{"Pod", "null", nil},
		{"Pod", "", nil},
	} {
		t.Run(one.kind, func(t *testing.T) {
			workload, err := ReadWorkload(one.kind, []byte(one.object))
			if err != nil || !slices.Equal(workload.Images, one.want) {
				t.Errorf("read %v, %v", workload, err)
			}
		})
	}
}

func TestReadWorkloadRefusesMalformedObjects(t *testing.T) {
	t.Parallel()
	for _, object := range []string{`[]`, `{"spec":{"containers":"app"}}`, `{"spec":`, `{"spec":{"containers":[{"image":7}]}}`} {
		if _, err := ReadWorkload("Pod", []byte(object)); err == nil {
			t.Errorf("%s was read", object)
		}
	}
	var wrong *json.UnmarshalTypeError
	if _, err := ReadWorkload("Deployment", []byte(`{"spec":{"template":{"spec":{"containers":{}}}}}`)); !errors.As(err, &wrong) || wrong.Field != "spec.template.spec.containers" {
		t.Errorf("%v does not name the field", err)
	}
}

func TestWorkloadGivesItsReason(t *testing.T) {
	t.Parallel()
	read := func(object string) *Workload {
		workload, err := ReadWorkload("Deployment", []byte(object))
		if err != nil {
			t.Fatal(err)
		}
		return workload
	}
	workload := read(web + `"spec":{"template":{"metadata":{"annotations":{"template":"of the template"}}}}}`)
	for key, want := range map[string]string{"why": "rollback", "team": "a", "template": "of the template", "other": "", "": ""} {
		if got := workload.Reason(key); got != want {
			t.Errorf("the reason of %q is %q", key, got)
		}
	}
	if empty := read(`{"metadata":{"annotations":{"why":" \n","":"x"}}}`); empty.Reason("why") != "" || empty.Reason("") != "" {
		t.Error("an empty reason counts")
	}
}

func TestPodsOfATemplateHaveOneName(t *testing.T) {
	t.Parallel()
	workload, err := ReadWorkload("Pod", []byte(`{"metadata":{"name":"web-5d9f-x2k4z","generateName":"web-5d9f-"}}`))
	if err != nil || workload.Name != "web-5d9f-" {
		t.Errorf("%v is called %q", err, workload.Name)
	}
}

func TestParseImage(t *testing.T) {
	t.Parallel()
	digest := strings.Repeat("a1", 32)
	for reference, want := range map[string]Image{
		"nginx":                    {},
		"nginx:127":                {},
		"nginx@sha256:" + digest:   {Fingerprint: digest},
		"localhost:5000/a/b:1.4.2": {},
		"Registry.example.com/team_a/web--x:v1@sha256:" + digest: {Fingerprint: digest},
		"[fd00::1]:5000/web@sha256:" + digest:                    {Fingerprint: digest},
		"[2001:DB8::1]/team/web:1":                               {},
	} {
		want.Reference = reference
		if got, ok := ParseImage(reference); !ok || got != want {
			t.Errorf("%s is %+v, %t", reference, got, ok)
		}
	}
	for _, reference := range []string{
		"", " nginx", "nginx:", "a//b", "web@sha256:" + digest[1:], "web@sha512:" + digest + digest, "nginx\n", "Web:1", "web:" + strings.Repeat("t", 129),
		strings.Repeat("a", 1025), "web@sha256:" + strings.ToUpper(digest), "[fd00::1]", "[]/web:1", "[registry]/web:1",
	} {
		if got, ok := ParseImage(reference); ok {
			t.Errorf("%q is %+v", reference, got)
		}
	}
}
