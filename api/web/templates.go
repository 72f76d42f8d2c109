package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"

	"github.com/gofiber/fiber/v2"

	"attestry/evidence"
)

//go:embed templates
var templateFiles embed.FS

// templates are those of all pages, by their names.
type templates struct {
	pages map[string]*template.Template
}

// newTemplates reads the templates. Each page fills in the blocks of layout.html.
func newTemplates(clock evidence.Clock) (*templates, error) {
	shared, err := template.New("").Funcs(functions(clock)).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("read the templates of pages: %w", err)
	}
	files, err := fs.Glob(templateFiles, "templates/pages/*.html")
	if err != nil {
		return nil, err
	}
	t := &templates{pages: map[string]*template.Template{}}
	for _, file := range files {
		own, err := shared.Clone()
		if err == nil {
			own, err = own.ParseFS(templateFiles, file)
		}
		if err != nil {
			return nil, fmt.Errorf("read the template %s: %w", file, err)
		}
		t.pages[strings.TrimSuffix(path.Base(file), ".html")] = own
	}
	return t, nil
}

// layout is what layout.html shows.
type layout struct {
	Title string
	// Viewer is the name of whoever is signed in, "" if nobody is.
	Viewer string
	// Org is the organization that the page is of, "" for none.
	Org string
	// API is the address of the operation that answers the same, "" if there is none.
	API string
	// Style and Script are the addresses of the assets.
	Style, Script string
	Data          any
}

// render sends a page. Nothing is sent unless all of it can be made.
func (p *page) render(name, title string, data any) error {
	var content bytes.Buffer
	err := p.templates.pages[name].ExecuteTemplate(&content, "layout", layout{
		Title: title, Viewer: p.viewer.Name, Org: p.shownOrg(), API: p.apiAddress(),
		Style: p.assets["attestry.css"], Script: p.assets["attestry.js"], Data: data,
	})
	if err != nil {
		return fmt.Errorf("make the page %s: %w", name, err)
	}
	p.c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return p.c.Send(content.Bytes())
}
