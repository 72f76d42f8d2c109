package web

import (
	"net/url"
	"strconv"
	"strings"

	"attestry/api/snapshots"
	"attestry/api/web/request"
	"attestry/api/web/view"
	"attestry/evidence"
)

// difference is an artifact whose instances differ between two snapshots. Change is the difference in words.
type difference struct {
	snapshots.ArtifactInfo
	Change string
}

// diffPage shows what changed between two snapshots.
type diffPage struct {
	Org         string
	Environment environment
	// From and To are the values of the form.
	From, To string
	// Failed is the error of the API, "" for none.
	Failed string
	// First and Second are the compared snapshots, FirstLink and SecondLink their pages.
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

// findEnvironment reads the environment in the path. If it was renamed, it redirects to the new name: moved is true.
func (p *page) findEnvironment(into *environment) (moved bool, err error) {
	name := p.Parameter("environment")
	if err := p.Get(request.Target("/environments/%s/%s", p.Org(), name), into); err != nil || into.Name == name {
		return false, err
	}
	return true, p.Redirect(into.Name)
}

// snappish returns a snapshot expression as the API takes it. It adds the page's environment if there is none.
func snappish(environment, expression string) string {
	expression = strings.TrimSpace(expression)
	if _, err := strconv.ParseUint(expression, 10, 63); err == nil {
		return environment + "#" + expression
	}
	if expression == "" || strings.ContainsAny(expression[:1], "#~@") {
		return environment + expression
	}
	return expression
}

// load reads the comparison. Unchanged artifacts are only counted.
func (d *diffPage) load(p *page) error {
	var answer snapshots.EnvironmentDiffResponse
	if err := p.Get(p.APIPath, &answer); err != nil {
		return err
	}
	d.Unchanged = len(answer.NotChanged.Artifacts)
	d.add(answer.Snappish1, func(one *snapshots.ArtifactInfo) string {
		return "runs no more, was " + view.Plural(evidence.ZeroIfNil(one.InstanceCount), "instance")
	})
	d.add(answer.Snappish2, func(one *snapshots.ArtifactInfo) string {
		return "new, " + view.Plural(evidence.ZeroIfNil(one.InstanceCount), "instance")
	})
	d.add(answer.Changed, func(one *snapshots.ArtifactInfo) string {
		return "from " + strconv.Itoa(evidence.ZeroIfNil(one.S1InstanceCount)) + " to " + view.Plural(evidence.ZeroIfNil(one.S2InstanceCount), "instance")
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

// snapshotPage is the URL of the page of a snapshot, given as environment#number.
func snapshotPage(org, id string) string {
	name, digits, _ := strings.Cut(id, "#")
	number, _ := strconv.ParseInt(digits, 10, 64)
	return view.Pages.Snapshot(org, name, number)
}
