package admission

import "regexp"

// Image is a reference to an image.
type Image struct {
	Reference string
	// Name is the reference without tag and digest.
	Name string
	// Tag is "" if there is none.
	Tag string
	// Fingerprint is the SHA-256 of the digest in hex, "" without a digest.
	Fingerprint string
}

// imagePattern is the grammar of references: a host with a port, a path, a tag, and a digest.
var imagePattern = regexp.MustCompile(`^((?:[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]+)?/)?` +
	`[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)` +
	`(?::(\w[\w.-]{0,127}))?(?:@sha256:([a-f0-9]{64}))?$`)

// maxReference is how long a reference may be.
const maxReference = 1024

// ParseImage reads a reference; ok is false if it is none.
func ParseImage(reference string) (image Image, ok bool) {
	if len(reference) > maxReference {
		return Image{}, false
	}
	parts := imagePattern.FindStringSubmatch(reference)
	if parts == nil {
		return Image{}, false
	}
	return Image{Reference: reference, Name: parts[1], Tag: parts[2], Fingerprint: parts[3]}, true
}
