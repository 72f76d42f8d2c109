package auditpackage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/config"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/compliance"
	"attestry/evidence/control"
	"attestry/storage"
	"attestry/storage/retention"
)

func TestPackageOfATrailHasEverythingAndIsVerified(t *testing.T) {
	s := delivered(t)
	members := s.packageOf(s.ofTrail("1"))
	result := verify(t, members)
	if len(result.Findings) > 0 || result.Manifest.Status != evidence.Incomplete || result.Artifacts != 3 || result.Attestations != 6 {
		t.Fatalf("verified: %+v", result)
	}
	var found []string
	for _, name := range names(members) {
		folder, rest, _ := strings.Cut(name, "/")
		if folder == "attestations" {
			_, rest, _ = strings.Cut(rest, "/")
		}
		found = append(found, strings.Trim(folder+" "+rest, " "))
	}
	slices.Sort(found)
	want := []string{
		"SHA256SUMS", "VERIFY.md", "artifacts " + old + "/artifact.json", "artifacts " + current + "/artifact.json", "artifacts " + other + "/artifact.json",
		"attestation-types scan/1.json", "attestations attestation.json", "attestations evidence.tgz", "controls RELEASE.json", "environments.json",
		"events.json", "manifest.json", "policies production/1.yml", "templates " + trailOf(t, s).Template + ".yml", "trail-page.pdf", "trail.json",
	}
	slices.Sort(want)
	if got := slices.Compact(found); !slices.Equal(got, want) {
		t.Errorf("members %q, want %q", got, want)
	}
	if !slices.IsSortedFunc(names(members), audit.CompareMembers) {
		t.Error("the members are not in order")
	}
	if page := contentOf(t, members, audit.ReportPath); !bytes.HasPrefix(page, []byte("%PDF-")) {
		t.Error("the report is no PDF")
	}
	var environments []audit.EnvironmentDocument
	s.must(audit.Decode(contentOf(t, members, audit.EnvironmentsPath), &environments))
	if len(environments) != 2 || *environments[0].Compliant || !strings.Contains(environments[0].Policies[0].Findings[1].Text, "'never-made'") {
		t.Errorf("environments: %+v", environments)
	}
}

// TestRunningChildIsEvaluatedByItsArtifact reports an artifact with the child to the first trail, and without the child
// to the others.
func TestRunningChildIsEvaluatedByItsArtifact(t *testing.T) {
	s := newScene(t)
	child := strings.Repeat("3d", 32)
	s.begin("1")
	s.report("1", "web", current, child)
	for _, trail := range []string{"2", "3"} {
		_, err := s.store.Recorder.Begin(t.Context(), s.scope(trail), s.flow, evidence.TrailChange{}, nil)
		s.must(err)
		s.report(trail, "web", current)
	}
	s.run("production", child)
	for name, subject := range map[string]audit.Assembly{
		"the first trail": s.ofTrail("1"), "the second trail": s.ofTrail("2"), "the newest trail": s.ofTrail("3"), "the artifact": s.ofArtifact(current),
	} {
		members := s.packageOf(subject)
		if result := verify(t, members); len(result.Findings) > 0 {
			t.Errorf("%s: %v", name, result.Findings)
		}
		var running []audit.EnvironmentDocument
		s.must(audit.Decode(contentOf(t, members, audit.EnvironmentsPath), &running))
		if len(running) != 1 || running[0].Fingerprint != child || running[0].Policies[0].Findings[0].Text != "Flow 'backend' knows the artifact from trail '3'." {
			t.Errorf("%s: the running artifacts are %+v", name, running)
		}
	}
}

// The package has no report that names the child, which another trail reported as an artifact.
func TestRunningArtifactIsNotEvaluatedAsAChild(t *testing.T) {
	s := newScene(t)
	child := strings.Repeat("3d", 32)
	s.begin("1")
	s.report("1", "web", current)
	for _, trail := range []string{"2", "3"} {
		_, err := s.store.Recorder.Begin(t.Context(), s.scope(trail), s.flow, evidence.TrailChange{}, nil)
		s.must(err)
	}
	s.report("2", "web", current, child)
	s.report("3", "web", child)
	s.run("production", current, child)
	for trail, want := range map[string]string{"1": current, "2": current, "3": child} {
		members := s.packageOf(s.ofTrail(trail))
		if result := verify(t, members); len(result.Findings) > 0 {
			t.Errorf("trail %s: %v", trail, result.Findings)
		}
		var running []audit.EnvironmentDocument
		s.must(audit.Decode(contentOf(t, members, audit.EnvironmentsPath), &running))
		if len(running) != 1 || running[0].Fingerprint != want {
			t.Errorf("trail %s: the running artifacts are %+v", trail, running)
		}
	}
}

