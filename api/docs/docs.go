// Package docs makes the documentation page of the API: Swagger UI with all its files embedded, so that nothing is
// loaded from other hosts.
package docs

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for interceptor
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"strings"

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

// interceptor changes the requests of Swagger UI.
//
//go:embed interceptor.js
var interceptor string

// Page is the documentation page with the files that it loads.
type Page struct {
	HTML []byte
	// Policy is the Content-Security-Policy of the page.
	Policy string
	Files  []File
}

// New makes the page for the OpenAPI document at a path. The page is served at pagePath, and its files below.
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

// render returns the page of Swagger UI, which is the same for every request.
func render(config swgui.Config) ([]byte, error) {
	request, err := http.NewRequest(http.MethodGet, config.BasePath, nil)
	if err != nil {
		return nil, err
	}
	var written recorder
	v5emb.NewHandlerWithConfig(config).ServeHTTP(&written, request)
	if written.failure != 0 {
		return nil, fmt.Errorf("status %d: %s", written.failure, written.String())
	}
	return written.Bytes(), nil
}

// recorder is an http.ResponseWriter that keeps the response.
type recorder struct {
	bytes.Buffer
	failure int // the status if it was set, which only failures do
}

func (*recorder) Header() http.Header      { return http.Header{} }
func (r *recorder) WriteHeader(status int) { r.failure = status }

var (
	inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)
	inlineStyle  = regexp.MustCompile(`(?s)<style>(.*?)</style>`)
)

// policy allows files and requests of the page's origin, and its inline scripts and styles by their hashes.
func policy(html []byte) string {
	return strings.Join([]string{
		"default-src 'none'",
		"script-src 'self'" + hashes(inlineScript, html),
		"style-src 'self'" + hashes(inlineStyle, html),
		// The style sheet holds its icons as data.
		"img-src 'self' data:",
		"connect-src 'self'",
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
	}, "; ")
}

func hashes(inline *regexp.Regexp, html []byte) string {
	var b strings.Builder
	for _, match := range inline.FindAllSubmatch(html, -1) {
		sum := sha256.Sum256(match[1])
		b.WriteString(" 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'")
	}
	return b.String()
}
