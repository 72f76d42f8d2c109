package oidc

import (
	"encoding/base64"
	"strings"
	"testing"

	"attestry/evidence"
)

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func TestTokensAreDistinguishedFromKeysByTheirForm(t *testing.T) {
	header := encode(`{"alg":"RS256","typ":"JWT"}`)
	for secret, want := range map[string]bool{
		header + "." + encode(`{"iss":"x"}`) + ".c2ln": true,
		header + ".eyJ9.c2ln":                          true,
		encode(`{"alg":"none"}`) + ".e30.c2ln":         true, // refused later
		"":                                             false,
		"..":                                           false,
		"a.b.c":                                        false,
		"any.string-of.at-least-16-characters":         false,
		header + ".e30":                                false,
		header + ".e30.":                               false,
		header + "..c2ln":                              false,
		"." + header + ".e30":                          false,
		header + ".e30.c2ln.c2ln":                      false,
		header + ".e30.c2ln ":                          false,
		header + ".e30.c2\nln":                         false,
		header + ".e30.c2+n":                           false,
		header + "=.e30.c2ln":                          false,
		encode(`{"typ":"JWT"}`) + ".e30.c2ln":          false,
		encode(`{"alg":""}`) + ".e30.c2ln":             false,
		encode(`{"alg":7}`) + ".e30.c2ln":              false,
		encode(`["RS256"]`) + ".e30.c2ln":              false,
		encode(`{"alg":"RS256"`) + ".e30.c2ln":         false,
		header + "." + strings.Repeat("e", MaxTokenLength) + ".c2ln":    false,
		"att_0000000000000000000000000000000000000000000000000":         false,
		"att_" + header + ".e30.c2ln":                                   false,
		header + "." + strings.Repeat("e", 4096) + "." + encode("sign"): true,
	} {
		t.Run(secret[:min(len(secret), 60)], func(t *testing.T) {
			if got := IsToken(secret); got != want {
				t.Errorf("got %v", got)
			}
		})
	}
	for range 1000 {
		if key := evidence.NewAPIKey(); IsToken(key.Reveal()) {
			t.Fatal("an API key is taken for a token")
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(encode(`{"alg":"ES256","kid":"1"}`) + "." + encode(`{"iss":"https://ci.example.com"}`) + ".c2ln")
	f.Add(encode(`{"alg":"RS256","crit":["b64"],"b64":false}`) + "." + encode(`{"ISS":"https://ci.example.com"}`) + ".c2ln")
	f.Add(encode(`{"alg":"none"}`) + ".e30.")
	f.Add("att_0000000000000000000000000000000000000000000000000")
	f.Fuzz(func(t *testing.T, secret string) {
		isToken := IsToken(secret)
		if isToken && (strings.Count(secret, ".") != 2 || len(secret) > MaxTokenLength || strings.ContainsAny(secret, " \r\n=")) {
			t.Errorf("%q is taken for a token", secret)
		}
		parsed, err := parseToken(secret)
		if err == nil && (!isToken || parsed.jws == nil || len(parsed.jws.Signatures) != 1 || !strings.HasPrefix(strings.ToLower(parsed.issuer), "https://") || len(parsed.issuer) > maxIssuer) {
			t.Errorf("%q is parsed as %+v", secret, parsed)
		}
		if _, ok := err.(refusal); err != nil && !ok {
			t.Errorf("%q: %v is no refusal", secret, err)
		}
	})
}
