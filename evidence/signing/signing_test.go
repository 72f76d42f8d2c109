package signing_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"attestry/evidence/evidencetest"
	"attestry/evidence/signing"
)

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		evidencetest.Must(t, err)
		return value
	}
}

func block(kind string, content []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
}

// verifies checks an envelope as DSSE specifies it, without the package under test.
func verifies(t *testing.T, publicKey string, envelope []byte) bool {
	t.Helper()
	var read struct {
		Payload, PayloadType string
		Signatures           []struct{ Sig string }
	}
	if err := json.Unmarshal(envelope, &read); err != nil || len(read.Signatures) != 1 {
		t.Fatalf("%v: %s", err, envelope)
	}
	decoded, _ := pem.Decode([]byte(publicKey))
	public := must[any](t)(x509.ParsePKIXPublicKey(decoded.Bytes)).(*ecdsa.PublicKey)
	payload := must[[]byte](t)(base64.StdEncoding.DecodeString(read.Payload))
	signed := sha256.Sum256(fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(read.PayloadType), read.PayloadType, len(payload), payload))
	return ecdsa.VerifyASN1(public, signed[:], must[[]byte](t)(base64.StdEncoding.DecodeString(read.Signatures[0].Sig)))
}

func TestEnvelopesVerifyUntilTheyAreEdited(t *testing.T) {
	key := must[*signing.Key](t)(signing.ParseKey(must[[]byte](t)(signing.NewKey())))
	envelope := must[signing.Envelope](t)(key.Sign("text/plain", []byte("hello")))
	if !verifies(t, key.PublicKey(), must[[]byte](t)(json.Marshal(envelope))) {
		t.Error("it does not verify")
	}
	for name, edit := range map[string]func(*signing.Envelope){
		"payload":      func(e *signing.Envelope) { e.Payload = []byte("hallo") },
		"payload type": func(e *signing.Envelope) { e.PayloadType = "text/html" },
		"boundary":     func(e *signing.Envelope) { e.PayloadType, e.Payload = "text/plain 5", []byte("hell") },
	} {
		t.Run(name, func(t *testing.T) {
			edited := envelope
			edit(&edited)
			if verifies(t, key.PublicKey(), must[[]byte](t)(json.Marshal(edited))) {
				t.Error("it verifies although it was edited")
			}
		})
	}
	again := must[signing.Envelope](t)(key.Sign("text/plain", []byte("hello")))
	if string(again.Signatures[0].Sig) != string(envelope.Signatures[0].Sig) {
		t.Error("the same payload has another signature")
	}
}

func TestBundleNamesItsKey(t *testing.T) {
	key := must[*signing.Key](t)(signing.ParseKey(must[[]byte](t)(signing.NewKey())))
	bundle := must[[]byte](t)(json.Marshal(must[signing.Bundle](t)(key.Bundle("text/plain", []byte("hello")))))
	var read struct {
		MediaType            string
		VerificationMaterial struct{ PublicKey struct{ Hint string } }
		DSSEEnvelope         json.RawMessage `json:"dsseEnvelope"`
	}
	evidencetest.Must(t, json.Unmarshal(bundle, &read))
	decoded, _ := pem.Decode([]byte(key.PublicKey()))
	sum := sha256.Sum256(decoded.Bytes)
	if hint := base64.StdEncoding.EncodeToString(sum[:]); read.VerificationMaterial.PublicKey.Hint != hint {
		t.Errorf("the hint is %q, not %q", read.VerificationMaterial.PublicKey.Hint, hint)
	}
	if read.MediaType != "application/vnd.dev.sigstore.bundle.v0.3+json" || !verifies(t, key.PublicKey(), read.DSSEEnvelope) {
		t.Errorf("the bundle is %s", bundle)
	}
}

func TestKeysAreReadInBothForms(t *testing.T) {
	private := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	public := block("PUBLIC KEY", must[[]byte](t)(x509.MarshalPKIXPublicKey(private.Public())))
	sec1 := block("EC PRIVATE KEY", must[[]byte](t)(x509.MarshalECPrivateKey(private)))
	for name, content := range map[string]string{
		"PKCS#8":                      block("PRIVATE KEY", must[[]byte](t)(x509.MarshalPKCS8PrivateKey(private))),
		"SEC 1":                       sec1,
		"after the curve's name":      block("EC PARAMETERS", []byte{6, 8, 42, 134, 72, 206, 61, 3, 1, 7}) + sec1,
		"after text and a public key": "my key\n" + public + sec1,
	} {
		t.Run(name, func(t *testing.T) {
			key, err := signing.ParseKey([]byte(content))
			if err != nil || key.PublicKey() != public {
				t.Errorf("it is read as %v, %v", key, err)
			}
		})
	}
}

func TestWrongKeysAreRefused(t *testing.T) {
	other := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	ofRSA := must[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 1024))
	for name, test := range map[string]struct{ content, want string }{
		"nothing":         {"", "no private key"},
		"no PEM":          {"key", "no private key"},
		"a public key":    {block("PUBLIC KEY", []byte("x")), "no private key"},
		"encrypted":       {block("ENCRYPTED PRIVATE KEY", []byte("x")), "encrypted"},
		"encrypted SEC 1": {"-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\neA==\n-----END EC PRIVATE KEY-----\n", "encrypted"},
		"another curve":   {block("EC PRIVATE KEY", must[[]byte](t)(x509.MarshalECPrivateKey(other))), "P-256"},
		"RSA in PKCS#8":   {block("PRIVATE KEY", must[[]byte](t)(x509.MarshalPKCS8PrivateKey(ofRSA))), "P-256"},
		"RSA in PKCS#1":   {block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(ofRSA)), "P-256"},
		"damaged":         {block("PRIVATE KEY", []byte("secret")), "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := signing.ParseKey([]byte(test.content)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("it says %v", err)
			}
		})
	}
}

func TestKeysDoNotPrint(t *testing.T) {
	key := must[*signing.Key](t)(signing.ParseKey(must[[]byte](t)(signing.NewKey())))
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(format, key); got != "signing key "+key.Hint() {
			t.Errorf("%s prints %s", format, got)
		}
	}
}
