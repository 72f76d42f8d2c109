// Command gatekeepertest evaluates a rule for an object with the engine of Gatekeeper and a provider of external data,
// and prints each violation on a line.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/open-policy-agent/frameworks/constraint/pkg/apis/externaldata/unversioned"
	"github.com/open-policy-agent/frameworks/constraint/pkg/client/drivers/rego"
	"github.com/open-policy-agent/frameworks/constraint/pkg/core/templates"
	"github.com/open-policy-agent/frameworks/constraint/pkg/externaldata"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/yaml"
)

const target = "admission.k8s.gatekeeper.sh"

func main() {
	provider := flag.String("provider", "", "file of the Provider")
	rule := flag.String("rule", "", "file of the rule in Rego")
	object := flag.String("object", "", "file of the object that is reviewed, in JSON")
	cert := flag.String("cert", "", "PEM file of the certificate that the provider is shown")
	key := flag.String("key", "", "PEM file of its key")
	flag.Parse()
	if err := review(context.Background(), *provider, *rule, *object, *cert, *key); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func review(ctx context.Context, providerFile, ruleFile, objectFile, certFile, keyFile string) error {
	var provider unversioned.Provider
	content, err := os.ReadFile(providerFile)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(content, &provider); err != nil {
		return err
	}
	providers := externaldata.NewCache()
	if err := providers.Upsert(&provider); err != nil {
		return err
	}
	watcher, err := certwatcher.New(certFile, keyFile)
	if err != nil {
		return err
	}
	driver, err := rego.New(rego.AddExternalDataProviderCache(providers), rego.EnableExternalDataClientAuth(),
		rego.AddExternalDataClientCertWatcher(watcher), rego.Defaults())
	if err != nil {
		return err
	}
	source, err := os.ReadFile(ruleFile)
	if err != nil {
		return err
	}
	template := &templates.ConstraintTemplate{}
	template.Spec.CRD.Spec.Names.Kind = "Rule"
	template.Spec.Targets = []templates.Target{{Target: target, Code: []templates.Code{{
		Engine: "Rego", Source: &templates.Anything{Value: map[string]any{"rego": string(source)}},
	}}}}
	if err := driver.AddTemplate(ctx, template); err != nil {
		return err
	}
	constraint := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Rule", "metadata": map[string]any{"name": "rule"}, "spec": map[string]any{},
	}}
	if err := driver.AddConstraint(ctx, constraint); err != nil {
		return err
	}
	reviewed, err := os.ReadFile(objectFile)
	if err != nil {
		return err
	}
	answer, err := driver.Query(ctx, target, []*unstructured.Unstructured{constraint}, map[string]any{"object": json.RawMessage(reviewed)})
	if err != nil {
		return err
	}
	for _, result := range answer.Results {
		fmt.Println(result.Msg)
	}
	return nil
}