func trailOf(t *testing.T, s *scene) *evidence.Trail {
	t.Helper()
	trail, err := s.store.Trails.Get(t.Context(), s.flow, "1")
	s.must(err)
	return &trail
}

func TestPackageOfAnArtifactHasItsTrails(t *testing.T) {
	s := delivered(t)
	_, err := s.store.Recorder.Begin(t.Context(), s.scope("2"), s.flow, evidence.TrailChange{}, nil)
	s.must(err)
	s.report("2", "web", current)
	unrelated := attestation("unit-test", evidence.TypeGeneric)
	unrelated.Fingerprint = other
	s.attest("1", unrelated)
	members := s.packageOf(s.ofArtifact(current))
	if result := verify(t, members); len(result.Findings) > 0 || result.Artifacts != 1 || result.Attestations != 5 {
		t.Errorf("verified: %+v", result)
	}
	var document audit.ArtifactDocument
	s.must(audit.Decode(contentOf(t, members, audit.ArtifactPath(current)), &document))
	if len(document.Reports) != 2 || len(document.States) != 2 || document.States[0].Trail != "1" || document.States[1].Trail != "2" {
		t.Errorf("artifact: %+v", document)
	}
}

func TestPackageOfAnAttestationHasTheReplacedOne(t *testing.T) {
	s := delivered(t)
	again := attestation("ticket", evidence.TypeJira)
	again.Payload = payload("jira_results", `[]`)
	again.Compliant = false
	id := s.attest("1", again)
	members := s.packageOf(s.ofAttestation("1", id))
	if result := verify(t, members); len(result.Findings) > 0 || result.Attestations != 2 || result.Artifacts != 0 {
		t.Errorf("verified: %+v", result)
	}
}

func TestSameFactsMakeTheSameBytes(t *testing.T) {
	s := delivered(t)
	for _, subject := range []audit.Assembly{s.ofTrail("1"), s.ofArtifact(current)} {
		first := s.assemble(subject)
		_, err := s.store.Assemblies.Update(t.Context(), subject.ID, func(a *audit.Assembly) { *a = subject })
		s.must(err)
		s.clock.Advance(time.Hour)
		s.start(s.docs, s.engine)
		if second := s.assemble(subject); second.Archive != first.Archive || (first.Report != nil && *second.Report != *first.Report) {
			t.Errorf("a package of %s is %+v, then %+v", subject.Kind, first, second)
		}
	}
}

func TestOnlyChangedPackagesAreAssembledAgain(t *testing.T) {
	s := delivered(t)
	first := s.assemble(s.ofTrail("1"))
	for name, change := range map[string]func(){
		"an attestation": func() { s.attest("1", attestation("more", evidence.TypeGeneric)) },
		"what runs":      func() { s.reportRunning(current) },
		"an allowance": func() {
			_, err := s.store.Allowlist.Put(t.Context(), evidence.Allowance{ID: evidence.NewID(), Org: acme.OrgID, Environment: s.env, Fingerprint: current, At: s.now()})
			s.must(err)
			s.must(s.store.Generations.Bump(t.Context(), s.env))
		},
		"a control's name": func() {
			_, err := s.store.Controls.Change(t.Context(), acme.OrgID, "RELEASE", control.Change{Name: new("renamed")}, "anna", s.now())
			s.must(err)
		},
		"the flow's name": func() { s.must(s.store.Flows.Rename(t.Context(), acme.OrgID, "backend", "renamed", s.now())) },
	} {
		s.wantProgress(s.ofTrail("1"), audit.Complete)
		change()
		if answer := s.ask(s.ofTrail("1")); answer.Progress != audit.Pending {
			t.Errorf("%s: the package is %s", name, answer.Progress)
		}
		if next := s.assemble(s.ofTrail("1")); next.Archive.Object == first.Archive.Object {
			t.Errorf("%s does not change the package", name)
		} else {
			first = next
		}
		if result := verify(t, s.members(s.read(s.ofTrail("1").ID, first.Archive))); len(result.Findings) > 0 {
			t.Errorf("%s: %v", name, result.Findings)
		}
	}
	s.must(s.store.Environments.Archive(t.Context(), acme.OrgID, "production", s.now()))
	s.wantProgress(s.ofTrail("1"), audit.Pending)
}

