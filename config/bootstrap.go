package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"attestry/evidence"
	"attestry/evidence/identity"
)

const (
	// maxBootstrapBytes is enough for thousands of users.
	maxBootstrapBytes = 1 << 20
	// defaultKeyDescription is the description of a key for which the file has none.
	defaultKeyDescription = "bootstrap"
)

// ParseBootstrap parses the bootstrap file called name. It refuses unknown keys, anchors and aliases. Its error is
// Faults of the form "file:line: reason": all faults, or one if the file is too long, not UTF-8 or not YAML.
func ParseBootstrap(name string, data []byte) (identity.Bootstrap, error) {
	if len(data) > maxBootstrapBytes {
		return identity.Bootstrap{}, Faults{fmt.Sprintf("%s: is longer than 1 MiB", name)}
	}
	// The parser would replace an invalid byte by U+FFFD, which would change a key.
	if line := invalidUTF8Line(data); line > 0 {
		return identity.Bootstrap{}, Faults{fmt.Sprintf("%s:%d: is not UTF-8", name, line)}
	}
	docs, err := loadYAML(data)
	if err != nil {
		return identity.Bootstrap{}, Faults{syntaxFault(name, err)}
	}
	r := bootstrapReader{
		yamlReader: yamlReader{file: name},
		lines:      map[string]int{},
		secrets:    map[evidence.Secret]int{},
		hooks:      map[evidence.Secret]int{},
	}
	declared := r.documents(docs)
	return declared, r.err()
}

// invalidUTF8Line returns the number of the first line that is not UTF-8, or 0.
func invalidUTF8Line(data []byte) int {
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if !utf8.Valid(line) {
			return number
		}
	}
	return 0
}

func loadYAML(data []byte) (docs []*yaml.Node, err error) {
	// The library panics on its own bugs.
	defer func() {
		if recover() != nil {
			docs, err = nil, errors.New("the file cannot be parsed")
		}
	}()
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("make a YAML loader: %w", err)
	}
	for {
		var doc yaml.Node
		switch err := loader.Load(&doc); {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return nil, err
		}
		docs = append(docs, doc.Content[0])
	}
}

// syntaxFault omits the text that the library quotes: it may be a key.
func syntaxFault(name string, err error) string {
	var fault *yaml.LoadError
	if !errors.As(err, &fault) {
		return name + ": is not YAML"
	}
	return fmt.Sprintf("%s:%d: is not YAML: %s", name, max(fault.Mark.Line, 1), quotedText.ReplaceAllString(fault.Message, ""))
}

// quotedText matches text of the file in a message: a quotation of more than one character.
var quotedText = regexp.MustCompile(`(?s) ['"][^'"]{2,}['"]`)

type bootstrapReader struct {
	yamlReader
	lines   map[string]int          // the line of each user and organization
	secrets map[evidence.Secret]int // the line of each key
	hooks   map[evidence.Secret]int // the line of each webhook's uid
	users   map[string]bool         // false for an absent user
}

func (r *bootstrapReader) documents(docs []*yaml.Node) identity.Bootstrap {
	docs = slices.DeleteFunc(docs, isAbsent)
	if len(docs) == 0 {
		return identity.Bootstrap{}
	}
	declared := r.bootstrap(docs[0])
	for _, doc := range docs[1:] {
		r.fault(doc, "a second document: there can be only one")
	}
	return declared
}

func (r *bootstrapReader) bootstrap(node *yaml.Node) identity.Bootstrap {
	var declared identity.Bootstrap
	fields := r.mapping(node, "users", "organizations")
	for _, item := range r.sequence(fields["users"]) {
		declared.Users = append(declared.Users, r.user(item))
	}
	r.users = map[string]bool{}
	for _, user := range declared.Users {
		r.users[user.Name] = !user.Absent
	}
	for _, item := range r.sequence(fields["organizations"]) {
		declared.Organizations = append(declared.Organizations, r.organization(item))
	}
	return declared
}

func (r *bootstrapReader) user(node *yaml.Node) identity.DeclaredUser {
	fields := r.mapping(node, "name", "email", "beta", "api_keys", "state")
	if fields == nil {
		return identity.DeclaredUser{}
	}
	user := identity.DeclaredUser{
		Name:   r.name(node, fields["name"], "user"),
		Email:  r.email(fields["email"]),
		Beta:   r.beta(fields["beta"]),
		Absent: r.absent(fields["state"]),
	}
	if user.Absent && len(fields) > 2 {
		r.fault(node, "an absent user can have only a name")
	}
	described := map[string]bool{} // keys without a secret, which the service generates, by their descriptions
	for _, item := range r.sequence(fields["api_keys"]) {
		faults := len(r.faults)
		key := r.key(item)
		if key.Secret == "" && len(r.faults) == faults {
			if described[key.Description] {
				r.fault(item, "another key without a secret has this description: give each its own")
			}
			described[key.Description] = true
		}
		user.Keys = append(user.Keys, key)
	}
	return user
}

