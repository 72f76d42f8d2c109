package web

import (
	"net/url"
	"strconv"
	"strings"

	"attestry/api/resource"
	"attestry/api/snapshots"
	"attestry/api/web/request"
	"attestry/api/web/view"
)

// difference is an artifact that does not run alike by two snapshots. Change says in words what is different.
type difference struct {
	snapshots.ArtifactInfo
	Change string
}

// diffPage shows what changed between two snapshots.
type diffPage struct {
	Org         string
	Environment environment
	// From and To are what the form is filled in with.
	From, To string
	// Failed says why there is nothing to show, "" if there is.
	Failed string
	// First and Second are the snapshots that are compared, and FirstLink and SecondLink their pages.
	First, Second         string
	FirstLink, SecondLink string
	Unchanged             int
	Total                 int
	Differences           []difference
	Pager                 request.Pager
}

func (s *Site) showDiff(p *page) error {
	shown := diffPage{Org: p.Org(), From: p.C.Query("from", "~1"), To: p.C.Query("to", "~0")}
	if moved, err := p.findEnvironment(&shown.Environment); err != nil || moved {
		return err
	}
	p.APIPath = request.Target("/env-diff/%s", shown.Org) + "?" + url.Values{
		"snappish1": {snappish(shown.Environment.Name, shown.From)}, "snappish2": {snappish(shown.Environment.Name, shown.To)},
	}.Encode()
	err := shown.load(p)
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
	var answer snapshots.EnvironmentDiffResponse
	if err := p.Get(p.APIPath, &answer); err != nil {
		return err
	}
	d.Unchanged = len(answer.NotChanged.Artifacts)
	d.add(answer.Snappish1, func(one *snapshots.ArtifactInfo) string {
		return "runs no more, was " + view.Plural(resource.ZeroIfNil(one.InstanceCount), "instance")
	})
	d.add(answer.Snappish2, func(one *snapshots.ArtifactInfo) string {
		return "new, " + view.Plural(resource.ZeroIfNil(one.InstanceCount), "instance")
	})
	d.add(answer.Changed, func(one *snapshots.ArtifactInfo) string {
		return "from " + strconv.Itoa(resource.ZeroIfNil(one.S1InstanceCount)) + " to " + view.Plural(resource.ZeroIfNil(one.S2InstanceCount), "instance")
	})
	d.Total = len(d.Differences)
	d.Differences, d.Pager = request.Cut(p.Request, d.Differences)
	d.First, d.Second = answer.Snappish1.SnapshotID, answer.Snappish2.SnapshotID
	d.FirstLink, d.SecondLink = snapshotPage(d.Org, d.First), snapshotPage(d.Org, d.Second)
	return nil
}

func (d *diffPage) add(part snapshots.DiffItem, describe func(*snapshots.ArtifactInfo) string) {
	for _, one := range part.Artifacts {
		d.Differences = append(d.Differences, difference{one, describe(&one)})
	}
}

// snapshotPage is the page of the snapshot environment#number.
func snapshotPage(org, id string) string {
	name, digits, _ := strings.Cut(id, "#")
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return ""
	}
	return view.Pages.Snapshot(org, name, number)
}