// TestPackageEvaluatesAsTheServiceDoes has random trails, with attestations before and after their artifacts, by name
// with commits and by fingerprint.
func TestPackageEvaluatesAsTheServiceDoes(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 15
	}
	for round := range rounds {
		s := newScene(t)
		random := newRandom(t, round)
		s.begin("1")
		for range 3 + random.IntN(12) {
			s.randomStep(random)
		}
		trail, err := s.store.Trails.Get(t.Context(), s.flow, "1")
		s.must(err)
		stored, err := s.store.Templates.Get(t.Context(), acme.OrgID, trail.Template)
		s.must(err)
		slots, err := s.store.Slots.OfTrail(t.Context(), trail.Key(), trail.SlotNames())
		s.must(err)
		report := compliance.Describe(&stored.Template, &trail, slots)
		want, err := audit.Encode(audit.NewComplianceDocument(&report))
		s.must(err)
		members := s.packageOf(s.ofTrail("1"))
		var document audit.TrailDocument
		s.must(audit.Decode(contentOf(t, members, audit.TrailPath), &document))
		got, err := audit.Encode(document.Compliance)
		s.must(err)
		if !bytes.Equal(got, want) {
			t.Fatalf("round %d: the package says\n%s\nthe service says\n%s", round, got, want)
		}
		if result := verify(t, members); len(result.Findings) > 0 {
			t.Fatalf("round %d: %v", round, result.Findings)
		}
	}
}

func TestLostEvidenceIsReportedUntilItIsRestored(t *testing.T) {
	for reason, damage := range map[string]func(path string) error{
		audit.EvidenceMissing: os.Remove,
		audit.EvidenceAltered: func(path string) error { return os.WriteFile(path, []byte("something else"), 0o600) },
	} {
		t.Run(reason, func(t *testing.T) {
			s := delivered(t)
			file := s.file("no test failed")
			path := filepath.Join(s.folder, file.Object)
			s.must(damage(path))
			members := s.packageOf(s.ofTrail("1"))
			result := verify(t, members)
			if len(result.Findings) > 0 || len(result.Manifest.LostEvidence) != 1 || result.Manifest.LostEvidence[0].Reason != reason ||
				result.Manifest.LostEvidence[0].SHA256 != file.SHA256 {
				t.Fatalf("verified: %+v, lost %+v", result.Findings, result.Manifest.LostEvidence)
			}
			s.must(os.WriteFile(path, []byte("no test failed"), 0o600))
			s.clock.Advance(9 * time.Minute)
			s.wantProgress(s.ofTrail("1"), audit.Complete)
			s.clock.Advance(2 * time.Minute)
			if result := verify(t, s.packageOf(s.ofTrail("1"))); len(result.Findings)+len(result.Manifest.LostEvidence) > 0 {
				t.Errorf("later: %+v", result)
			}
		})
	}
}

// TestLargeEvidenceLeavesNoOpenFile has a file that is not buffered in memory. A file without a name that stays open
// takes space on the disk.
func TestLargeEvidenceLeavesNoOpenFile(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the garbage collector closes files, too
	s := newScene(t)
	s.begin("1")
	large := attestation("ticket", evidence.TypeGeneric)
	large.Evidence = s.file(strings.Repeat("x", 10<<20+1))
	s.attest("1", large)
	members := s.packageOf(s.ofTrail("1"))
	if result := verify(t, members); len(result.Findings) > 0 {
		t.Errorf("verified: %+v", result)
	}
	files, err := filepath.Glob("/proc/self/fd/*")
	s.must(err)
	for _, file := range files {
		if name, err := os.Readlink(file); err == nil && strings.Contains(name, "attestry-spool-") {
			t.Errorf("%s is open", name)
		}
	}
}

