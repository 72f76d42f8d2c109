package access

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"attestry/api/validation"
	"attestry/evidence"
)

func basic(credentials string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
}

func TestKeysAreTakenFromBearerAndBasic(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer key":              "key",
		"bearer key":              "key",
		"BEARER   key ":           "key",
		basic("key:"):             "key",
		basic("key:password"):     "key",
		basic("key:a:b"):          "key",
		"basic" + basic("k:")[5:]: "k",
	} {
		if got, err := secretOf(header); err != nil || got != want {
			t.Errorf("secretOf(%q) = %q, %v, want %q", header, got, err, want)
		}
	}
}

func TestEveryPartOfAnAuthorizationMayBeAKey(t *testing.T) {
	for header, want := range map[string][]string{
		"Bearer key":                {"Bearer", "key"},
		"Bearer two words":          {"two words", "two"},
		basic("user:password:more"): {"user", "password:more", basic("user:password:more")[6:]},
	} {
		got := Credentials(header)
		for _, text := range want {
			if !slices.Contains(got, text) {
				t.Errorf("%q is not in %q", text, got)
			}
		}
	}
}

func TestMalformedAuthorizationIsUnauthorized(t *testing.T) {
	for _, header := range []string{
		"", " ", "Bearer", "Bearer ", "key", "Token key", "Basic", "Basic !!!", basic("key"), basic(":password"), basic(""),
		"Bearer " + strings.Repeat("x", maxSecret+1), basic("k\x00:"), basic("\xff\xfe:"),
	} {
		if secret, err := secretOf(header); evidence.CodeOf(err) != evidence.Unauthorized {
			t.Errorf("secretOf(%q) = %q, %v", header, secret, err)
		}
	}
}

func FuzzSecretOf(f *testing.F) {
	for _, header := range []string{"", "Bearer x", basic("a:b"), "Basic ====", "Basic \x00", "bearer\tx"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		secret, err := secretOf(header)
		if (err == nil) == (secret == "") {
			t.Errorf("%q gave %q and %v", header, secret, err)
		}
		if err == nil && (len(secret) > maxSecret || !validation.PlainText(secret)) {
			t.Errorf("%q gave %q", header, secret)
		}
	})
}
