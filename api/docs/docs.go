// Package docs is the page on which people read and try the API: Swagger UI, with
// all its files embedded, so that nothing is loaded from elsewhere.
package docs

import (
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

// interceptor changes what Swagger UI sends. The document names the base URL,
// while a reader may have come by another address of the same service: requests go
// to where the page came from, as those to other origins would be refused. And
// Swagger UI uses Basic credentials only with operations that declare them, while
// the service accepts them with all.
const interceptor = `function (request) {
				var url = new URL(request.url, window.location);
				request.url = window.location.origin + url.pathname + url.search;
				var basic = window.ui && window.ui.authSelectors.authorized().getIn(["basic", "value"]);
				if (basic && !request.headers.Authorization) {
					request.headers.Authorization = "Basic " + btoa(basic.get("username") + ":" + (basic.get("password") || ""));
				}
				return request;
			}`

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
	files, err := filesOf(html, pagePath)
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
