// Package docs is the page on which people read and try the API: Swagger UI, with
// all its files embedded, so that nothing is loaded from elsewhere.
package docs

import (
	_ "embed" // for interceptor
	"fmt"
	"net/http"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"
)

// settings of Swagger UI, as JavaScript.
var settings = map[string]string{
	"defaultModelsExpandDepth": "0",
	"docExpansion":             "'none'",
	"filter":                   "true",
	"tagsSorter":               "'alpha'",
	"tryItOutEnabled":          "true",
	"requestInterceptor":       interceptor,
}

// interceptor changes what Swagger UI sends.
//
//go:embed interceptor.js
var interceptor string

// Page is the documentation page with the files that it loads.
type Page struct {
	HTML []byte
	// Policy is the Content-Security-Policy under which the page works.
	Policy string
	Files  []File
}

// New makes the page that shows the OpenAPI document served at the path document.
// The page is to be served at pagePath and its files below.
func New(title, document, pagePath string) (Page, error) {
	html, err := render(swgui.Config{Title: title, SwaggerJSON: document, BasePath: pagePath, SettingsUI: settings})
	if err != nil {
		return Page{}, fmt.Errorf("render the documentation: %w", err)
	}
	files, err := openFiles(html, pagePath)
	if err != nil {
		return Page{}, fmt.Errorf("open the files of the documentation: %w", err)
	}
	return Page{HTML: html, Policy: policy(html), Files: files}, nil
}

// render has Swagger UI write its page, which is the same for every request.
func render(config swgui.Config) ([]byte, error) {
	request, err := http.NewRequest(http.MethodGet, config.BasePath, nil)
	if err != nil {
		return nil, err
	}
	written := &recorder{header: http.Header{}, status: http.StatusOK}
	v5emb.NewHandlerWithConfig(config).ServeHTTP(written, request)
	if written.status != http.StatusOK {
		return nil, fmt.Errorf("status %d: %s", written.status, written.body.String())
	}
	return written.body.Bytes(), nil
}
