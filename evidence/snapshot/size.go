package snapshot

import (
	"attestry/evidence"
)

const (
	// MaxArtifactSize bounds an artifact with its pods, in bytes. A document that has it twice fits into MongoDB.
	MaxArtifactSize = 7 << 20
	// MaxReportSize bounds a canonical report, in bytes. A pod is repeated for each image, so a small body may grow.
	MaxReportSize = 64 << 20
	// MaxOriginsSize bounds what is kept of one artifact's origins, in bytes, which fit beside MaxArtifactSize.
	MaxOriginsSize = 7 << 20
)

// The most that the members of fixed form take up in JSON, with their keys, in bytes. Sizes are estimates from above.
const (
	artifactFrame = 80
	runFrame      = 128
	changeFrame   = 256
	instanceSize  = 21
	podFrame      = 80
	ownerFrame    = 128
	contextFrame  = 128
	originFrame   = 512
	decisionFrame = 64
	reasonFrame   = 192
)

// Size is the most that the report takes up in JSON, in bytes, or a TooLarge error when it cannot be kept.
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

// size is the most that the artifact takes up in JSON, in bytes.
func (a *Artifact) size() int {
	size := runFrame + a.Reported.size()
	for i := range a.Origins {
		size += a.Origins[i].size()
	}
	for i := range a.Decisions {
		size += a.Decisions[i].size()
	}
	return size
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

// bounded leaves out the origins that came last once they exceed MaxOriginsSize, yet never the first.
func bounded(origins []Origin) []Origin {
	size := 0
	for i := range origins {
		if size += origins[i].size(); size > MaxOriginsSize && i > 0 {
			return origins[:i]
		}
	}
	return origins
}

// OriginSize is the most that an origin takes up in JSON, in bytes.
func OriginSize(o *evidence.Origin) int {
	size := originFrame + textSize(o.Flow, o.Trail, o.Slot, o.Record, o.Parent, o.Repo, o.CommitSHA, o.CommitURL)
	if c := o.Commit; c != nil {
		size += textSize(c.SHA1, evidence.Text(c.Message), evidence.Text(c.Author), evidence.Text(c.Branch), evidence.Text(c.URL))
	}
	return size
}

func (c *Change) size() int {
	size := changeFrame + textSize(c.Fingerprint, c.Name)
	if c.Former != nil {
		size += c.Former.size()
	}
	return size
}

// Size is the most that the chunk takes up in JSON, in bytes.
func (c *Chunk) Size() int {
	size := artifactFrame + textSize(c.Children...)
	for i := range c.Artifacts {
		size += c.Artifacts[i].size()
	}
	for i := range c.Changes {
		size += c.Changes[i].size()
	}
	return size
}

// size is the most that the image takes up in JSON, in bytes.
func (r *Reported) size() int {
	size := artifactFrame + textSize(r.Fingerprint, r.Name) + textSize(r.Names...) + instanceSize*len(r.CreatedAt) + r.Context.size()
	for name, pod := range r.Pods {
		size += textSize(name) + pod.size()
	}
	return size
}

func (p *Pod) size() int {
	size := podFrame + textSize(p.Namespace)
	for i := range p.Owners {
		owner := &p.Owners[i]
		size += ownerFrame + textSize(owner.APIVersion, owner.Kind, owner.Name, owner.UID)
	}
	return size
}

// textSize is the most that texts take up in JSON: encoding/json writes some characters as \u003c.
func textSize(texts ...string) int {
	size := 0
	for _, text := range texts {
		size += len(text) + len(`"",`)
		for i := range len(text) {
			size += int(escaped[text[i]])
		}
	}
	return size
}

// escaped is by how many bytes the JSON of a text is longer for each byte of it, at most.
var escaped = func() (longer [256]uint8) {
	for c := range byte(' ') {
		longer[c] = uint8(len(`\u003c`) - 1)
	}
	for _, c := range []byte{'"', '\\', '<', '>', '&', 0x7f} {
		longer[c] = uint8(len(`\u003c`) - 1)
	}
	longer[0xe2] = uint8(len(`\u2028`) - 3) // begins U+2028, which becomes \u2028
	return longer
}()
