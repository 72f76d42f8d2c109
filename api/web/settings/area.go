package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"attestry/api/web/form"
	"attestry/api/web/request"
	"attestry/api/web/view"
	"attestry/evidence"
)

// areaPage shows what there is of a kind, with the forms that somebody may send.
type areaPage struct {
	Org, Title string
	// Of says whose they are, "" for those of the organization.
	Of string
	// Filter are the fields that select rows.
	Filter  []*form.Field
	Columns []string
	Rows    []areaRow
	Forms   []formLink
	// Done is what the form that led here has done, "" if none did.
	Done  string
	Pager request.Pager
}

// Changes reports whether something can be done with the rows.
func (a *areaPage) Changes() bool { return len(a.Rows) > 0 && len(a.Rows[0].Forms) > 0 }

// areaRow is a row of the table: the values of its columns, as templates show them, and what can be done with it.
type areaRow struct {
	Cells []any
	Open  string
	Forms []formLink
}

// ShowArea shows what there is of a kind.
func ShowArea(r *request.Request) error {
	p := &page{r}
	of, err := p.area()
	if err != nil {
		return err
	}
	listed, _ := p.API.Operation(of.list)
	filter := form.New(listed)
	filter.Fill(url.Values{"per_page": {strconv.Itoa(view.RowsPerPage)}})
	filter.Fill(p.query())
	target, ok := filter.Target(p.Org())
	if !ok {
		return evidence.NewError(evidence.NotFound, "The address does not say whose they are.")
	}
	p.APIPath = target
	shown := areaPage{Org: p.Org(), Title: of.Title, Columns: of.columns, Of: filter.Names(), Filter: filter.Choices()}
	if done, ok := p.API.Operation(p.C.Query("done")); ok {
		shown.Done = done.Summary
	}
	var answer json.RawMessage
	if err := p.Get(target, &answer); err != nil {
		return err
	}
	if shown.Forms, err = p.formLinks(of, of.forms); err != nil {
		return err
	}
	if err := shown.addRows(p, of, answer); err != nil {
		return err
	}
	return p.Render("area", of.Title, &shown)
}

// addRows adds the rows of the answer of a list. An answer that does not say how many pages it has is whole.
func (a *areaPage) addRows(p *page, of *area, answer json.RawMessage) error {
	rows, last := rowsOf(answer)
	if a.Pager = p.Pager("page", p.Number("page"), last); last == 0 {
		rows, a.Pager = request.Cut(p.Request, rows)
	}
	operations, err := p.allowed(of.rowForms...)
	if err != nil {
		return err
	}
	for _, row := range rows {
		made := areaRow{}
		for _, column := range of.columns {
			made.Cells = append(made.Cells, cell(column, row.value(column)))
		}
		for i := range operations {
			made.Forms = append(made.Forms, p.formLink(of, &operations[i], row))
		}
		switch {
		case of.page != nil:
			made.Open = of.page(p.Org(), row)
		case of.opens != "":
			made.Open = p.settingsAddress(of.opens, p.fill(areaNamed(of.opens).list, row))
		}
		a.Rows = append(a.Rows, made)
	}
	return nil
}

// row is a thing in a list. Its members are decoded where they are shown, as others may be large.
type row map[string]json.RawMessage

// text is a member as a text, "" if there is none.
func (r row) text(member string) string { return plain(r.value(member)) }

func (r row) value(member string) (value any) {
	if json.Unmarshal(r[member], &value) != nil {
		return nil
	}
	return value
}

// rowsOf finds the rows in the answer of a list, and how many pages it has, 0 for one that is whole. An answer without a list
// is a row.
func rowsOf(answer json.RawMessage) (rows []row, last int) {
	if json.Unmarshal(answer, &rows) == nil {
		return rows, 0
	}
	var object row
	if json.Unmarshal(answer, &object) != nil {
		return nil, 0
	}
	var head struct {
		Pages      int `json:"total_pages"`
		Pagination struct {
			Pages int `json:"page_count"`
		} `json:"pagination"`
	}
	_ = json.Unmarshal(answer, &head) // an answer without them is whole
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if json.Unmarshal(object[name], &rows) == nil && rows != nil {
			return rows, cmp.Or(head.Pages, head.Pagination.Pages)
		}
	}
	return []row{object}, 0
}

// cell is a value as templates show it: a text, or Unix seconds.
func cell(column string, value any) any {
	switch value := value.(type) {
	case float64:
		if strings.HasSuffix(column, "_at") || column == "when" || column == "timestamp" {
			return value
		}
	case []any:
		all := make([]string, 0, len(value))
		for _, one := range value {
			all = append(all, plain(one))
		}
		return strings.Join(all, ", ")
	}
	return plain(value)
}

// plain is a value of JSON as a text.
func plain(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	case map[string]any:
		var members []string
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if value[name] != nil && value[name] != "" {
				members = append(members, name+": "+fmt.Sprint(cell(name, value[name])))
			}
		}
		return strings.Join(members, ", ")
	}
	return fmt.Sprint(value)
}
