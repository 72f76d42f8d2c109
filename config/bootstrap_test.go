package config_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"attestry/config"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/identity"
)

const goodBootstrap = `
users:
  - name: first-user
    email: first-user@example.com
    api_keys:
      - key: any-string-of-at-least-16-characters
        description: laptop
        expires_at: 0
      - description: pipeline
        expires_at: 4102444800
      - {}
  - name: "2nd"
    beta: false
organizations:
  - name: acme
    members: {first-user: admin, 2nd: reader}
    beta: true
    public: false
    webhooks:
      - kind: sonar
        uid: uid-of-the-sonar-hook
        secret: secret of the sonar hook
        flow_prefix: sonar.
        flow_suffix: -ci
      - {kind: launch-darkly, uid: 0123456789_abcdef-, secret: "*** another secret ***"}
  - name: open
    public: true
`

func TestParseBootstrapReadsAbsentStates(t *testing.T) {
	got, err := config.ParseBootstrap("bootstrap.yaml", []byte(`
users:
  - {name: anna, state: absent}
  - name: bert
    api_keys:
      - {description: laptop, state: absent}
      - {key: any-string-of-at-least-16-characters, state: absent}
organizations:
  - name: acme
    members: {bert: admin, carl: {state: absent}}
`))
	evidencetest.Must(t, err)
	want := identity.Bootstrap{
		Users: []identity.DeclaredUser{
			{Name: "anna", Absent: true},
			{Name: "bert", Keys: []identity.DeclaredKey{
				{Description: "laptop", Absent: true},
				{Secret: "any-string-of-at-least-16-characters", Description: "bootstrap", Absent: true},
			}},
		},
		Organizations: []identity.DeclaredOrganization{
			{Name: "acme", Members: map[string]evidence.Role{"bert": evidence.Admin}, AbsentMembers: []string{"carl"}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
}

func TestParseBootstrapRefusesInvalidAbsentStates(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"another state":           {"users:\n  - {name: anna, state: gone}", "2: state must be absent"},
		"a state that is no text": {"users:\n  - {name: anna, state: true}", "2: must be a text; numbers and words such as true or null need quotes"},
		"keys of an absent user":  {"users:\n  - {name: anna, state: absent, email: a@example.com}", "2: an absent user can have only a name"},
		"an absent user as member": {"users:\n  - {name: anna, state: absent}\norganizations:\n  - {name: acme, members: {anna: admin}}",
			"4: a member must be declared under users"},
		"a member without a state": {"organizations:\n  - {name: acme, members: {anna: {}}}", "2: member must be a role, or a mapping with the state absent"},
		"a member twice":           {"organizations:\n  - name: acme\n    members:\n      anna: {state: absent}\n      anna: {state: absent}", "5: a member is given twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.ParseBootstrap("file", []byte(c.file))
			if err == nil || err.Error() != "file:"+c.want {
				t.Errorf("got %v, want file:%s", err, c.want)
			}
		})
	}
}

func TestParseBootstrapReadsTheWholeForm(t *testing.T) {
	got, err := config.ParseBootstrap("bootstrap.yaml", []byte(goodBootstrap))
	evidencetest.Must(t, err)
	yes := true
	want := identity.Bootstrap{
		Users: []identity.DeclaredUser{
			{Name: "first-user", Email: "first-user@example.com", Keys: []identity.DeclaredKey{
				{Secret: "any-string-of-at-least-16-characters", Description: "laptop"},
				{Description: "pipeline", ExpiresAt: 4102444800},
				{Description: "bootstrap"},
			}},
			{Name: "2nd", Beta: new(false)},
		},
		Organizations: []identity.DeclaredOrganization{
			{Name: "acme", Members: map[string]evidence.Role{"first-user": evidence.Admin, "2nd": evidence.Reader}, Beta: &yes, Hooks: []identity.DeclaredHook{
				{Kind: identity.SonarHook, UID: "uid-of-the-sonar-hook", Secret: "secret of the sonar hook", FlowPrefix: "sonar.", FlowSuffix: "-ci"},
				{Kind: identity.LaunchDarklyHook, UID: "0123456789_abcdef-", Secret: "*** another secret ***"},
			}},
			{Name: "open", Members: map[string]evidence.Role{}, Public: true},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestParseBootstrapAcceptsAnEmptyFile(t *testing.T) {
	for _, text := range []string{"", "# nothing yet\n", "users:\norganizations: []\n", "---\n"} {
		got, err := config.ParseBootstrap("b.yaml", []byte(text))
		if err != nil || len(got.Users)+len(got.Organizations) != 0 {
			t.Errorf("%q gives %+v, %v", text, got, err)
		}
	}
}

// wantFaults parses a file and checks how its faults begin.
func wantFaults(t *testing.T, text string, want ...string) error {
	t.Helper()
	_, err := config.ParseBootstrap("b.yaml", []byte(text))
	var faults config.Faults
	if !errors.As(err, &faults) || len(faults) != len(want) {
		t.Fatalf("%d faults, want %d:\n%v", len(faults), len(want), err)
	}
	for i, start := range want {
		if !strings.HasPrefix(faults[i], start) {
			t.Errorf("got %q, want %q", faults[i], start)
		}
	}
	return err
}

func TestParseBootstrapListsEveryFaultWithItsLine(t *testing.T) {
	text := `users:
  - name: anna
    email: not an address
    nickname: a
    api_keys:
      - key: too-short
      - key: the-very-same-key-twice
        expires_at: -1
      - key: the-very-same-key-twice
        expires_at: 4102444801
      - description: ""
      - description: same
      - description: same
      - key: 1234567890123456789
      - key: att_0000000000000000000000000000000000000000000000000
      - a-secret-in-a-wrong-place
      - a-secret-as-a-key-of-it: laptop
  - name: anna
  - name: bad name
  - email: nobody@example.com
organizations:
  - name: anna
  - name: default-org
  - name: acme
    name: acme
    members:
      anna: owner
      bert: admin
      anna: admin
    beta: sometimes
    public: 1
  - 7
teams: []
`
	err := wantFaults(t, text,
		`b.yaml:3: email`,
		`b.yaml:4: unknown key "nickname"`,
		`b.yaml:6: key must have at least 16`,
		`b.yaml:8: must be a whole number between 0 and 4102444800`,
		`b.yaml:9: key is that of line 7`,
		`b.yaml:10: must be a whole number`,
		`b.yaml:11: description must have`,
		`b.yaml:13: another key without a secret`,
		`b.yaml:14: must be a text`,
		`b.yaml:15: key looks like one of ours`,
		`b.yaml:16: must be a mapping`,
		`b.yaml:17: unknown key: there are`,
		`b.yaml:18: name is taken in line 2`,
		`b.yaml:19: name must begin`,
		`b.yaml:20: user lacks a name`,
		`b.yaml:22: name is taken in line 2`,
		`b.yaml:23: name is reserved`,
		`b.yaml:25: the key name is given twice`,
		`b.yaml:27: role must be`,
		`b.yaml:28: a member must be declared`,
		`b.yaml:29: a member is given twice`,
		`b.yaml:30: must be true or false`,
		`b.yaml:31: must be true or false`,
		`b.yaml:32: must be a mapping`,
		`b.yaml:33: unknown key "teams"`,
	)
	for _, key := range []string{"very-same", "a-secret", "too-short"} {
		if strings.Contains(err.Error(), key) {
			t.Errorf("%s shows in:\n%s", key, err)
		}
	}
}

func TestParseBootstrapListsEveryFaultOfWebhooks(t *testing.T) {
	text := `organizations:
  - name: acme
    webhooks:
      - {}
      - {kind: github, uid: too-short, secret: 1234567890123456789}
      - {kind: sonar, uid: "uid/of-the-sonar-hook", secret: "secret-with-a\nnew-line"}
      - {kind: sonar, uid: uid-of-a-webhook, secret: the-secret-of-all}
      - {kind: launch-darkly, uid: uid-of-a-webhook, secret: the-secret-of-all, flow_prefix: x}
      - {kind: sonar, uid: uid-of-webhook-2, secret: the-secret-of-all, flow_suffix: "a b"}
      - the-secret-of-all
      - {the-secret-of-all: sonar}
`
	err := wantFaults(t, text,
		"b.yaml:4: webhook lacks a kind", "b.yaml:4: webhook lacks a uid", "b.yaml:4: webhook lacks a secret",
		"b.yaml:5: kind must be sonar or launch-darkly", "b.yaml:5: must have 16 to 128 bytes", "b.yaml:5: must be a text",
		"b.yaml:6: uid must hold only letters", "b.yaml:6: must hold no control characters",
		"b.yaml:8: uid is that of line 7", "b.yaml:8: flow_prefix and flow_suffix are only for",
		"b.yaml:9: must have at most 64 letters",
		"b.yaml:10: must be a mapping",
		"b.yaml:11: unknown key: there are", "b.yaml:11: webhook lacks a kind", "b.yaml:11: webhook lacks a uid", "b.yaml:11: webhook lacks a secret",
	)
	for _, secret := range []string{"the-secret", "secret-with", "uid-of", "uid/of"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s shows in:\n%s", secret, err)
		}
	}
}

func TestParseBootstrapHidesSecretsInBrokenYAML(t *testing.T) {
	broken := []string{
		"users:\n  - name: a\n    api_keys:\n      - key: \"open-sesame-open-sesame\n",
		"users:\n - name: a\n  api_keys: [open-sesame-open-sesame\n",
		"key: open-sesame-open-sesame\n  other: x\n",
		"{open-sesame-open-sesame: 1, open-sesame-open-sesame: 2}",
		"open-sesame-open-sesame",
		"\topen-sesame-open-sesame: [",
		"users: &open-sesame-open-sesame []\norganizations: *open-sesame-open-sesame\n",
		"users: []\n---\nopen-sesame-open-sesame\n",
		"users:\n  <<: open-sesame-open-sesame\n",
		"%YAML open-sesame-open-sesame\n---\nusers: []\n",
	}
	for _, text := range broken {
		_, err := config.ParseBootstrap("b.yaml", []byte(text))
		if err == nil {
			t.Errorf("%q is accepted", text)
			continue
		}
		if !strings.HasPrefix(err.Error(), "b.yaml:") {
			t.Errorf("%q: the fault does not begin with the file: %v", text, err)
		}
		if strings.Contains(err.Error(), "sesame") {
			t.Errorf("the key shows in: %v", err)
		}
	}
}

func TestParseBootstrapRefusesKeysThatNoClientCouldSend(t *testing.T) {
	for _, key := range []string{
		`"sixteen-or-more\nand a new line"`, `" sixteen-or-more-with-a-blank"`, "sixteen-or-more-\xff\xfe", strings.Repeat("k", 1025),
	} {
		text := "users:\n  - name: a\n    api_keys:\n      - key: " + key + "\n"
		_, err := config.ParseBootstrap("b.yaml", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "b.yaml:4: ") || strings.Contains(err.Error(), "sixteen") {
			t.Errorf("%.40q gives %v", key, err)
		}
	}
}

func TestKeysInTheFormOfATokenCanBeDeclared(t *testing.T) {
	const token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm5hIn0.c2ln"
	declared, err := config.ParseBootstrap("b.yaml", []byte("users:\n  - name: anna\n    api_keys:\n      - key: "+token+"\n"))
	if err != nil || declared.Users[0].Keys[0].Secret.Reveal() != token {
		t.Errorf("got %v, %v", declared, err)
	}
}

func TestParseBootstrapRefusesHugeFiles(t *testing.T) {
	_, err := config.ParseBootstrap("b.yaml", []byte(strings.Repeat("# padding\n", 200_000)))
	if err == nil || !strings.Contains(err.Error(), "1 MiB") {
		t.Errorf("got %v", err)
	}
}

func FuzzParseBootstrap(f *testing.F) {
	f.Add([]byte(goodBootstrap))
	f.Add([]byte("users:\n  - name: a\n    api_keys: [{key: 0123456789abcdef}]\n"))
	f.Add([]byte("? a\n: b\n"))
	f.Add([]byte("- &a [*a, !!str 7, |\n  x\n]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		declared, err := config.ParseBootstrap("b.yaml", data)
		if err != nil {
			return
		}
		for _, user := range declared.Users {
			if evidence.CheckOrganizationName(user.Name) != nil {
				t.Errorf("the user name %q was accepted", user.Name)
			}
			for _, key := range user.Keys {
				if key.Secret != "" && len(key.Secret.Reveal()) < evidence.MinKeyLength {
					t.Error("a short key was accepted")
				}
			}
		}
		for _, org := range declared.Organizations {
			for name, role := range org.Members {
				if role == evidence.NoRole {
					t.Errorf("%q has no role", name)
				}
			}
		}
	})
}
