package web

import (
	"net/url"
	"strconv"
	"strings"

	"attestry/api/web/request"
	"attestry/api/web/view"
)

// difference is an artifact that does not run alike by two snapshots.
type difference struct {
	Name        string  `json:"name"`
	Fingerprint string  `json:"fingerprint"`
	Flow        string  `json:"flow"`
	CommitURL   *string `json:"commit_url"`
	Instances   int     `json:"instance_count"`
	Before      int     `json:"s1_instance_count"`
	After       int     `json:"s2_instance_count"`
	// Change says in words what is different.
	Change string `json:"-"`
	Link   string `json:"-"`
}

// diffSide is one of the snapshots that are compared, with what runs by it only.
type diffSide struct {
	ID        string       `json:"snapshot_id"`
	Artifacts []difference `json:"artifacts"`
	Link      string       `json:"-"`
}

// diffPage shows what changed between two snapshots.
type diffPage struct {
	Org         string
	Environment environment
	// From and To are what the form is filled in with.
	From, To string
	// Failed says why there is nothing to show, "" if there is.
	Failed        string
	First, Second diffSide
	Unchanged     int
	Total         int
	Differences   []difference
	Pager         request.Pager
}

func (s *Site) showDiff(p *page) error {
	shown := diffPage{Org: p.Org(), From: p.C.Query("from", "~1"), To: p.C.Query("to", "~0")}
	moved, err := p.findEnvironment(&shown.Environment)
	if err != nil || moved {
		return err
	}
	p.APIPath = request.Target("/env-diff/%s", shown.Org) + "?" + url.Values{
		"snappish1": {snappish(shown.Environment.Name, shown.From)}, "snappish2": {snappish(shown.Environment.Name, shown.To)},
	}.Encode()
	err = shown.load(p)
	if refused, ok := p.PassOn(err); ok {
		shown.Failed, err = refused.Message, nil
	}
	if err != nil {
		return err
	}
	return p.Render("diff", "What changed in "+shown.Environment.Name, shown)
}

// findEnvironment asks for the environment in the path. If it was renamed, it redirects to the new name, and moved is true.
func (p *page) findEnvironment(into *environment) (moved bool, err error) {
	name := p.Parameter("environment")
	if err := p.Get(request.Target("/environments/%s/%s", p.Org(), name), into); err != nil || into.Name == name {
		return false, err
	}
	return true, p.Redirect(into.Name)
}

// snappish names a snapshot as the API does. A number or what else picks a snapshot is of the
// environment of the page; all else names another environment.
func snappish(environment, asked string) string {
	asked = strings.TrimSpace(asked)
	if _, err := strconv.ParseUint(asked, 10, 63); err == nil {
		return environment + "#" + asked
	}
	if asked == "" || strings.ContainsAny(asked[:1], "#~@") {
		return environment + asked
	}
	return asked
}

// load reads the comparison. What runs alike by both is only counted.
func (d *diffPage) load(p *page) error {
	var answer struct {
		First   diffSide `json:"snappish1"`
		Second  diffSide `json:"snappish2"`
		Changed diffSide `json:"changed"`
		Same    struct {
			Artifacts []struct{} `json:"artifacts"`
		} `json:"not-changed"`
	}
	if err := p.Get(p.APIPath, &answer); err != nil {
		return err
	}
	d.Unchanged = len(answer.Same.Artifacts)
	d.add(answer.First.Artifacts, func(one *difference) string { return "runs no more, was " + view.Plural(one.Instances, "instance") })
	d.add(answer.Second.Artifacts, func(one *difference) string { return "new, " + view.Plural(one.Instances, "instance") })
	d.add(answer.Changed.Artifacts, func(one *difference) string {
		return "from " + strconv.Itoa(one.Before) + " to " + view.Plural(one.After, "instance")
	})
	d.Total = len(d.Differences)
	d.Differences, d.Pager = request.Cut(p.Request, d.Differences)
	d.First, d.Second = answer.First.linked(d.Org), answer.Second.linked(d.Org)
	return nil
}

func (d *diffPage) add(artifacts []difference, describe func(*difference) string) {
	for _, one := range artifacts {
		one.Change = describe(&one)
		if one.Flow != "" {
			one.Link = view.Pages.Artifact(d.Org, one.Flow, one.Fingerprint, "")
		}
		d.Differences = append(d.Differences, one)
	}
}

// linked is the side with the address of its snapshot.
func (s diffSide) linked(org string) diffSide {
	name, digits, _ := strings.Cut(s.ID, "#")
	if number, err := strconv.ParseInt(digits, 10, 64); err == nil {
		s.Link = view.Pages.Snapshot(org, name, number)
	}
	return s
}
