package evidence

import "testing"

func TestApplyChangesTheFlowAsRequested(t *testing.T) {
	stored := Flow{Name: "build", Description: "d", Visibility: PrivateFlow, Template: "t", RepoURL: new("https://example.com/r")}
	for name, c := range map[string]struct {
		change  func(*Flow)
		changed bool
	}{
		"nothing":                {func(*Flow) {}, false},
		"no template":            {func(f *Flow) { f.Template = "" }, false},
		"an equal repository":    {func(f *Flow) { f.RepoURL = new("https://example.com/r") }, false},
		"another name":           {func(f *Flow) { f.Name = "other" }, false},
		"another description":    {func(f *Flow) { f.Description = "e" }, true},
		"another visibility":     {func(f *Flow) { f.Visibility = PublicFlow }, true},
		"another template":       {func(f *Flow) { f.Template = "u" }, true},
		"another repository":     {func(f *Flow) { f.RepoURL = new("https://example.com/s") }, true},
		"no repository any more": {func(f *Flow) { f.RepoURL = nil }, true},
	} {
		flow, fresh := stored, stored
		c.change(&fresh)
		if got := flow.Apply(fresh); got != c.changed {
			t.Errorf("%s: changed is %t", name, got)
		}
		if flow.Name != "build" || flow.Template == "" || flow.Description != fresh.Description || flow.Visibility != fresh.Visibility {
			t.Errorf("%s: the flow becomes %+v", name, flow)
		}
	}
}

func TestArchivedFlowKeepsTheNameOfItsFirstArchiving(t *testing.T) {
	flow := Flow{Name: "build"}
	flow.Archive(1700000000.5)
	flow.Archive(1800000000)
	if !flow.Archived || flow.Name != "build-archived-at-1700000000" {
		t.Errorf("it is %+v", flow)
	}
}

func TestArchivingDoesNotChangeTheNameThatConditionsSee(t *testing.T) {
	for _, name := range []string{"build", "build-archived-at-5", "build-archived-at-5-archived-at-6"} {
		t.Run(name, func(t *testing.T) {
			flow := Flow{Name: name}
			flow.Archive(1700000000)
			for _, seen := range []string{FlowNameBeforeArchiving(name), FlowNameBeforeArchiving(flow.Name)} {
				if seen != "build" {
					t.Errorf("got %q", seen)
				}
			}
		})
	}
}
