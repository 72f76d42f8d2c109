// Package settings has the pages for administrators: lists of the objects of each kind, and forms of API operations.
package settings

import (
	"cmp"
	"net/url"
	"slices"

	"attestry/api/resource"
	"attestry/api/web/form"
	"attestry/api/web/request"
	"attestry/api/web/view"
	"attestry/evidence"
)

type page struct {
	*request.Request
	query url.Values
}

func newPage(r *request.Request) *page {
	return &page{r, r.Query()}
}

// settingsPage lists the areas that the viewer may read.
type settingsPage struct {
	Org   string
	Areas []area
}

type formLink struct{ Title, Address string }

// ShowSettings lists the areas that the viewer may read.
func ShowSettings(r *request.Request) error {
	p := newPage(r)
	lists, err := p.forms(resource.Map(areas, func(of *area) string { return of.List })...)
	if err != nil {
		return err
	}
	shown := settingsPage{Org: p.Org()}
	for _, one := range areas {
		opened := slices.ContainsFunc(areas, func(other area) bool { return other.Opens == one.Name })
		if !opened && slices.ContainsFunc(lists, func(list *form.Form) bool { return list.Operation.OperationID == one.List }) {
			shown.Areas = append(shown.Areas, one)
		}
	}
	return p.Render("settings", "Settings", shown)
}

// area returns the area that the path names: /org/settings/members, or /org/members.
func (p *page) area() (*area, error) {
	found := areaNamed(cmp.Or(p.Parameter("area"), p.Section()))
	if found == nil {
		return nil, evidence.NewError(evidence.NotFound, "There is no such part of the settings.")
	}
	return found, nil
}

// fill returns values for the identifying fields of a form: from the members of a row, and else, for names in the path,
// from the query of the page.
func (p *page) fill(of *form.Form, from row) url.Values {
	values := url.Values{}
	for _, field := range of.Fields {
		value := cmp.Or(from.text(field.Name), from.text(rowMembers[field.Name]))
		if value == "" && field.InPath() {
			value = p.query.Get(field.Name)
		}
		if value != "" && field.Identifies() {
			values.Set(field.Name, value)
		}
	}
	return values
}

// formOf returns the empty form of an operation in areas.yaml.
func (p *page) formOf(id string) *form.Form {
	operation, _ := p.API.Operation(id)
	return form.New(operation)
}

// forms returns the empty forms of the operations that the viewer may call.
func (p *page) forms(ids ...string) (forms []*form.Form, err error) {
	access, err := p.Members.Access(p.C.UserContext(), p.Viewer, p.Org())
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if operation, ok := p.API.Operation(id); ok && operation.Check(p.Viewer, access) == nil {
			forms = append(forms, form.New(operation))
		}
	}
	return forms, nil
}

// formLink links to a form of an area, filled in from a row.
func (p *page) formLink(of *area, linked *form.Form, from row) formLink {
	return formLink{linked.Operation.Summary, p.address(of.Name+"/"+linked.Operation.OperationID, p.fill(linked, from))}
}

// address is the path of a page of the settings.
func (p *page) address(path string, values url.Values) string {
	address := view.Pages.Organization(p.Org()) + "/settings/" + path
	if len(values) > 0 {
		address += "?" + values.Encode()
	}
	return address
}
