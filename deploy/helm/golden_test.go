package helm_test

import (
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"attestry/config"
	"attestry/scripts/readmetest"
)

// workload has the fields of a Deployment or a StatefulSet that the tests read.
type workload struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Template struct {
			Spec struct {
				EnableServiceLinks            *bool `yaml:"enableServiceLinks"`
				TerminationGracePeriodSeconds int   `yaml:"terminationGracePeriodSeconds"`
				Containers                    []container
				Volumes                       []struct {
					Name      string
					Projected struct {
						Sources []struct {
							Secret struct{ Items []struct{ Path string } }
						}
					}
				}
			}
		}
	}
}

type container struct {
	Command []string
	Env     []struct {
		Name, Value string
		ValueFrom   struct {
			SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	}
}

// secretValues are the values of the settings that containers read from Secrets.
var secretValues = map[string]string{
	"ATTESTRY_DATABASE_URL":       "mongodb://attestry:secret@mongodb:27017/attestry",
	"ATTESTRY_OBJECTS_URL":        "http://attestry:secret@minio:9000/attestry",
	"ATTESTRY_REDIS_URL":          "redis://:secret@redis:6379/0",
	"ATTESTRY_OIDC_CLIENT_SECRET": "secret",
	"ATTESTRY_SMTP_PASSWORD":      "secret",
}

// embedded are the defaults of the standalone: it embeds its stores.
var embedded = map[string]string{"ATTESTRY_DATABASE_URL": "", "ATTESTRY_OBJECTS_URL": "", "ATTESTRY_REDIS_URL": ""}

// goldenWorkloads returns the workloads of a set of values.
func goldenWorkloads(t *testing.T, set string) []workload {
	t.Helper()
	var workloads []workload
	decoder := yaml.NewDecoder(strings.NewReader(readmetest.Read(t, goldenFile(set))))
	for {
		var one workload
		switch err := decoder.Decode(&one); {
		case errors.Is(err, io.EOF):
			return workloads
		case err != nil:
			t.Fatal(err)
		case one.Kind == "Deployment" || one.Kind == "StatefulSet":
			workloads = append(workloads, one)
		}
	}
}

// TestProcessesAcceptTheirSettings loads the settings of the processes in all golden files.
func TestProcessesAcceptTheirSettings(t *testing.T) {
	usual, err := config.LoadFrom(config.Sources{Defaults: embedded})
	if err != nil {
		t.Fatal(err)
	}
	for set := range valueSets(t) {
		served := config.Queues{}
		for _, one := range goldenWorkloads(t, set) {
			pod := one.Spec.Template.Spec
			if pod.EnableServiceLinks == nil || *pod.EnableServiceLinks {
				t.Errorf("%s: %s gets variables that are no settings", set, one.Metadata.Name)
			}
			var files []string
			for _, volume := range pod.Volumes {
				for _, source := range volume.Projected.Sources {
					for _, item := range source.Secret.Items {
						files = append(files, "/etc/attestry/"+item.Path)
					}
				}
			}
			settings := load(t, set+": "+one.Metadata.Name, pod.Containers[0], files)
			if grace := float64(pod.TerminationGracePeriodSeconds); grace < settings.Process.ShutdownTimeout.Seconds()+5 {
				t.Errorf("%s: %s is killed after %v s", set, one.Metadata.Name, grace)
			}
			if !strings.HasSuffix(pod.Containers[0].Command[0], "-api") {
				maps.Copy(served, settings.Worker.Queues)
			}
		}
		if len(served) != len(usual.Worker.Queues) {
			t.Errorf("%s: the queues %v are served", set, served)
		}
	}
}

// webhookOf returns the webhook that a text registers, without its address and the fields that operators choose.
func webhookOf(t *testing.T, text string) map[string]any {
	t.Helper()
	_, registered, _ := strings.Cut(text, "kind: ValidatingWebhookConfiguration\n")
	var configuration struct{ Webhooks []map[string]any }
	if err := yaml.Unmarshal([]byte(registered), &configuration); err != nil || len(configuration.Webhooks) != 1 {
		t.Fatal(err, text)
	}
	webhook := configuration.Webhooks[0]
	for _, chosen := range []string{"name", "clientConfig", "namespaceSelector", "timeoutSeconds", "failurePolicy"} {
		delete(webhook, chosen)
	}
	return webhook
}

func TestWebhookMatchesTheDocumentation(t *testing.T) {
	_, rest, _ := strings.Cut(readmetest.Read(t, "../../docs/admission.md"), "4. Register the webhook")
	_, fenced, _ := strings.Cut(rest, "```yaml\n")
	documented, _, _ := strings.Cut(fenced, "```")
	want := webhookOf(t, strings.ReplaceAll("\n"+documented, "\n   ", "\n"))
	for _, set := range []string{"admission-cert-manager", "admission-certificate"} {
		if got := webhookOf(t, readmetest.Read(t, goldenFile(set))); !reflect.DeepEqual(got, want) {
			t.Errorf("%s registers %v, docs/admission.md %v", set, got, want)
		}
	}
}

// load reads the settings of a container whose volume has files of settings.
func load(t *testing.T, name string, of container, files []string) config.Settings {
	t.Helper()
	var sources config.Sources
	var named []string
	for _, variable := range of.Env {
		value := variable.Value
		if variable.ValueFrom.SecretKeyRef.Name != "" {
			value = secretValues[variable.Name]
		}
		if strings.HasPrefix(value, "/etc/attestry/") {
			named = append(named, value)
		}
		sources.Environ = append(sources.Environ, variable.Name+"="+value)
	}
	if slices.Sort(files); !slices.Equal(named, files) {
		t.Errorf("%s has the files %q, and settings for %q", name, files, named)
	}
	if strings.HasSuffix(of.Command[0], "-standalone") {
		sources.Defaults = embedded
	}
	settings, err := config.LoadFrom(sources)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return settings
}