func TestPackageThatTheObjectStoreLosesIsAssembledAgain(t *testing.T) {
	s := delivered(t)
	subject := s.ofTrail("1")
	first := s.assemble(subject)
	path := filepath.Join(s.folder, first.Archive.Object)
	content, err := os.ReadFile(path)
	s.must(err)
	for name, damage := range map[string]func(){
		"lost": func() { s.must(os.Remove(path)) },
		"altered": func() {
			s.must(os.WriteFile(path, append(bytes.Clone(content[:len(content)-1]), content[len(content)-1]^1), 0o600))
		},
	} {
		s.must(s.requests.Check(t.Context(), subject.ID, first.Archive))
		if damage(); name == "lost" {
			if err := s.requests.Check(t.Context(), subject.ID, first.Archive); evidence.CodeOf(err) != evidence.Unavailable {
				t.Errorf("a check of a lost package: %v", err)
			}
		}
		opened, err := s.requests.Open(t.Context(), subject.ID, first.Archive, 0, -1)
		if err == nil {
			_, err = bytes.NewBuffer(nil).ReadFrom(opened)
			opened.Close()
		}
		if evidence.CodeOf(err) != evidence.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
		if again := s.assemble(subject); again.Archive != first.Archive {
			t.Errorf("%s: another package", name)
		}
		if got := s.read(subject.ID, first.Archive); !bytes.Equal(got, content) {
			t.Errorf("%s: the content differs", name)
		}
	}
}

func TestReplacedPackagesAreDeletedLater(t *testing.T) {
	s := delivered(t)
	subject := s.ofTrail("1")
	first := s.assemble(subject)
	s.attest("1", attestation("more", evidence.TypeGeneric))
	second := s.assemble(subject)
	exists := func(stored audit.Stored) bool {
		_, err := s.store.Objects.Stat(t.Context(), stored.Object)
		return err == nil
	}
	s.clock.Advance(30 * time.Minute)
	s.must(s.cleaner.Clean(t.Context()))
	if !exists(first.Archive) || !exists(*first.Report) {
		t.Error("deleted although a client may still be downloading it")
	}
	s.clock.Advance(time.Hour)
	s.must(s.cleaner.Clean(t.Context()))
	if exists(first.Archive) || exists(*first.Report) || !exists(second.Archive) || !exists(*second.Report) {
		t.Error("the replaced package was not deleted, or others were")
	}
	if left, err := s.store.Assemblies.Replaced(t.Context(), s.now(), storage.MaxMany); err != nil || len(left) > 0 {
		t.Errorf("still to be deleted: %v, %v", left, err)
	}
}

// TestPackagesThatAreNotRequestedAreDeleted requests only one of two packages from time to time.
func TestPackagesThatAreNotRequestedAreDeleted(t *testing.T) {
	s := delivered(t)
	asked, unasked := s.ofTrail("1"), s.ofArtifact(current)
	kept, first := s.assemble(asked), s.assemble(unasked)
	content := s.read(unasked.ID, first.Archive)
	exists := func(stored audit.Stored) bool {
		_, err := s.store.Objects.Stat(t.Context(), stored.Object)
		return err == nil
	}
	for range 2 {
		s.clock.Advance(keptFor / 2)
		s.must(s.cleaner.Clean(t.Context()))
		s.wantProgress(asked, audit.Complete)
	}
	if !exists(first.Archive) {
		t.Error("deleted although a client may still be downloading it")
	}
	s.clock.Advance(2 * time.Hour)
	s.must(s.cleaner.Clean(t.Context()))
	if exists(first.Archive) || !exists(kept.Archive) || !exists(*kept.Report) {
		t.Error("the package that is not requested was not deleted, or others were")
	}
	again := s.assemble(unasked)
	if got := s.read(unasked.ID, again.Archive); !bytes.Equal(got, content) {
		t.Error("the content differs")
	}
	s.clock.Advance(2 * time.Hour)
	s.must(s.cleaner.Clean(t.Context()))
	if !exists(again.Archive) {
		t.Error("the package that was assembled again was deleted")
	}
}

