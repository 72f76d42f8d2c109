package settings

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"attestry/api/resource"
	"attestry/api/web/form"
	"attestry/api/web/request"
	"attestry/api/web/view"
	"attestry/evidence"
	"attestry/links"
)

// areaPage lists the objects of a kind, with the forms that the viewer may send.
type areaPage struct {
	Org, Title string
	// Of is the object that the rows belong to, "" for the organization.
	Of string
	// Filter are the fields that select rows, and Names those in the path.
	Filter  []*form.Field
	Names   url.Values
	Columns []string
	Rows    []areaRow
	Forms   []formLink
	// Filtered is set if the filter selects rows.
	Filtered bool
	// CSV is the path of the rows as a file, "" for none.
	CSV string
	// Done is the operation of the form that redirected here, "" for none.
	Done  string
	Pager request.Pager
}

// areaRow is a row of the table: the cells, the link of the row, and its forms.
type areaRow struct {
	Cells []any
	Open  string
	Forms []formLink
}

// ShowArea lists the objects of a kind.
func ShowArea(r *request.Request) error {
	p := newPage(r)
	of, err := p.area()
	if err != nil {
		return err
	}
	filter := p.formOf(of.List)
	filter.Fill(p.query)
	filter.Fill(url.Values{"per_page": {strconv.Itoa(view.RowsPerPage)}})
	target, ok := filter.Target(p.Org())
	if !ok {
		return evidence.NewError(evidence.NotFound, "The address lacks the name of the object that these belong to.")
	}
	p.APIPath = target
	shown := areaPage{Org: p.Org(), Title: of.Title, Columns: of.Columns, Of: filter.PathNames(), Filter: filter.Choices(), Names: p.fill(filter, nil)}
	shown.Filtered = slices.ContainsFunc(shown.Filter, func(field *form.Field) bool { return field.Value() != "" })
	if done, ok := p.API.Operation(p.C.Query("done")); ok {
		shown.Done = done.Summary
	}
	if of.CSV != "" {
		file := p.formOf(of.CSV)
		file.Fill(p.query)
		shown.CSV, _ = file.Target(p.Org())
		shown.CSV = links.Prefix + shown.CSV
	}
	var found list
	if err := p.Read(target, found.decode); err != nil {
		return err
	}
	forms, err := p.forms(of.Forms...)
	if err != nil {
		return err
	}
	for _, one := range forms {
		shown.Forms = append(shown.Forms, p.formLink(of, one, nil))
	}
	if err := shown.addRows(p, of, found); err != nil {
		return err
	}
	return p.Render("area", of.Title, &shown)
}

// addRows adds a page of the rows.
func (a *areaPage) addRows(p *page, of *area, found list) error {
	rows, number := found.rows, p.Number("page")
	switch after := found.after(); {
	case after != "":
		query := p.Query()
		query.Set("after", after)
		a.Pager = request.Pager{Label: "Pages", Next: "?" + query.Encode()}
	case p.query.Get("after") != "": // the last page
	case found.array && strings.Contains(p.APIPath, "per_page="):
		a.Pager = p.Pager("page", number, number+len(rows)/view.RowsPerPage)
		a.Pager.Last = 0
	case found.pages == 0:
		rows, a.Pager = request.Cut(p.Request, rows)
	default:
		a.Pager = p.Pager("page", number, found.pages)
	}
	forms, err := p.forms(of.RowForms...)
	if err != nil {
		return err
	}
	var opened []*form.Form
	if of.Opens != "" {
		if opened, err = p.forms(areaNamed(of.Opens).List); err != nil {
			return err
		}
	}
	for _, row := range rows {
		shown := areaRow{}
		for _, column := range of.Columns {
			shown.Cells = append(shown.Cells, cell(column, row.value(column)))
		}
		for _, one := range forms {
			shown.Forms = append(shown.Forms, p.formLink(of, one, row))
		}
		switch {
		case of.Page != "":
			shown.Open = pages[of.Page](p.Org(), row)
		case len(opened) > 0:
			shown.Open = p.address(of.Opens, p.fill(opened[0], row))
		}
		a.Rows = append(a.Rows, shown)
	}
	return nil
}

// withoutTime are the texts for times that are 0. Those of other columns are not known.
var withoutTime = map[string]string{"expires_at": "never", "last_used_at": "never"}

// cell is a value for templates: a text, or Unix seconds.
func cell(column string, value any) any {
	switch value := value.(type) {
	case float64:
		isTime := strings.HasSuffix(column, "_at") || column == "when" || column == "timestamp"
		switch {
		case isTime && value == 0:
			return withoutTime[column]
		case isTime:
			return value
		}
	case []any:
		return strings.Join(resource.Map(value, func(one *any) string { return plain(*one) }), ", ")
	}
	return plain(value)
}

// plain formats a JSON value as text.
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
				shown := cell(name, value[name])
				if at, ok := shown.(float64); ok {
					shown = view.UTC(at, time.RFC3339)
				}
				members = append(members, name+": "+fmt.Sprint(shown))
			}
		}
		return strings.Join(members, ", ")
	}
	return fmt.Sprint(value)
}
