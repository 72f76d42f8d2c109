// Package settings shows what administrators change: what there is of each kind, and forms that are operations of the API.
package settings

import (
	"cmp"
	"net/url"
	"slices"

	"attestry/api/server"
	"attestry/api/web/form"
	"attestry/api/web/request"
	"attestry/api/web/view"
	"attestry/evidence"
)

// page is a page of the settings that is being made.
type page struct{ *request.Request }

// settingsPage lists the parts of the settings that somebody may read.
type settingsPage struct {
	Org   string
	Areas []area
}

type formLink struct{ Title, Address string }

// allowed are the operations of some ids that the viewer may call.
func (p *page) allowed(ids ...string) ([]server.Operation, error) {
	access, err := p.Members.Access(p.C.UserContext(), p.Viewer, p.Org())
	if err != nil {
		return nil, err
	}
	var operations []server.Operation
	for _, id := range ids {
		if operation, ok := p.API.Operation(id); ok && operation.Allows(p.Viewer, access) {
			operations = append(operations, operation)
		}
	}
	return operations, nil
}

// ShowSettings shows the parts of the settings that somebody may read.
func ShowSettings(r *request.Request) error {
	p := &page{r}
	lists := make([]string, 0, len(areas))
	for i := range areas {
		lists = append(lists, areas[i].list)
	}
	allowed, err := p.allowed(lists...)
	if err != nil {
		return err
	}
	shown := settingsPage{Org: p.Org()}
	for _, one := range areas {
		if !one.isOpened() && slices.ContainsFunc(allowed, func(operation server.Operation) bool { return operation.OperationID == one.list }) {
			shown.Areas = append(shown.Areas, one)
		}
	}
	return p.Render("settings", "Settings", shown)
}

// area finds the part of the settings that the path names: /org/settings/members, or /org/members.
func (p *page) area() (*area, error) {
	found := areaNamed(cmp.Or(p.Parameter("area"), p.Section()))
	if found == nil {
		return nil, evidence.NewError(evidence.NotFound, "There is no such part of the settings.")
	}
	return found, nil
}

// query are the values that the query of the page has.
func (p *page) query() url.Values {
	values, err := url.ParseQuery(string(p.C.Request().URI().QueryString()))
	if err != nil {
		return nil // what is wrong with it was answered before
	}
	return values
}

// fill gives values to the parameters of an operation that a row has members for. Other names in the path are those in the
// query of the page.
func (p *page) fill(id string, of row) url.Values {
	values, queried := url.Values{}, p.query()
	operation, _ := p.API.Operation(id)
	for _, field := range form.New(operation).Fields {
		value := cmp.Or(of.text(field.Name), of.text(rowMembers[field.Name]))
		if given := queried.Get(field.Name); value == "" && field.InPath() {
			value = given
		}
		if value != "" && field.Identifies() {
			values.Set(field.Name, value)
		}
	}
	return values
}

// formLinks are the forms of an area that the viewer may send.
func (p *page) formLinks(of *area, ids []string) (links []formLink, err error) {
	operations, err := p.allowed(ids...)
	for i := range operations {
		links = append(links, p.formLink(of, &operations[i], nil))
	}
	return links, err
}

// formLink leads to a form, filled in with what is known of a row.
func (p *page) formLink(of *area, operation *server.Operation, about row) formLink {
	return formLink{operation.Summary, p.settingsAddress(of.Name+"/"+operation.OperationID, p.fill(operation.OperationID, about))}
}

func (p *page) settingsAddress(path string, values url.Values) string {
	address := view.Pages.Organization(p.Org()) + "/settings/" + path
	if len(values) > 0 {
		address += "?" + values.Encode()
	}
	return address
}
