package auditpackage_test

import (
	"archive/tar"
	"bytes"
	"slices"
	"strings"
	"testing"

	"attestry/evidence/audit"
)

// TestAnyFlippedByteIsFound alters one byte of each member in turn.
func TestAnyFlippedByteIsFound(t *testing.T) {
	s := newScene(t)
	s.deliver()
	flips := 400
	if testing.Short() {
		flips = 12
	}
	random := newRandom(t, 1)
	for _, subject := range []audit.Assembly{s.ofTrail("1"), s.ofArtifact(current)} {
		members := s.packageOf(subject)
		for i, one := range members {
			if len(one.content) == 0 {
				continue
			}
			for range flips {
				altered := slices.Clone(members)
				altered[i].content = bytes.Clone(one.content)
				at := random.IntN(len(one.content))
				altered[i].content[at] ^= 1 << random.IntN(8)
				result := verify(t, altered)
				if !slices.ContainsFunc(result.Findings, func(f audit.Finding) bool { return f.Member == one.header.Name }) {
					t.Fatalf("%s: byte %d was altered, and the findings are %v", one.header.Name, at, result.Findings)
				}
			}
		}
	}
}

func TestMissingAndAddedMembersAreFound(t *testing.T) {
	s := newScene(t)
	s.deliver()
	members := s.packageOf(s.ofTrail("1"))
	for i, one := range members {
		result := verify(t, slices.Delete(slices.Clone(members), i, i+1))
		if !slices.ContainsFunc(result.Findings, func(f audit.Finding) bool { return f.Member == one.header.Name }) {
			t.Errorf("without %s the findings are %v", one.header.Name, result.Findings)
		}
	}
	added := append(slices.Clone(members), member{&tar.Header{Name: "more.txt"}, []byte("x")})
	if result := verify(t, added); len(result.Findings) != 1 || result.Findings[0].Member != "more.txt" {
		t.Errorf("with more.txt the findings are %v", result.Findings)
	}
	twice := append(slices.Clone(members), members[0])
	if result := verify(t, twice); len(result.Findings) != 1 || result.Findings[0].Member != members[0].header.Name {
		t.Errorf("with a member twice the findings are %v", result.Findings)
	}
}

// forge alters members and makes all checksums anew, as somebody would who wants to deceive.
func forge(t *testing.T, members []member, change func(path string, content string) string) []member {
	t.Helper()
	altered := slices.Clone(members)
	var listed []audit.Member
	changed := false
	for i := range altered {
		one := &altered[i]
		if name := one.header.Name; name != audit.ManifestPath && name != audit.ChecksumsPath && name != audit.ReportPath {
			content := change(name, string(one.content))
			changed = changed || content != string(one.content)
			one.content = []byte(content)
			listed = append(listed, audit.NewMember(name, one.content))
		}
	}
	checksums := audit.Checksums(listed)
	before := ""
	for i := range altered {
		if altered[i].header.Name == audit.ChecksumsPath {
			before = audit.Sum(altered[i].content)
			altered[i].content = checksums
		}
	}
	listed = append(listed, audit.NewMember(audit.ChecksumsPath, checksums))
	for i := range altered {
		if altered[i].header.Name == audit.ReportPath {
			altered[i].content = bytes.ReplaceAll(altered[i].content, []byte(before), []byte(audit.Sum(checksums)))
			listed = append(listed, audit.NewMember(audit.ReportPath, altered[i].content))
		}
	}
	slices.SortFunc(listed, func(a, b audit.Member) int { return audit.CompareMembers(a.Path, b.Path) })
	for i := range altered {
		if altered[i].header.Name == audit.ManifestPath {
			manifest, err := audit.ParseManifest([]byte(change(audit.ManifestPath, string(altered[i].content))))
			if err != nil {
				manifest, err = audit.ParseManifest(altered[i].content)
			}
			if err != nil {
				t.Fatal(err)
			}
			manifest.Members = listed
			if altered[i].content, err = manifest.Encode(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !changed {
		t.Fatal("the forger changes nothing")
	}
	return altered
}

// TestVerdictsThatDoNotFollowAreFound has somebody change facts or verdicts and make all checksums
// anew.
func TestVerdictsThatDoNotFollowAreFound(t *testing.T) {
	s := newScene(t)
	s.deliver()
	members := s.packageOf(s.ofTrail("1"))
	if result := verify(t, forge(t, members, func(path, content string) string {
		if path == audit.InstructionsPath {
			return content + "\n"
		}
		return content
	})); len(result.Findings) > 0 {
		t.Fatalf("what nothing is judged by: %v", result.Findings)
	}
	for name, c := range map[string]struct {
		path, from, to string
		found          string
	}{
		"the verdict on the trail":     {audit.TrailPath, `"status": "INCOMPLETE"`, `"status": "COMPLIANT"`, audit.TrailPath},
		"the state of an artifact":     {audit.ArtifactPath(current), `"status": "INCOMPLETE"`, `"status": "COMPLIANT"`, audit.ArtifactPath(current)},
		"which artifact it is":         {audit.ArtifactPath(current), `"fingerprint": "` + current, `"fingerprint": "` + strings.Repeat("9f", 32), audit.ArtifactPath(current)},
		"the verdict of a policy":      {audit.EnvironmentsPath, `"compliant": false`, `"compliant": true`, audit.EnvironmentsPath},
		"a sentence":                   {audit.EnvironmentsPath, `'never-made'`, `'often-made'`, audit.EnvironmentsPath},
		"the facts of an environment":  {audit.EnvironmentsPath, `"missing": [`, `"missing": [ "x",`, audit.EnvironmentsPath},
		"a policy":                     {audit.PolicyPath("production", 1), "trail-compliance: {required: true}", "trail-compliance: {required: false}", audit.EnvironmentsPath},
		"what the template requires":   {audit.TemplatePath(templateID(t, s)), "never-made", "ever-made1", audit.TemplatePath(templateID(t, s))},
		"an attestation's own verdict": {"junit", `"failures": 1`, `"failures": 0`, "attestations/"},
		"the rule of a custom type":    {audit.TypePath("scan", 1), `.findings < 5`, `.findings < 50`, "attestations/"},
		"the evidence that is named":   {"junit", `"size": 15`, `"size": 16`, "attestations/"},
	} {
		t.Run(name, func(t *testing.T) {
			altered := forge(t, members, func(path, content string) string {
				if path == c.path || c.path == "junit" && strings.Contains(content, `"junit_results"`) && strings.HasPrefix(path, "attestations/") {
					return strings.ReplaceAll(content, c.from, c.to)
				}
				return content
			})
			result := verify(t, altered)
			if !slices.ContainsFunc(result.Findings, func(f audit.Finding) bool { return strings.HasPrefix(f.Member, c.found) }) {
				t.Errorf("the findings are %v", result.Findings)
			}
		})
	}
}
