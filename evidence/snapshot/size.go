package snapshot

import (
	"attestry/evidence"
)

const (
	// MaxArtifactSize bounds an artifact with its pods, in bytes: a document that has it twice fits into MongoDB.
	MaxArtifactSize = 7 << 20
	// MaxReportSize bounds a canonical report, in bytes. It can exceed the body, as a pod is repeated for each image.
	MaxReportSize = 64 << 20
	// MaxOriginsSize bounds the origins of an artifact, in bytes: they fit into one document with MaxArtifactSize.
	MaxOriginsSize = 7 << 20
)

// Upper bounds of the size in JSON, in bytes, of members of fixed length and of all keys.
const (
	artifactOverhead = 80
	runOverhead      = 128
	changeOverhead   = 256
	instanceSize     = 21
	podOverhead      = 80
	ownerOverhead    = 128
	contextOverhead  = 128
	originOverhead   = 512
	decisionOverhead = 64
	reasonOverhead   = 192
)

// Size is an upper bound of the report's size in JSON, in bytes. A report that is too large to be stored is TooLarge.
func (r *Report) Size() (int, error) {
	total, artifact := 0, 0
	for i := range r.Artifacts {
		image := &r.Artifacts[i]
		size := image.size()
		if i == 0 || image.Fingerprint != r.Artifacts[i-1].Fingerprint || image.Fingerprint == "" {
			artifact = 0
		}
		// All names of an image become one artifact.
		if artifact += size; artifact > MaxArtifactSize {
			return 0, evidence.Errorf(evidence.TooLarge, "A single image exceeds the limit of %d MiB for all its pods", MaxArtifactSize>>20)
		}
		if total += size; total > MaxReportSize {
			return 0, evidence.Errorf(evidence.TooLarge,
				"The report exceeds the limit of %d MiB for all images with their pods", MaxReportSize>>20)
		}
	}
	return total, nil
}

// size is an upper bound of the artifact's size in JSON, in bytes.
func (a *Artifact) size() int {
	return runOverhead + a.Reported.size() + sum(a.Origins, (*Origin).size) + sum(a.Decisions, (*Decision).size)
}

// sum adds up the sizes of elements.
func sum[E any](elements []E, size func(*E) int) int {
	total := 0
	for i := range elements {
		total += size(&elements[i])
	}
	return total
}

func (o *Origin) size() int {
	size := OriginSize(&o.Origin) + textSize(o.Unapproved...)
	if previous := o.Previous; previous != nil {
		size += OriginSize(&previous.Origin) + textSize(previous.Fingerprint, previous.Name)
	}
	if shortfall := o.Shortfall; shortfall != nil {
		size += textSize(shortfall.Failing...) + textSize(shortfall.Missing...)
		for name, finding := range shortfall.Findings {
			size += textSize(name, finding)
		}
	}
	return size
}

// limitOrigins drops the last origins beyond MaxOriginsSize, but never the first one.
func limitOrigins(origins []Origin) []Origin {
	size := 0
	for i := range origins {
		if size += origins[i].size(); size > MaxOriginsSize && i > 0 {
			return origins[:i]
		}
	}
	return origins
}

// OriginSize is an upper bound of an origin's size in JSON, in bytes.
func OriginSize(o *evidence.Origin) int {
	size := originOverhead + textSize(o.Flow, o.Trail, o.Slot, o.Record, o.Parent, o.Repo, o.CommitSHA, o.CommitURL)
	if c := o.Commit; c != nil {
		size += textSize(c.SHA1, evidence.ZeroIfNil(c.Message), evidence.ZeroIfNil(c.Author), evidence.ZeroIfNil(c.Branch), evidence.ZeroIfNil(c.URL))
	}
	return size
}

func (c *Change) size() int {
	size := changeOverhead + textSize(c.Fingerprint, c.Name)
	if c.Former != nil {
		size += c.Former.size()
	}
	return size
}

// Size is an upper bound of the chunk's size in JSON, in bytes.
func (c *Chunk) Size() int {
	return artifactOverhead + textSize(c.Children...) + sum(c.Artifacts, (*Artifact).size) + sum(c.Changes, (*Change).size)
}

// size is an upper bound of the image's size in JSON, in bytes.
func (r *Reported) size() int {
	size := artifactOverhead + textSize(r.Fingerprint, r.Name) + textSize(r.Names...) + instanceSize*len(r.CreatedAt) + r.Context.size()
	for name, pod := range r.Pods {
		size += textSize(name) + pod.size()
	}
	return size
}

func (p *Pod) size() int {
	return podOverhead + textSize(p.Namespace) + sum(p.Owners, (*Owner).size)
}

func (o *Owner) size() int { return ownerOverhead + textSize(o.APIVersion, o.Kind, o.Name, o.UID) }

// textSize is an upper bound of the size of texts in JSON: encoding/json escapes some characters as \u003c.
func textSize(texts ...string) int {
	size := 0
	for _, text := range texts {
		size += len(text) + len(`"",`)
		for i := range len(text) {
			size += int(escapeOverhead[text[i]])
		}
	}
	return size
}

// escapeOverhead is, for each byte of a text, the most bytes that escaping adds.
var escapeOverhead = func() (longer [256]uint8) {
	for c := range byte(' ') {
		longer[c] = uint8(len(`\u003c`) - 1)
	}
	for _, c := range []byte{'"', '\\', '<', '>', '&', 0x7f} {
		longer[c] = uint8(len(`\u003c`) - 1)
	}
	longer[0xe2] = uint8(len(`\u2028`) - 3) // the first byte of U+2028, which is escaped as \u2028
	return longer
}()
