// Package view renders the pages for people: templates, style, script, and the formatting of times, states and texts.
package view

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"path"
	"strings"

	"attestry/evidence"
)

//go:embed templates
var templateFiles embed.FS

// Templates are the templates of all pages, by name.
type Templates struct {
	pages map[string]*template.Template
}

// New parses the templates. Each page defines the blocks of the layout. more are further functions of templates.
func New(clock evidence.Clock, more template.FuncMap) (*Templates, error) {
	shared, err := template.New("").Funcs(functions(clock)).Funcs(more).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("read the templates of pages: %w", err)
	}
	files, err := fs.Glob(templateFiles, "templates/pages/*.html")
	if err != nil {
		return nil, err
	}
	t := &Templates{pages: map[string]*template.Template{}}
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

// Layout is the data of api/web/view/templates/layout.html.
type Layout struct {
	Title string
	// Viewer is the name of the signed-in user, "" for none.
	Viewer string
	// Org is the organization of the page, "" for none.
	Org string
	// Beta is set if the organization has beta features and the viewer may see the organization.
	Beta bool
	// Section is the page's part of the navigation: the second segment of its path.
	Section string
	// API is the path of the same data in the API, "" for none.
	API  string
	Data any
}

// Current is the attribute of the link to a part of the navigation that marks it as the current one.
func (l Layout) Current(section string) template.HTMLAttr {
	if section == l.Section {
		return ` aria-current="page"`
	}
	return ""
}

// Style is the URL of the style sheet.
func (Layout) Style() string { return Assets["attestry.css"].Address }

// Script is the URL of the script.
func (Layout) Script() string { return Assets["attestry.js"].Address }

// Render renders the named page.
func (t *Templates) Render(name string, shown Layout) ([]byte, error) {
	var content bytes.Buffer
	if err := t.pages[name].ExecuteTemplate(&content, "layout", shown); err != nil {
		return nil, fmt.Errorf("make the page %s: %w", name, err)
	}
	return breakWords(content.Bytes()), nil
}

//go:embed static
var staticFiles embed.FS

// assetsPath is the path of style and script. No organization can be named "-".
const assetsPath = "/-/assets/"

// Asset is a file that pages load.
type Asset struct {
	// Address is Path with a part of the content's digest, so that browsers can cache it without revalidation.
	Path, Address string
	ContentType   string
	Content       []byte
}

// Assets are the style and the script, by file name.
var Assets = readAssets("attestry.css", "attestry.js")

func readAssets(names ...string) map[string]Asset {
	assets := map[string]Asset{}
	for _, name := range names {
		content, err := staticFiles.ReadFile("static/" + name)
		if err != nil {
			panic(err) // it is embedded
		}
		assets[name] = Asset{
			Path: assetsPath + name, Address: assetsPath + name + "?v=" + evidence.SHA256(content)[:12],
			ContentType: mime.TypeByExtension(path.Ext(name)), Content: content,
		}
	}
	return assets
}
