// Package view renders the pages for people: templates, style and script, and how times, states and texts of
// clients are shown.
package view

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
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

// Templates are those of all pages, by their names.
type Templates struct {
	pages map[string]*template.Template
}

// New reads the templates. Each page fills in the blocks of api/web/view/templates/layout.html. more are
// functions that templates can call beside those of this package.
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

// Layout is what api/web/view/templates/layout.html shows.
type Layout struct {
	Title string
	// Viewer is the name of whoever is signed in, "" if nobody is.
	Viewer string
	// Org is the organization that the page is of, "" for none.
	Org string
	// Beta is set if the organization has the beta features and the viewer sees the organization.
	Beta bool
	// Section is the part of the navigation that the page belongs to: the second segment of its path.
	Section string
	// API is the address of the operation that answers the same, "" if there is none.
	API  string
	Data any
}

// Current is the attribute that marks the link to a part of the navigation, if the page belongs to it.
func (l Layout) Current(section string) template.HTMLAttr {
	if section == l.Section {
		return ` aria-current="page"`
	}
	return ""
}

// Style and Script are the addresses of the assets.
func (Layout) Style() string  { return Assets["attestry.css"].Address }
func (Layout) Script() string { return Assets["attestry.js"].Address }

// Render makes the page of a name.
func (t *Templates) Render(name string, shown Layout) ([]byte, error) {
	var content bytes.Buffer
	if err := t.pages[name].ExecuteTemplate(&content, "layout", shown); err != nil {
		return nil, fmt.Errorf("make the page %s: %w", name, err)
	}
	return breakWords(content.Bytes()), nil
}

//go:embed static
var staticFiles embed.FS

// assetsPath is where style and script are. No organization can have its name.
const assetsPath = "/-/assets/"

// Asset is a file that pages load.
type Asset struct {
	// Path is where it is, and Address that with a part of its checksum, so that browsers can keep it.
	Path, Address string
	ContentType   string
	Content       []byte
}

// Assets are the style and the script, by their file names.
var Assets = readAssets("attestry.css", "attestry.js")

func readAssets(names ...string) map[string]Asset {
	assets := map[string]Asset{}
	for _, name := range names {
		content, err := staticFiles.ReadFile("static/" + name)
		if err != nil {
			panic(err) // it was there when this was compiled
		}
		sum := sha256.Sum256(content)
		assets[name] = Asset{
			Path: assetsPath + name, Address: assetsPath + name + "?v=" + hex.EncodeToString(sum[:6]),
			ContentType: mime.TypeByExtension(path.Ext(name)), Content: content,
		}
	}
	return assets
}
