package audit

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var kinds = []Kind{OfTrail, OfArtifact, OfAttestation}

// judgedKinds are the kinds of packages that have verdicts on trails or artifacts.
var judgedKinds = []Kind{OfTrail, OfArtifact}

// memberReader reads a member that is evaluated.
type memberReader func(v *Verifier, path string, content []byte) error

// document is the memberReader of a JSON document, which it decodes for read.
func document[T any](read func(v *Verifier, path string, document *T) error) memberReader {
	return func(v *Verifier, path string, content []byte) error {
		var decoded T
		if err := v.decode(content, &decoded); err != nil {
			return err
		}
		return read(v, path, &decoded)
	}
}

// file is a member outside of the folders, with its kinds of packages. Optional members may be missing.
type file struct {
	kinds    []Kind
	optional bool
	read     memberReader
}

var files = map[string]file{
	ManifestPath: {kinds: kinds, read: (*Verifier).readManifest}, ChecksumsPath: {kinds: kinds}, InstructionsPath: {kinds: kinds},
	TrailPath:        {kinds: []Kind{OfTrail}, read: document((*Verifier).readTrail)},
	ReportPath:       {kinds: []Kind{OfTrail}, read: func(v *Verifier, _ string, content []byte) error { v.page = content; return nil }},
	EventsPath:       {kinds: judgedKinds, read: func(v *Verifier, _ string, content []byte) error { return decodeList(v, content, &v.events) }},
	EnvironmentsPath: {kinds: judgedKinds, read: func(v *Verifier, _ string, content []byte) error { return decodeList(v, content, &v.environments) }},
	ApprovalsPath:    {kinds: judgedKinds, optional: true, read: (*Verifier).readApprovals},
	SignaturePath: {kinds: kinds, optional: true, read: func(v *Verifier, _ string, content []byte) error {
		v.log.signature = string(content)
		return nil
	}},
}

// folder is a folder of members, with the kinds of packages that may have it.
type folder struct {
	kinds   []Kind
	members *regexp.Regexp
	read    memberReader
}

var folders = map[string]folder{
	"artifacts":         {judgedKinds, regexp.MustCompile(`^[0-9a-f]{64}/artifact\.json$`), document((*Verifier).readArtifact)},
	"attestation-types": {kinds, regexp.MustCompile(`^[^/]+/(0|[1-9][0-9]*)\.json$`), document((*Verifier).readType)},
	"attestations":      {kinds, regexp.MustCompile(`^[^/]+/(attestation\.json|evidence\.tgz)$`), document((*Verifier).readAttestation)},
	"controls":          {kinds, regexp.MustCompile(`^[^/]+\.json$`), document((*Verifier).readControl)},
	"log": {kinds, regexp.MustCompile(
		`^(checkpoint|README\.md|verifier-keys|not-logged|facts/[a-z_]+/[^/]+/(entry\.json|fact\.json|proof\.tlog-proof|salt)|groups/[0-9a-f]{64}/(group|salt))$`), (*Verifier).readLog},
	"policies":  {judgedKinds, regexp.MustCompile(`^[^/]+/[1-9][0-9]*\.yml$`), (*Verifier).readPolicy},
	"templates": {kinds, regexp.MustCompile(`^[0-9a-f-]+\.yml$`), (*Verifier).readTemplate},
	"trails":    {[]Kind{OfArtifact, OfAttestation}, regexp.MustCompile(`^[^/]+\.json$`), document((*Verifier).readTrail)},
}

// readerOf returns the reader of a member, nil if the member is only hashed.
func readerOf(path string) memberReader {
	if isEvidence(path) {
		return nil
	}
	name, _, nested := strings.Cut(path, "/")
	if nested {
		return folders[name].read
	}
	return files[path].read
}

// checkLayout checks the paths of the members for the kind of package (docs/semantics.md 21.2).
func (v *Verifier) checkLayout() {
	kind := v.manifest.Subject.Kind
	if !slices.Contains(kinds, kind) {
		v.report(ManifestPath, "its kind of package is not known")
		return
	}
	for path, of := range files {
		if !of.optional && slices.Contains(of.kinds, kind) && !v.known[path] {
			v.report(path, "it is missing")
		}
	}
	for _, member := range v.members {
		if !allowed(kind, member.Path) {
			v.report(member.Path, "packages of this kind have no such member")
		}
	}
}

func allowed(kind Kind, path string) bool {
	if of, ok := files[path]; ok {
		return slices.Contains(of.kinds, kind)
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
