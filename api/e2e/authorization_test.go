package e2e_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"attestry/api/apitest"
	"attestry/api/apitest/openapi"
	"attestry/api/apitest/peers"
	"attestry/api/examples"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage/tenancy"
)

// leastRole returns the least role for an operation by the table of docs/semantics.md 2.2, or NoRole if any key is
// enough. It is written from that table, not from the routes.
func leastRole(method, path string) evidence.Role {
	under := func(prefix string) bool { return strings.HasPrefix(path, prefix) }
	reads := method == http.MethodGet
	switch {
	case !strings.Contains(path, "{org}"):
		return evidence.NoRole
	case under("/service-accounts/") && (!reads || strings.Contains(path, "/api-keys")):
		return evidence.Snapshotter
	case under("/organizations/{org}/invitations"):
		return evidence.Admin
	case reads, strings.HasSuffix(path, "/evaluate"), strings.Contains(path, "/audit_p"), strings.HasSuffix(path, "/bundle"), under("/user/"):
		return evidence.Reader
	case under("/environments/{org}/{env_name}/report/"), under("/admission/"), method == http.MethodPut && path == "/environments/{org}":
		return evidence.Snapshotter
	case under("/organizations/{org}/environments_notifications"):
		return evidence.Member
	case under("/controls/"), under("/organizations/"), under("/notification-config/"), path == "/environments/{org}/{env_name}/admission":
		return evidence.Admin
	}
	return evidence.Member
}

// onlyUsers reports whether an operation is refused to service accounts and tokens.
func onlyUsers(method, path string) bool {
	return strings.HasPrefix(path, "/user/") && path != "/user/default-org" || method == http.MethodPost && path == "/organizations"
}

// refusesTokens reports whether an operation changes who has access. It is then refused to tokens of identity
// providers, whatever their role.
func refusesTokens(method, path string) bool {
	return method != http.MethodGet && (strings.HasPrefix(path, "/service-accounts/") ||
		strings.HasPrefix(path, "/organizations/{org}/members/") || strings.HasPrefix(path, "/organizations/{org}/identity-providers/") ||
		strings.HasPrefix(path, "/organizations/{org}/invitations"))
}

// needsBeta reports whether an operation needs the beta features.
func needsBeta(path string) bool {
	return strings.HasPrefix(path, "/controls/") || strings.HasPrefix(path, "/membership-audit-log/")
}

// onlyMembers reports whether an operation is refused to non-members of a public organization.
func onlyMembers(path string) bool {
	return strings.HasPrefix(path, "/actions/") || strings.HasPrefix(path, "/notification-config/") || strings.Contains(path, "/environments_notifications")
}

// withoutKey reports whether other services call an operation, with a signed body instead of a key.
func withoutKey(path string) bool { return strings.HasPrefix(path, "/webhooks/") }

// openToAll reports whether an operation needs no key and ignores an invalid one.
func openToAll(path string) bool { return path == "/signing-key" }

// matrixCaller calls all operations with one key.
type matrixCaller struct {
	name, key string
	valid     bool // the key
	role      evidence.Role
	// public is set if the public organization is called, which has no beta features.
	public bool
	// user and token say whose key it is. If neither is set, it is that of a service account.
	user, token bool
}

