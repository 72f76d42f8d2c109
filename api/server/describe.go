package server

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"attestry/evidence"
)

// about is the description of the whole API, in Markdown.
const about = "Evidence of software delivery: what was built, what was found out about it, and what runs where.\n\n" +
	"**Authentication.** Every operation needs an API key: as `Authorization: Bearer KEY`, or by HTTP Basic with the key as the user name " +
	"and any password. Whoever runs the service gives out keys: its bootstrap file declares them. A key that is missing, unknown or expired " +
	"is answered 401.\n\n" +
	"**Authorization.** A user has a role in each organization: `reader`, `snapshotter` (reports what runs), `member` (records and configures) " +
	"or `admin`; each may do what those before it may. The description of an operation names the least role. A lower one is answered 403, and " +
	"so is an organization that is unknown or that the user may not see. A public organization can be read with any valid key.\n\n" +
	"**Limits.** The service may limit the requests of each key and to each organization. Answers then have the headers `RateLimit-Limit`, " +
	"`RateLimit-Remaining` and `RateLimit-Reset` (in seconds). A request beyond a limit is answered 429 with `Retry-After`, and so are those with " +
	"keys that were not used before, once their address has sent too many invalid ones.\n\n" +
	"**Errors** have a `message` and, when what was sent is not valid, `errors` by the place of each fault. " +
	"The header `X-Request-ID` of an answer names the request in the log of the service."

// describeUse says who may call the operation, and shows an example of it.
func (s *Server) describeUse(op *huma.Operation, route Route) {
	op.Description = route.access()
	example, ok := s.examples[route.OperationID]
	if !ok {
		return
	}
	for _, parameter := range op.Parameters {
		if value, ok := example.Parameters[parameter.Name]; ok {
			parameter.Example = value
		}
	}
	if op.RequestBody != nil {
		showExample(op.RequestBody.Content, example.Request)
		s.showParts(op.RequestBody, example.Request)
	}
	for _, status := range route.statuses() {
		response := op.Responses[strconv.Itoa(status)]
		if example.Media != "" {
			response.Content = map[string]*huma.MediaType{example.Media: {Schema: &huma.Schema{Type: huma.TypeString}}}
		}
		showExample(response.Content, example.Answer)
	}
}

func showExample(content map[string]*huma.MediaType, example json.RawMessage) {
	for _, media := range content {
		media.Example = example
	}
}

// showParts shows the parts of a form on their own as well: Swagger UI fills in
// forms from the schemas of their parts.
func (s *Server) showParts(body *huma.RequestBody, example json.RawMessage) {
	form, ok := body.Content["multipart/form-data"]
	var parts map[string]json.RawMessage
	if !ok || json.Unmarshal(example, &parts) != nil {
		return
	}
	described := s.registry.SchemaFromRef(form.Schema.Ref).Properties
	for name, part := range parts {
		described[name].Examples = []any{part}
	}
}

// access says who may call the operation.
func (r Route) access() string {
	switch {
	case r.Signed:
		return "Needs no API key, but a signature with the secret of the webhook."
	case r.Public:
		return "Needs no API key."
	case !r.ofOrganization():
		return "Needs any valid API key."
	case r.RefuseTokens:
		return fmt.Sprintf("Needs the role `%s` or above in the organization, and an API key: tokens of identity providers are refused.", r.MinRole)
	case r.MinRole == evidence.Reader:
		return "Needs the role `reader` or above in the organization; if that is public, any valid API key."
	case r.MinRole == evidence.Admin:
		return "Needs the role `admin` in the organization."
	default:
		return fmt.Sprintf("Needs the role `%s` or above in the organization.", r.MinRole)
	}
}