// afterPut is an object store that calls a function after each object is stored.
type afterPut struct {
	storage.Objects
	do func()
}

func (a *afterPut) Put(ctx context.Context, scope string, content io.Reader, size int64) (storage.Object, error) {
	object, err := a.Objects.Put(ctx, scope, content, size)
	a.do()
	return object, err
}

// TestPackageThatIsAssembledAgainIsNotDeleted deletes replaced packages while an expired one is assembled again, which
// makes the same bytes.
func TestPackageThatIsAssembledAgainIsNotDeleted(t *testing.T) {
	s := delivered(t)
	s.assemble(s.ofTrail("1"))
	s.clock.Advance(keptFor + time.Hour)
	s.must(s.cleaner.Clean(t.Context()))
	s.clock.Advance(2 * time.Hour)
	s.start(s.docs, &afterPut{s.engine, func() { s.must(s.cleaner.Clean(t.Context())) }})
	again := s.assemble(s.ofTrail("1"))
	s.read(s.ofTrail("1").ID, again.Archive)
	s.read(s.ofTrail("1").ID, *again.Report)
}

// TestPackageThatIsAttachedAsEvidenceStays stores the archive of a package as evidence, and replaces the package.
func TestPackageThatIsAttachedAsEvidenceStays(t *testing.T) {
	s := delivered(t)
	first := s.assemble(s.ofTrail("1"))
	attached := s.file(string(s.read(s.ofTrail("1").ID, first.Archive)))
	s.attest("1", attestation("more", evidence.TypeGeneric))
	s.assemble(s.ofTrail("1"))
	s.clock.Advance(2 * time.Hour)
	s.must(s.cleaner.Clean(t.Context()))
	if _, err := s.store.Objects.Stat(t.Context(), attached.Object); err != nil || attached.SHA256 != first.Archive.SHA256 {
		t.Errorf("the evidence is gone: %v", err)
	}
}

func TestPackageOfManyAttestationsIsVerified(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	s := newScene(t)
	s.begin("1")
	for i := range 2_100 {
		s.attest("1", attestation(fmt.Sprintf("check-%04d", i), evidence.TypeGeneric))
	}
	members := s.packageOf(s.ofTrail("1"))
	if result := verify(t, members); len(result.Findings) > 0 || result.Attestations != 2_100 {
		t.Errorf("verified: %+v", result)
	}
}

// retainedObjects is an object store that refuses to delete retained objects.
type retainedObjects struct {
	storage.Objects
	until map[string]time.Time
}

func (r *retainedObjects) Retain(_ context.Context, key string, until time.Time) error {
	r.until[key] = until
	return nil
}

func (r *retainedObjects) Delete(ctx context.Context, key string) error {
	if _, kept := r.until[key]; kept {
		return storage.ErrRetained
	}
	return r.Objects.Delete(ctx, key)
}

func TestPackagesAreUnderRetention(t *testing.T) {
	s := newScene(t)
	objects := &retainedObjects{Objects: s.engine, until: map[string]time.Time{}}
	s.start(s.docs, objects)
	s.store.Retention = retention.New(s.store.Objects, config.Retention{Organizations: map[string]int{"acme": 10}}, s.clock.Now)
	s.deliver()
	first := s.assemble(s.ofTrail("1"))
	for _, object := range []string{first.Archive.Object, first.Report.Object} {
		if left := objects.until[object].Sub(s.clock.Now()); left < 9*24*time.Hour || left > 10*24*time.Hour {
			t.Errorf("%s is kept for %v", object, left)
		}
	}
	s.attest("1", attestation("more", evidence.TypeGeneric))
	s.assemble(s.ofTrail("1"))
	for range 3 {
		s.clock.Advance(25 * time.Hour)
		s.must(s.cleaner.Clean(t.Context()))
	}
	if _, err := s.store.Objects.Stat(t.Context(), first.Archive.Object); err != nil {
		t.Errorf("it was deleted: %v", err)
	}
	clear(objects.until) // the retention ends
	s.clock.Advance(25 * time.Hour)
	s.must(s.cleaner.Clean(t.Context()))
	if _, err := s.store.Objects.Stat(t.Context(), first.Archive.Object); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("it was not deleted: %v", err)
	}
}
