package environments

import "github.com/danielgtaylor/huma/v2"

// Fingerprint is a SHA-256 in 64 lower-case hex digits
// (docs/semantics.md 1.3).
type Fingerprint string

// Schema describes the form.
func (Fingerprint) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: "^[a-f0-9]{64}$"}
}

func (f Fingerprint) valid() bool {
	if len(f) != 64 {
		return false
	}
	for i := range len(f) {
		if c := f[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Digests maps the names of images to their fingerprints.
type Digests map[string]Fingerprint

func (d Digests) valid() bool {
	for _, fingerprint := range d {
		if !fingerprint.valid() {
			return false
		}
	}
	return d != nil
}

func (d Digests) toMap() map[string]string {
	plain := make(map[string]string, len(d))
	for name, fingerprint := range d {
		plain[name] = string(fingerprint)
	}
	return plain
}

// PartialFingerprint is a Fingerprint, or "" where the reporter could not learn it.
type PartialFingerprint string

// Schema describes the form.
func (PartialFingerprint) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: "^([a-f0-9]{64})?$"}
}

// PartialDigests are Digests some of which may be unknown
// (docs/semantics.md 10.3).
type PartialDigests map[string]PartialFingerprint

// complete reports whether every fingerprint is there and in form. An unknown one is for
// the schema to tell from null.
func (d PartialDigests) complete() bool {
	for _, fingerprint := range d {
		if !Fingerprint(fingerprint).valid() {
			return false
		}
	}
	return d != nil
}

func (d PartialDigests) toMap() map[string]string {
	plain := make(map[string]string, len(d))
	for name, fingerprint := range d {
		plain[name] = string(fingerprint)
	}
	return plain
}
