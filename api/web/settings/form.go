package settings

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"attestry/api/server"
	"attestry/api/web/form"
	"attestry/api/web/request"
	"attestry/api/web/view"
	"attestry/evidence"
)

// formPage is a form, with the errors of the API if it was sent.
type formPage struct {
	Org, Area, Back string
	Form            *form.Form
	Failed          string
	Details         map[string]string
}

// donePage shows an answer that is shown once.
type donePage struct {
	Org, Title, Back string
	Members          []view.Named[any]
}

// newForm returns the form that the path names, filled in from the query.
func (p *page) newForm() (*formPage, error) {
	of, err := p.area()
	if err != nil {
		return nil, err
	}
	id := p.Parameter("operation")
	operation, ok := p.API.Operation(id)
	if !ok || !slices.Contains(slices.Concat(of.Forms, of.RowForms), id) {
		return nil, evidence.NewError(evidence.NotFound, "There is no such form.")
	}
	access, err := p.Members.Access(p.C.UserContext(), p.Viewer, p.Org())
	if err == nil {
		err = operation.Check(p.Viewer, access)
	}
	if err != nil {
		return nil, err
	}
	shown := &formPage{Org: p.Org(), Area: of.Title, Form: form.New(operation), Back: p.address(of.Name, p.fill(p.formOf(of.List), nil))}
	shown.Form.Fill(p.query)
	return shown, nil
}

// nothingStored are the statuses of a read if there is no object, no such read, or the viewer may not read it.
var nothingStored = []int{http.StatusNotFound, http.StatusForbidden, http.StatusMethodNotAllowed}

// stored reads the object that a form changes, nil if there is none or the viewer may not read it.
func (p *page) stored(of *form.Form) (answer map[string]any, err error) {
	reader := of
	id, other := readBy[of.Operation.OperationID]
	if other {
		reader = p.formOf(id)
		reader.Fill(p.fill(reader, named(p.C.Query("name"))))
	}
	target, ok := reader.Target(p.Org())
	path, _, _ := strings.Cut(target, "?")
	if !ok || !other && !reader.HasPathNames() || of.Operation.Body == nil {
		return nil, nil
	}
	var read any
	err = p.Get(path, &read)
	if slices.ContainsFunc(nothingStored, func(status int) bool { return request.IsRefused(err, status) }) {
		return nil, nil
	}
	if answer, ok = read.(map[string]any); !ok {
		return nil, err // an array is no object
	}
	answer["template_file"] = answer["template"]
	if versions, _ := answer["versions"].([]any); len(versions) > 0 {
		newest, _ := versions[len(versions)-1].(map[string]any)
		answer["policy_file"] = newest["policy_yaml"]
	}
	return answer, nil
}

// ShowForm shows a form, filled in with the stored values.
func ShowForm(r *request.Request) error {
	p := newPage(r)
	shown, err := p.newForm()
	if err != nil {
		return err
	}
	stored, err := p.stored(shown.Form)
	if err != nil {
		return err
	}
	shown.Form.Prefill(stored)
	return p.Render("form", shown.Form.Operation.Summary, shown)
}

// Send sends a form to the API. It shows an answer with secrets, and else redirects to the next form or to the area.
func Send(r *request.Request) error {
	p := newPage(r)
	shown, err := p.newForm()
	if err != nil {
		return err
	}
	sent, err := url.ParseQuery(string(p.C.Body()))
	if err != nil {
		return evidence.NewError(evidence.Invalid, "The form cannot be read.")
	}
	shown.Form.Fill(sent)
	if shown.Form.LacksPathNames() {
		p.C.Status(http.StatusBadRequest)
		shown.Failed = "The form does not say what it is about."
		return p.Render("form", shown.Form.Operation.Summary, shown)
	}
	stored, err := p.stored(shown.Form)
	if err != nil {
		return err
	}
	if shown.Form.Outdated(stored) {
		p.C.Status(http.StatusConflict)
		shown.Form.Prefill(stored)
		shown.Failed = "This was changed since the form was opened. Open the form again to see what is stored now, or send this one to replace it."
		return p.Render("form", shown.Form.Operation.Summary, shown)
	}
	shown.Form.Restore(stored)
	answer, err := p.send(shown.Form)
	if refused, ok := p.PassOn(err); ok {
		shown.Failed, shown.Details = refused.Message, shown.Form.Fault(refused.Errors)
		return p.Render("form", shown.Form.Operation.Summary, shown)
	}
	if err != nil {
		return err
	}
	if follow, ok := next[shown.Form.Operation.OperationID]; ok {
		address := p.address(follow.area+"/"+follow.form, p.fill(p.formOf(follow.form), named(sent.Get("name"))))
		return p.C.Redirect(address, http.StatusSeeOther)
	}
	return p.showDone(shown, answer)
}

func (p *page) send(filled *form.Form) (answer []byte, err error) {
	query, err := filled.Query(p.Org())
	if err != nil {
		return nil, err
	}
	err = p.Ask(query, func(sent *server.PageAnswer) (err error) {
		answer, err = server.RequestOf(p.C.UserContext()).Memory.ReadAll(sent.Body(), math.MaxInt)
		return err
	})
	return answer, err
}

// shownOnce are the members of answers that a page must show: secrets, and the result of trying an identity provider.
var shownOnce = []string{"key", "secret", "link", "accepted"}

// showDone shows an answer with a member of shownOnce, and else redirects to the area.
func (p *page) showDone(of *formPage, answer []byte) error {
	var members map[string]any
	if json.Unmarshal(answer, &members) == nil && slices.ContainsFunc(shownOnce, func(name string) bool { return members[name] != nil }) {
		shown := donePage{Org: of.Org, Title: of.Form.Operation.Summary, Back: of.Back}
		for _, member := range view.First(members, view.RowsPerPage) {
			shown.Members = append(shown.Members, view.Named[any]{Name: member.Name, Value: cell(member.Name, member.Value)})
		}
		p.C.Set("Cache-Control", "no-store")
		return p.Render("done", shown.Title, shown)
	}
	separator := "?"
	if strings.Contains(of.Back, "?") {
		separator = "&"
	}
	return p.C.Redirect(of.Back+separator+"done="+of.Form.Operation.OperationID, http.StatusSeeOther)
}

// named is a row with only a name.
func named(name string) row {
	encoded, _ := json.Marshal(name) // a text always has a form in JSON
	return row{"name": encoded}
}
