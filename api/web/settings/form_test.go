package settings

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"attestry/api/server"
	"attestry/api/web/form"
	"attestry/api/web/request"
)

// refusingAPI answers all queries with an error of this status.
type refusingAPI struct {
	request.API
	status int
}

func (a *refusingAPI) Ask(*fiber.Ctx, server.PageQuery) *server.PageAnswer {
	var response fasthttp.Response
	response.SetStatusCode(a.status)
	response.SetBodyString(`{"message":"no"}`)
	return &server.PageAnswer{Response: &response}
}

// open opens a page of an API.
func (a *refusingAPI) open(t *testing.T, show func(p *page)) {
	t.Helper()
	app := fiber.New()
	app.Get("/:org", func(c *fiber.Ctx) error {
		show(&page{Request: &request.Request{C: c, API: a}})
		return nil
	})
	answer, err := app.Test(httptest.NewRequest(http.MethodGet, "/acme", nil))
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("%v, %v", answer, err)
	}
}

// changeOf is a form that changes a thing.
func changeOf() *form.Form {
	text := &huma.Schema{Type: huma.TypeString}
	changed := form.New(server.Operation{
		Route: server.Route{Method: http.MethodPatch, Path: "/things/{thing}"}, Parameters: []*huma.Param{{Name: "thing", In: "path", Schema: text}},
		Body: &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {
			Schema: &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{"note": text}},
		}}},
	})
	changed.Fill(url.Values{"thing": {"a"}, "note": {""}})
	return changed
}

func TestOnlySomeRefusalsMeanThatNothingIsStored(t *testing.T) {
	for status, isError := range map[int]bool{
		http.StatusForbidden: false, http.StatusNotFound: false, http.StatusMethodNotAllowed: false,
		http.StatusTooManyRequests: true, http.StatusInternalServerError: true, http.StatusServiceUnavailable: true,
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			(&refusingAPI{status: status}).open(t, func(p *page) {
				answer, err := p.stored(changeOf())
				_, refused := errors.AsType[*request.Refusal](err)
				if answer != nil || refused != isError || err != nil && !isError {
					t.Errorf("stored is %v, %v", answer, err)
				}
			})
		})
	}
}