// matrixCallers returns all callers, those with the fewest rights first.
func matrixCallers(s *apitest.Service) []matrixCaller {
	s.T.Helper()
	tenants := s.Process.Store.Tenancy
	ctx := s.T.Context()
	s.Must(tenants.CreateUser(ctx, "leaver", "", identity.Operator()))
	s.Must(tenants.CreateUser(ctx, "guest", "", identity.Operator()))
	if _, err := tenants.SetMember(ctx, s.Org, "leaver", evidence.Admin, identity.Operator()); err != nil {
		s.T.Fatal(err)
	}
	owner, err := tenants.UserKeys(ctx, "leaver")
	s.Must(err)
	_, ofLeaver, err := tenants.IssueKey(ctx, owner, identity.Operator(), tenancy.NewKey{Description: "left"})
	s.Must(err)
	revoked, revokedSecret, err := tenants.IssueKey(ctx, owner, identity.Operator(), tenancy.NewKey{Description: "revoked"})
	s.Must(err)
	s.Must(tenants.RevokeKey(ctx, owner, identity.Operator(), revoked.ID))
	s.Must(tenants.RemoveUser(ctx, "leaver", identity.Operator()))
	callers := []matrixCaller{
		{name: "no key"},
		{name: "malformed", key: "Basic Basic"},
		{name: "unknown key", key: evidence.NewAPIKey().Reveal()},
		{name: "expired key", key: apitest.ExpiredKey},
		{name: "revoked key", key: revokedSecret.Reveal()},
		{name: "removed user", key: ofLeaver.Reveal()},
		{name: "stranger", key: apitest.StrangerKey, valid: true, user: true},
		{name: "account elsewhere", key: s.AccountKey(s.Public, "robot", evidence.Admin), valid: true},
		{name: "stranger, public", key: apitest.StrangerKey, valid: true, user: true, role: evidence.Reader, public: true},
	}
	forge := peers.NewIssuer(s.T)
	callers = append(callers,
		matrixCaller{name: "expired token", key: forge.Token(s.T, map[string]any{"exp": 1})},
		matrixCaller{name: "token without a role", key: forge.Token(s.T, nil)},
		matrixCaller{name: "token for another audience", key: forge.Token(s.T, map[string]any{"aud": "elsewhere", "role": "admin"})},
		matrixCaller{name: "key in the form of a token", key: declareToken(s, "member", forge), valid: true, user: true, role: evidence.Member},
		matrixCaller{name: "token of a stranger", key: peers.NewIssuer(s.T).Token(s.T, map[string]any{"role": "admin"})})
	for i, key := range []string{apitest.ReaderKey, apitest.SnapshotterKey, apitest.MemberKey, apitest.AdminKey} {
		role := evidence.Reader + evidence.Role(i)
		peers.Trust(s, role.String(), forge, `claims.role == "`+role.String()+`"`, role.String())
		callers = append(callers,
			matrixCaller{name: "token, " + role.String(), key: forge.Token(s.T, map[string]any{"role": role.String()}), valid: true, role: role, token: true},
			matrixCaller{name: "account, " + role.String(), key: s.AccountKey(s.Org, "robot-"+role.String(), role), valid: true, role: role},
			matrixCaller{name: role.String(), key: key, valid: true, user: true, role: role})
	}
	return callers
}

// declareToken makes a token of an issuer a key of a user, and returns the token.
func declareToken(s *apitest.Service, user string, from *peers.Issuer) string {
	s.T.Helper()
	token := from.Token(s.T, map[string]any{"role": "admin"})
	_, err := s.Process.Store.Tenancy.ApplyBootstrap(s.T.Context(), identity.Bootstrap{Users: []identity.DeclaredUser{{
		Name: user, Keys: []identity.DeclaredKey{{Secret: evidence.Secret(token), Description: "older"}},
	}}})
	s.Must(err)
	return token
}

// want returns the status that the table gives a caller, or 0 for any other than 401 and 403.
func (c matrixCaller) want(method, path string) int {
	least := leastRole(method, path)
	switch {
	case openToAll(path):
		return 0
	case withoutKey(path), !c.valid, c.token && !strings.Contains(path, "{org}"):
		return http.StatusUnauthorized
	case least != evidence.NoRole && !c.role.Allows(least), onlyUsers(method, path) && !c.user,
		refusesTokens(method, path) && c.token, c.public && (needsBeta(path) || onlyMembers(path)):
		return http.StatusForbidden
	}
	return 0
}

// callExample sends the example of an operation as a caller. If it is about a service account, the caller first creates
// one of its own, if its role allows that.
func (p *examplePlayer) callExample(caller matrixCaller, example examples.Example) apitest.Answer {
	p.T.Helper()
	example.Parameters = maps.Clone(example.Parameters)
	quoted := func(text string) json.RawMessage { return json.RawMessage(apitest.QuoteJSON(text)) }
	if _, ok := example.Parameters["org"]; ok {
		org := p.Org
		if caller.public {
			org = p.Public
		}
		example.Parameters["org"] = quoted(org)
	}
	if _, ok := example.Parameters["user"]; ok {
		example.Parameters["user"] = quoted("guest") // not a caller
	}
	if example.Operation == "create_service_account" {
		example.Request = json.RawMessage(`{"name":"nobody","privilege":"reader"}`) // the least privilege
	}
	method, path := p.addressOf(example)
	if strings.Contains(path, "/service-accounts/"+p.Org+"/") {
		own := "of-" + strings.ReplaceAll(caller.name, ", ", "-")
		path = strings.Replace(path, "/ci", "/"+own, 1)
		if caller.role.Allows(evidence.Snapshotter) {
			p.Do(http.MethodPost, "/api/v2/service-accounts/"+p.Org, caller.key, []byte(`{"name":"`+own+`"}`))
		}
	}
	if withoutKey(strings.TrimPrefix(path, "/api/v2")) {
		kind, _, _ := strings.Cut(strings.TrimPrefix(path, "/api/v2/webhooks/"), "/")
		return p.Do(method, "/api/v2/webhooks/"+kind+"/"+p.HookUID(kind).Reveal(), caller.key, example.Request)
	}
	return p.request(method, path, caller.key, example.Request)
}

