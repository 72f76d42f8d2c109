package auditpackage_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/audit"
)

// TestAnyFlippedByteIsFound alters one byte of each member in turn.
func TestAnyFlippedByteIsFound(t *testing.T) {
	s := delivered(t)
	flips := 400
	if testing.Short() {
		flips = 12
	}
	random := newRandom(t, 1)
	for _, subject := range []audit.Assembly{s.ofTrail("1"), s.ofArtifact(current)} {
		members := s.packageOf(subject)
		for i, m := range members {
			if len(m.content) == 0 {
				continue
			}
			for range flips {
				altered := slices.Clone(members)
				altered[i].content = bytes.Clone(m.content)
				at := random.IntN(len(m.content))
				altered[i].content[at] ^= 1 << random.IntN(8)
				result := verify(t, altered)
				if !slices.ContainsFunc(result.Findings, func(f audit.Finding) bool { return f.Member == m.header.Name }) {
					t.Fatalf("%s: byte %d was altered, and the findings are %v", m.header.Name, at, result.Findings)
				}
			}
		}
	}
}

func TestMissingAndAddedMembersAreFound(t *testing.T) {
	s := delivered(t)
	members := s.packageOf(s.ofTrail("1"))
	for i, m := range members {
		result := verify(t, slices.Delete(slices.Clone(members), i, i+1))
		if !slices.ContainsFunc(result.Findings, func(f audit.Finding) bool { return f.Member == m.header.Name }) {
			t.Errorf("without %s the findings are %v", m.header.Name, result.Findings)
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

// forge alters members, drops those that change returns as "", and recomputes all checksums, like an attacker.
func forge(t *testing.T, members []member, change func(path, content string) string) []member {
	t.Helper()
	var forged []member
	changed := false
	contents := map[string][]byte{}
	for _, m := range members {
		path, before := m.header.Name, string(m.content)
		content := change(path, before)
		changed = changed || content != before
		if content != "" {
			contents[path] = []byte(content)
			forged = append(forged, member{m.header, contents[path]})
		}
	}
	if !changed {
		t.Fatal("the forgery changes nothing")
	}
	sum(t, contents)
	for i := range forged {
		forged[i].content = contents[forged[i].header.Name]
	}
	return forged
}

// sum recomputes the checksums of members, which are given by path.
func sum(t *testing.T, contents map[string][]byte) {
	t.Helper()
	before := evidence.SHA256(contents[audit.ChecksumsPath])
	describe := func(without ...string) []audit.Member {
		var listed []audit.Member
		for path, content := range contents {
			if !slices.Contains(without, path) {
				listed = append(listed, audit.NewMember(path, content))
			}
		}
		slices.SortFunc(listed, func(a, b audit.Member) int { return audit.CompareMembers(a.Path, b.Path) })
		return listed
	}
	contents[audit.ChecksumsPath] = audit.Checksums(describe(audit.ManifestPath, audit.ChecksumsPath, audit.ReportPath))
	if report, ok := contents[audit.ReportPath]; ok {
		contents[audit.ReportPath] = bytes.ReplaceAll(report, []byte(before), []byte(evidence.SHA256(contents[audit.ChecksumsPath])))
	}
	var manifest audit.Manifest
	if err := json.Unmarshal(contents[audit.ManifestPath], &manifest); err != nil {
		t.Fatal(err)
	}
	manifest.Members = describe(audit.ManifestPath)
	var err error
	if contents[audit.ManifestPath], err = manifest.Encode(); err != nil {
		t.Fatal(err)
	}
}

// TestForgedPackagesAreFound changes facts, verdicts or the subject of a package, and recomputes all checksums.
func TestForgedPackagesAreFound(t *testing.T) {
	s := delivered(t)
	members := s.packageOf(s.ofTrail("1"))
	if result := verify(t, forge(t, members, func(path, content string) string {
		if path == audit.InstructionsPath {
			return content + "\n"
		}
		return content
	})); len(result.Findings) > 0 {
		t.Fatalf("findings after a change of the instructions: %v", result.Findings)
	}
	trail := trailOf(t, s)
	template := audit.TemplatePath(trail.Template)
	const anAttestation = "attestations/"
	for name, c := range map[string]struct {
		path, from, to string // anAttestation: all attestations that have the text to replace
		found          string // the member of the finding
	}{
		"the verdict on the trail":      {audit.TrailPath, `"status": "INCOMPLETE"`, `"status": "COMPLIANT"`, audit.TrailPath},
		"a missing verdict":             {audit.TrailPath, `"compliance_status": {`, `"x": {`, audit.TrailPath},
		"the identifier of a control":   {audit.ControlPath("RELEASE"), `"identifier": "RELEASE"`, `"identifier": "OTHER"`, audit.ControlPath("RELEASE")},
		"another member of a control":   {audit.ControlPath("RELEASE"), `"identifier"`, `"x": 1, "identifier"`, audit.ControlPath("RELEASE")},
		"the trail's name":              {audit.TrailPath, `"name": "1"`, `"name": "2"`, audit.TrailPath},
		"the trail's flow":              {audit.TrailPath, `"name": "backend"`, `"name": "other"`, audit.TrailPath},
		"the state of an artifact":      {audit.ArtifactPath(current), `"status": "INCOMPLETE"`, `"status": "COMPLIANT"`, audit.ArtifactPath(current)},
		"a state in another trail":      {audit.ArtifactPath(current), `"trail_id": "` + trail.ID, `"trail_id": "` + s.flow, audit.ArtifactPath(current)},
		"the artifact's fingerprint":    {audit.ArtifactPath(current), `"fingerprint": "` + current, `"fingerprint": "` + strings.Repeat("9f", 32), audit.ArtifactPath(current)},
		"a report in another trail":     {audit.ArtifactPath(old), `"trail": "1"`, `"trail": "2"`, audit.ArtifactPath(old)},
		"the verdict of a policy":       {audit.EnvironmentsPath, `"compliant": false`, `"compliant": true`, audit.EnvironmentsPath},
		"the text of a finding":         {audit.EnvironmentsPath, `'never-made'`, `'often-made'`, audit.EnvironmentsPath},
		"the trail of what runs":        {audit.EnvironmentsPath, `"trail_id": "` + trail.ID, `"trail_id": "` + s.flow, audit.EnvironmentsPath},
		"an artifact's name in a trail": {audit.EnvironmentsPath, `"artifact_name": "web"`, `"artifact_name": "job"`, audit.EnvironmentsPath},
		"the running fingerprint":       {audit.EnvironmentsPath, `"fingerprint": "` + current, `"fingerprint": "` + strings.Repeat("9f", 32), audit.EnvironmentsPath},
		"the fingerprint of the facts":  {audit.EnvironmentsPath, "\"acme/web\",\n      \"fingerprint\": \"" + current, "\"acme/web\",\n      \"fingerprint\": \"" + strings.Repeat("9f", 32), audit.EnvironmentsPath},
		"an added flow":                 {audit.EnvironmentsPath, `"flows": []`, aFlow, audit.EnvironmentsPath},
		"a decision":                    {audit.EnvironmentsPath, `"name": "go-live"`, `"name": "go-dead"`, audit.EnvironmentsPath},
		"a policy":                      {audit.PolicyPath("production", 1), "trail-compliance: {required: true}", "trail-compliance: {required: false}", audit.EnvironmentsPath},
		"what the template requires":    {template, "never-made", "ever-made1", template},
		"an attestation's payload":      {anAttestation, `"failures": 1`, `"failures": 0`, anAttestation},
		"a duplicate key":               {anAttestation, `"name": "unit-test",`, `"name": "x", "name": "unit-test",`, anAttestation},
		"data after a document":         {audit.TrailPath, "}\n}\n", "}\n}\n}\n", audit.TrailPath},
		"the rule of a custom type":     {audit.TypePath("scan", 1), `.findings < 5`, `.findings < 50`, anAttestation},
		"the name of a custom type":     {audit.TypePath("scan", 1), `"name": "scan"`, `"name": "sc4n"`, audit.TypePath("scan", 1)},
		"the size of the evidence":      {anAttestation, `"size": 15`, `"size": 16`, anAttestation},
		"the path of the evidence":      {anAttestation, `/evidence.tgz"`, `/other.tgz"`, anAttestation},
		"added lost evidence":           {audit.ManifestPath, `"lost_evidence": []`, `"lost_evidence": [{"attestation_id": "a", "path": "p"}]`, audit.ManifestPath},
		"the package's verdict":         {audit.ManifestPath, `"status": "INCOMPLETE"`, `"status": "COMPLIANT"`, audit.ManifestPath},
		"an unknown verdict":            {audit.ManifestPath, `"status": "INCOMPLETE"`, `"status": "FINE"`, audit.ManifestPath},
		"the package's trail":           {audit.ManifestPath, `"trail": "1"`, `"trail": "2"`, audit.TrailPath},
		"the package's organization":    {audit.ManifestPath, `"organization": "acme"`, `"organization": "other"`, audit.TrailPath},
		"the kind of package":           {audit.ManifestPath, `"kind": "trail"`, `"kind": "artifact"`, audit.TrailPath},
		"an unknown kind of package":    {audit.ManifestPath, `"kind": "trail"`, `"kind": "flow"`, audit.ManifestPath},
	} {
		t.Run(name, func(t *testing.T) {
			result := verify(t, forge(t, members, func(path, content string) string {
				if path == c.path || c.path == anAttestation && strings.HasSuffix(path, "/attestation.json") {
					return strings.ReplaceAll(content, c.from, c.to)
				}
				return content
			}))
			if !slices.ContainsFunc(result.Findings, func(f audit.Finding) bool { return strings.HasPrefix(f.Member, c.found) }) {
				t.Errorf("the findings are %v", result.Findings)
			}
		})
	}
}

// aFlow is a second flow entry, for the trail of the package.
const aFlow = `"flows": [
        {
          "name": "backend",
          "trail": "1",
          "status": "COMPLIANT",
          "attestations": []
        }
      ]`

func TestDroppedMembersAreFoundThoughTheChecksumsMatch(t *testing.T) {
	s := delivered(t)
	id := s.attest("1", attestation("note", evidence.TypeGeneric))
	for _, subject := range []audit.Assembly{s.ofTrail("1"), s.ofArtifact(current), s.ofAttestation("1", id)} {
		members := s.packageOf(subject)
		for _, dropped := range members {
			path := dropped.header.Name
			if path == audit.ManifestPath {
				continue // without a manifest there is no package
			}
			result := verify(t, forge(t, members, func(p, content string) string {
				if p == path {
					return ""
				}
				return content
			}))
			if len(result.Findings) == 0 && result.NotEvaluated == 0 {
				t.Errorf("without %s the package of kind %s has no finding", path, subject.Kind)
			}
		}
	}
}

func TestUnknownMembersAreFoundThoughTheChecksumsMatch(t *testing.T) {
	s := delivered(t)
	members := s.packageOf(s.ofTrail("1"))
	for _, path := range []string{
		"more.txt", "/trail.json", "../trail.json", "attestations/../trail.json", "attestations/x/install.sh", "trails/" + s.flow + ".json",
		"policies/../1.yml", "policies/a%2Fb/01.yml", "controls/a/b.json", "controls/%61.json", "Trail.json", "templates/x.yml",
	} {
		contents := map[string][]byte{path: []byte("x")}
		for _, m := range members {
			contents[m.header.Name] = m.content
		}
		sum(t, contents)
		forged := []member{{&tar.Header{Name: path}, []byte("x")}}
		for _, m := range members {
			forged = append(forged, member{m.header, contents[m.header.Name]})
		}
		if result := verify(t, forged); !slices.ContainsFunc(result.Findings, func(f audit.Finding) bool { return f.Member == path }) {
			t.Errorf("with %s the findings are %v", path, result.Findings)
		}
	}
}
