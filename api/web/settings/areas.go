package settings

import (
	_ "embed"
	"slices"

	"go.yaml.in/yaml/v4"

	"attestry/api/web/view"
)

// area is a part of the settings, an element of areas.yaml.
type area struct {
	Name, Title, List        string
	Columns, Forms, RowForms []string
	CSV, Opens, Page         string
}

//go:embed areas.yaml
var areasFile []byte

var areas = func() (read []area) {
	if err := yaml.Unmarshal(areasFile, &read); err != nil {
		panic(err)
	}
	return read
}()

// pages return the page that a row links to.
var pages = map[string]func(org string, of row) string{
	"policy":  func(org string, of row) string { return view.Pages.Policy(org, of.text("name")) },
	"control": func(org string, of row) string { return view.Pages.Control(org, of.text("identifier")) },
	"audit":   func(org string, of row) string { return view.Pages.Audit(org, of.text("name")) },
}

// rowMembers maps a parameter to the member of a row that fills it in, if their names differ.
var rowMembers = map[string]string{
	"action_number": "number", "key_id": "id", "delivery_id": "id", "invitation_id": "id", "env_name": "name", "framework_name": "name", "flow_name": "name",
	"custom_attestation_type_name": "name", "policy_name": "name",
}

// next maps a form to the form that follows it, with the area of the latter.
var next = map[string]struct{ area, form string }{"create_service_account": {"keys", "create_service_account_api_key"}}

// readBy maps a form to the operation that reads the object that it changes, if the two have different paths.
var readBy = map[string]string{
	"put_policy": "get_policy", "create_flow_with_template": "get_flow", "put_people": "get_people", "update_experimental_features": "get_organization",
}

func areaNamed(name string) *area {
	i := slices.IndexFunc(areas, func(one area) bool { return one.Name == name })
	if i < 0 {
		return nil
	}
	return &areas[i]
}