func (r *bootstrapReader) email(node *yaml.Node) string {
	email, ok := r.text(node)
	if err := evidence.CheckEmail(email); ok && err != nil {
		r.fault(node, "%v", err)
	}
	return email
}

func (r *bootstrapReader) key(node *yaml.Node) identity.DeclaredKey {
	fields := r.mapping(node, "key", "description", "expires_at", "state")
	return identity.DeclaredKey{
		Absent:      r.absent(fields["state"]),
		Secret:      r.secret(fields["key"]),
		Description: r.description(fields["description"]),
		ExpiresAt:   r.integer(fields["expires_at"], evidence.MaxKeyExpiry),
	}
}

func (r *bootstrapReader) description(node *yaml.Node) string {
	description, ok := r.text(node)
	if !ok {
		return defaultKeyDescription
	}
	if n := utf8.RuneCountInString(description); n < 1 || n > evidence.MaxKeyDescription {
		r.fault(node, "description must have 1 to %d characters", evidence.MaxKeyDescription)
	}
	return description
}

func (r *bootstrapReader) secret(node *yaml.Node) evidence.Secret {
	text, ok := r.text(node)
	if !ok {
		return ""
	}
	secret := evidence.Secret(text)
	line, known := r.secrets[secret]
	switch {
	case utf8.RuneCountInString(text) < evidence.MinKeyLength:
		r.fault(node, "key must have at least %d characters", evidence.MinKeyLength)
	case len(text) > evidence.MaxKeyLength:
		r.fault(node, "key is longer than %d bytes", evidence.MaxKeyLength)
	case strings.ContainsFunc(text, unicode.IsControl) || strings.TrimSpace(text) != text:
		r.fault(node, "key must hold no control characters and neither begin nor end with a blank")
	case evidence.MistypedAPIKey(text):
		r.fault(node, "key looks like one of ours, but its checksum is wrong: is it mistyped?")
	case known:
		r.fault(node, "key is that of line %d: each can be given only once", line)
	default:
		r.secrets[secret] = lineOf(node)
	}
	return secret
}

func (r *bootstrapReader) organization(node *yaml.Node) identity.DeclaredOrganization {
	fields := r.mapping(node, "name", "members", "beta", "public", "webhooks")
	if fields == nil {
		return identity.DeclaredOrganization{}
	}
	org := identity.DeclaredOrganization{
		Name:    r.name(node, fields["name"], "organization"),
		Members: map[string]evidence.Role{},
		Beta:    r.beta(fields["beta"]),
	}
	members, _ := r.entries(fields["members"])
	for _, one := range members {
		r.member(one, &org)
	}
	if fields["public"] != nil {
		org.Public = r.boolean(fields["public"])
	}
	for _, item := range r.sequence(fields["webhooks"]) {
		org.Hooks = append(org.Hooks, r.hook(item))
	}
	return org
}

// beta reads the setting of the beta features, nil if the file does not have it.
func (r *bootstrapReader) beta(node *yaml.Node) *bool {
	if node == nil {
		return nil
	}
	return new(r.boolean(node))
}

// member reads a member: a role, or a mapping with the state absent, which removes the member.
func (r *bootstrapReader) member(one entry, org *identity.DeclaredOrganization) {
	name := one.key.Value
	if _, twice := org.Members[name]; twice || slices.Contains(org.AbsentMembers, name) {
		r.fault(one.key, "a member is given twice")
		return
	}
	if one.value.Kind == yaml.MappingNode {
		if fields := r.mapping(one.value, "state"); !r.absent(fields["state"]) {
			r.fault(one.value, "member must be a role, or a mapping with the state absent")
		}
		org.AbsentMembers = append(org.AbsentMembers, name)
		return
	}
	if !r.users[name] {
		r.fault(one.key, "a member must be declared under users")
	}
	text, ok := r.text(one.value)
	role, err := evidence.ParseRole(text)
	if ok && err != nil {
		r.fault(one.value, "role must be admin, member, snapshotter or reader")
	}
	org.Members[name] = role
}

// absent reports whether the state is absent, which removes the user, the member or the key.
func (r *bootstrapReader) absent(node *yaml.Node) bool {
	state, ok := r.text(node)
	if ok && state != "absent" {
		r.fault(node, "state must be absent")
	}
	return state == "absent"
}

// name reads the required name of a user or an organization, which share a namespace.
func (r *bootstrapReader) name(parent, node *yaml.Node, kind string) string {
	if node == nil {
		r.fault(parent, "%s lacks a name", kind)
		return ""
	}
	name, ok := r.text(node)
	if !ok {
		return ""
	}
	if err := evidence.CheckOrganizationName(name); err != nil {
		r.fault(node, "%v", err)
		return name
	}
	if line, taken := r.lines[name]; taken {
		r.fault(node, "name is taken in line %d already; a user's organization has the user's name", line)
		return name
	}
	r.lines[name] = lineOf(node)
	return name
}