// TestAuthorizationMatrix calls every operation as every caller and compares the statuses with the table of
// docs/semantics.md 2.2. With -v it prints them.
func TestAuthorizationMatrix(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Settings: []string{"ATTESTRY_FAILED_KEY_LIMIT=0"}})
	written, err := examples.All()
	s.Must(err)
	player := &examplePlayer{Service: s}
	callers := matrixCallers(s)
	var printed strings.Builder
	table := tabwriter.NewWriter(&printed, 0, 0, 2, ' ', 0)
	names := []string{"operation", "least role"}
	for _, caller := range callers {
		names = append(names, caller.name)
	}
	fmt.Fprintln(table, strings.Join(names, "\t"))
	operations := slices.SortedFunc(slices.Values(s.API.Operations), func(a, b openapi.Operation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	for _, operation := range operations {
		id := operation.Content["operationId"].(string)
		if documented := operation.Content["security"]; documented == nil && !withoutKey(operation.Path) && !openToAll(operation.Path) {
			t.Errorf("%s needs no key", id)
		}
		example, ok := written[id]
		if !ok {
			t.Errorf("%s has no example", id)
			continue
		}
		row := []string{id, leastRole(operation.Method, operation.Path).String()}
		for _, caller := range callers {
			got := player.callExample(caller, example)
			row = append(row, fmt.Sprint(got.Status))
			refused := got.Status == http.StatusUnauthorized || got.Status == http.StatusForbidden
			if want := caller.want(operation.Method, operation.Path); want != got.Status && (want != 0 || refused) {
				t.Errorf("%s (%s %s) as %s: status %d, want %s: %s", id, operation.Method, operation.Path, caller.name, got.Status,
					cmp.Or(map[int]string{0: "neither 401 nor 403"}[want], fmt.Sprint(want)), got.Body)
			}
		}
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	s.Must(table.Flush())
	t.Log("the statuses that callers get:\n" + printed.String())
	if len(operations) < 130 {
		t.Errorf("the document has %d operations", len(operations))
	}
}

// TestAuthorizationHidesOtherOrganizations calls all operations as a stranger and as a service account of another
// organization. For existing and for unknown names, answers differ only in the address and take as many commands.
func TestAuthorizationHidesOtherOrganizations(t *testing.T) {
	t.Parallel()
	s, counting := apitest.StartCounting(t, apitest.Options{WithoutWorker: true, ReportWait: time.Millisecond, StoppedAt: apitest.NoonOf30March})
	written, err := examples.All()
	s.Must(err)
	player := &examplePlayer{Service: s}
	for _, operation := range []string{"create_flow_with_template", "create_trail", "create_artifact", "create_env", "post_control", "put_policy", "create_service_account", "put_identity_provider"} {
		if got := player.callExample(matrixCaller{key: apitest.AdminKey, role: evidence.Admin}, written[operation]); got.Status != http.StatusCreated {
			t.Fatalf("%s: status %d: %s", operation, got.Status, got.Body)
		}
	}
	callers := map[string]string{"stranger": apitest.StrangerKey, "account elsewhere": s.AccountKey(s.Public, "robot", evidence.Admin)}
	for caller, key := range callers {
		s.Do(http.MethodGet, "/api/v2/user/default-org", key, nil) // caches the key
		for _, operation := range s.API.Operations {
			id := operation.Content["operationId"].(string)
			example := written[id]
			if example.Parameters["org"] == nil {
				continue
			}
			commands := map[string]int{}
			bodies := map[string]string{}
			for name, change := range map[string]func(map[string]json.RawMessage){
				"existing": func(map[string]json.RawMessage) {},
				"unknown": func(parameters map[string]json.RawMessage) {
					for parameter := range parameters {
						if strings.Contains(operation.Path, "{"+parameter+"}") && parameter != "org" {
							parameters[parameter] = json.RawMessage(`"nothing"`)
						}
					}
				},
				"no organization": func(parameters map[string]json.RawMessage) { parameters["org"] = json.RawMessage(`"nowhere"`) },
			} {
				changed := example
				changed.Parameters = maps.Clone(example.Parameters)
				change(changed.Parameters)
				method, path := player.addressOf(changed)
				var got apitest.Answer
				commands[name] = apitest.FewestCommands(counting, func() { got = player.request(method, path, key, changed.Request) })
				address, _, _ := strings.Cut(path, "?")
				bodies[name] = fmt.Sprint(got.Status, " ", strings.ReplaceAll(string(got.Body), address, "<address>"))
			}
			apitest.EqualList(t, slices.Compact(slices.Sorted(maps.Values(bodies))),
				[]string{`403 {"message":"Access denied to <address>"}`}, id, caller, bodies)
			apitest.Equal(t, len(slices.Compact(slices.Sorted(maps.Values(commands)))), 1, id, caller, commands)
		}
	}
}
