package audit

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var kinds = []Kind{OfTrail, OfArtifact, OfAttestation}

// judgedKinds are those of packages in which something is judged.
var judgedKinds = []Kind{OfTrail, OfArtifact}

// required are the members that packages have once, with the kinds of packages that do.
var required = map[string][]Kind{
	ManifestPath: kinds, ChecksumsPath: kinds, InstructionsPath: kinds,
	TrailPath: {OfTrail}, ReportPath: {OfTrail},
	EventsPath: judgedKinds, EnvironmentsPath: judgedKinds,
}

// folder is a folder of members, with the kinds of packages that may have it.
type folder struct {
	kinds   []Kind
	members *regexp.Regexp
}

var folders = map[string]folder{
	"artifacts":         {judgedKinds, regexp.MustCompile(`^[0-9a-f]{64}/artifact\.json$`)},
	"attestation-types": {kinds, regexp.MustCompile(`^[^/]+/(0|[1-9][0-9]*)\.json$`)},
	"attestations":      {kinds, regexp.MustCompile(`^[^/]+/(attestation\.json|evidence\.tgz)$`)},
	"controls":          {kinds, regexp.MustCompile(`^[^/]+\.json$`)},
	"log": {kinds, regexp.MustCompile(
		`^(checkpoint|README\.md|verifier-keys|not-logged|facts/[a-z_]+/[^/]+/(entry\.json|fact\.json|proof\.tlog-proof|salt)|groups/[0-9a-f]{64}/(group|salt))$`)},
	"policies":  {judgedKinds, regexp.MustCompile(`^[^/]+/[1-9][0-9]*\.yml$`)},
	"templates": {kinds, regexp.MustCompile(`^[0-9a-f-]+\.yml$`)},
	"trails":    {[]Kind{OfArtifact, OfAttestation}, regexp.MustCompile(`^[^/]+\.json$`)},
}

// checkLayout checks the members' paths by the kind of package (docs/semantics.md 21.2).
func (v *Verifier) checkLayout() {
	kind := v.manifest.Subject.Kind
	if !slices.Contains(kinds, kind) {
		v.report(ManifestPath, "its kind of package is not known")
		return
	}
	for path, of := range required {
		if slices.Contains(of, kind) && !v.known[path] {
			v.report(path, "it is missing")
		}
	}
	for _, member := range v.members {
		if !allowed(kind, member.Path) {
			v.report(member.Path, "packages of this kind have no such member")
		}
	}
}

// allowed reports whether packages of a kind may have a member at a path.
func allowed(kind Kind, path string) bool {
	if of, ok := required[path]; ok {
		return slices.Contains(of, kind)
	}
	switch path {
	case ApprovalsPath:
		return slices.Contains(judgedKinds, kind)
	case SignaturePath:
		return true
	}
	name, rest, _ := strings.Cut(path, "/")
	in, ok := folders[name]
	if !ok || !slices.Contains(in.kinds, kind) || !in.members.MatchString(rest) {
		return false
	}
	for part := range strings.SplitSeq(rest, "/") {
		plain, err := url.PathUnescape(part)
		if err != nil || url.PathEscape(plain) != part || part == "." || part == ".." {
			return false
		}
	}
	return true
}
