package policy

import "slices"

// Reference names a version of a policy.
type Reference struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Version int    `json:"version"`
}

// Applied is a policy in the version that artifacts are evaluated by.
type Applied struct {
	Reference
	Policy *Policy
}

// References returns which policies are applied, in their order.
func References(applied []Applied) []Reference {
	var references []Reference
	for _, one := range applied {
		references = append(references, one.Reference)
	}
	return references
}

// ControlsOf lists the controls that policies name, each once, sorted.
func ControlsOf(applied []Applied) []string {
	var controls []string
	for _, one := range applied {
		controls = append(controls, one.Policy.Controls()...)
	}
	slices.Sort(controls)
	return slices.Compact(controls)
}
