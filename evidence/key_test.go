package evidence_test

import (
	"encoding/base64"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"attestry/evidence"
)

const base62Digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func TestNewAPIKeyHasTheDocumentedForm(t *testing.T) {
	form := regexp.MustCompile(`^att_[0-9a-zA-Z]{49}$`)
	seen := map[string]bool{}
	for range 1000 {
		secret := evidence.NewAPIKey().Reveal()
		if !form.MatchString(secret) {
			t.Fatalf("key %q has another form", secret)
		}
		if evidence.MistypedAPIKey(secret) {
			t.Fatalf("key %q fails its own checksum", secret)
		}
		if seen[secret] {
			t.Fatal("the same key was made twice")
		}
		seen[secret] = true
	}
}

func TestMistypedAPIKeyFindsEveryChangedCharacter(t *testing.T) {
	secret := evidence.NewAPIKey().Reveal()
	for i := len("att_"); i < len(secret); i++ {
		for _, digit := range base62Digits {
			typed := secret[:i] + string(digit) + secret[i+1:]
			if typed != secret && !evidence.MistypedAPIKey(typed) {
				t.Fatalf("a change of character %d goes unnoticed", i)
			}
		}
	}
}

func TestMistypedAPIKeyFindsSwappedNeighbours(t *testing.T) {
	for range 100 {
		secret := []byte(evidence.NewAPIKey().Reveal())
		i := len("att_") + rand.IntN(len(secret)-len("att_")-1)
		if secret[i] == secret[i+1] {
			continue
		}
		secret[i], secret[i+1] = secret[i+1], secret[i]
		if !evidence.MistypedAPIKey(string(secret)) {
			t.Fatalf("swapped characters at %d go unnoticed", i)
		}
	}
}

func TestMistypedAPIKeyIgnoresForeignKeys(t *testing.T) {
	made := evidence.NewAPIKey().Reveal()
	foreign := []string{"", "att_", "any-string-of-at-least-16-characters", made + "0", made[:len(made)-1],
		strings.Repeat("ä", 30), "att_" + strings.Repeat("-", 49), "AtT_" + made[4:]}
	for _, secret := range foreign {
		if evidence.MistypedAPIKey(secret) {
			t.Errorf("%q is taken for a mistyped key", secret)
		}
	}
}

func TestHashAPIKeyIsSHA256InHex(t *testing.T) {
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if got := evidence.HashAPIKey("abc"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestKeyIsActiveUntilItExpiresOrIsRevoked(t *testing.T) {
	cases := []struct {
		name string
		key  evidence.Key
		want bool
	}{
		{"never ends", evidence.Key{}, true},
		{"expires later", evidence.Key{ExpiresAt: 101}, true},
		{"expires now", evidence.Key{ExpiresAt: 100}, false},
		{"revoked later", evidence.Key{RevokedAt: 101}, true},
		{"revoked now", evidence.Key{RevokedAt: 100}, false},
		{"revoked before it expires", evidence.Key{ExpiresAt: 200, RevokedAt: 50}, false},
	}
	for _, c := range cases {
		if got := c.key.ActiveAt(100); got != c.want {
			t.Errorf("%s: active is %v, want %v", c.name, got, c.want)
		}
	}
}

func TestSignedTokensAreThreePartsWithAnAlgorithmInTheFirst(t *testing.T) {
	encode := base64.RawURLEncoding.EncodeToString
	algorithm, other := encode([]byte(`{"alg":"RS256"}`)), encode([]byte(`{"sub":"ada"}`))
	for text, want := range map[string]bool{
		algorithm + "." + other + ".sig-na_ture":      true,
		other + "." + algorithm + ".signature":        false,
		algorithm + "." + other:                       false,
		algorithm + "." + other + ".a.b":              false,
		algorithm + "." + other + ".":                 false,
		algorithm + ".." + "signature":                false,
		algorithm + "." + other + ".a+b":              false,
		algorithm + "\n." + other + ".signature":      false,
		"a." + other + ".signature":                   false,
		encode([]byte("text")) + "." + other + ".sig": false,
	} {
		if got := evidence.IsSignedToken(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
