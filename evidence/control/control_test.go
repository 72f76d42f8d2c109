package control_test

import (
	"maps"
	"testing"

	"attestry/evidence/control"
)

func TestChangesMakeVersions(t *testing.T) {
	removed, text, empty := (*string)(nil), new("text"), new("")
	links := map[string]string{"docs": "https://example.com"}
	for name, c := range map[string]struct {
		change control.Change
		status control.Status // "" if there is no version
	}{
		"nothing":                    {control.Change{}, ""},
		"the same name":              {control.Change{Name: new("n")}, ""},
		"another name":               {control.Change{Name: new("m")}, control.Edited},
		"an empty name":              {control.Change{Name: new("")}, control.Edited},
		"the same description":       {control.Change{Description: &text}, ""},
		"an empty description":       {control.Change{Description: &empty}, control.Edited},
		"no description":             {control.Change{Description: &removed}, control.Edited},
		"the same links":             {control.Change{Links: new(maps.Clone(links))}, ""},
		"other links":                {control.Change{Links: &map[string]string{"docs": "https://example.com/2"}}, control.Edited},
		"no links":                   {control.Change{Links: &map[string]string{}}, control.Edited},
		"archived":                   {control.Change{Archived: new(true)}, control.Archived},
		"not archived, as before":    {control.Change{Archived: new(false)}, ""},
		"archived with another name": {control.Change{Archived: new(true), Name: new("m")}, control.Archived},
	} {
		t.Run(name, func(t *testing.T) {
			before := control.Control{Org: "o", Identifier: "c", Name: "n", Description: text, Links: links, Version: 4}
			version, ok := before.Next(c.change, "ann", 5)
			if ok != (c.status != "") {
				t.Fatalf("it makes a version: %v", ok)
			}
			if ok && (version.Status != c.status || version.Version != 5 || version.Control != "c" || version.CreatedBy != "ann" || version.CreatedAt != 5) {
				t.Errorf("the version is %+v", version)
			}
			after := before
			after.Follow(&version)
			if _, again := after.Next(c.change, "bob", 6); again {
				t.Error("repeating the change changes something")
			}
		})
	}
}

func TestUnarchivingMakesAVersion(t *testing.T) {
	archived := control.Control{Version: 2, Archived: true}
	version, ok := archived.Next(control.Change{Archived: new(false)}, "ann", 5)
	if !ok || version.Status != control.Unarchived || version.Archived {
		t.Errorf("the version is %+v, %v", version, ok)
	}
}

func TestControlsDoNotGoBackToAnOlderVersion(t *testing.T) {
	current := control.Control{Version: 3, Name: "three"}
	for _, number := range []int{2, 3} {
		current.Follow(&control.Version{Version: number, Name: "other", Archived: true})
	}
	if current.Version != 3 || current.Name != "three" || current.Archived {
		t.Errorf("the control is %+v", current)
	}
	current.Follow(&control.Version{Version: 5, Name: "five"})
	if current.Version != 5 || current.Name != "five" {
		t.Errorf("the control is %+v", current)
	}
}
