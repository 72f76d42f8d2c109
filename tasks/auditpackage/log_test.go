package auditpackage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/evidence/attestation/attestationtest"
	"attestry/evidence/audit"
	"attestry/evidence/translog/translogtest"
	"attestry/storage"
	"attestry/storage/logs"
	"attestry/storage/storagetest"
	"attestry/tasks/sequencer"
)

// withLog returns a scene whose organization has a transparency log.
func withLog(t *testing.T) *scene {
	t.Helper()
	s := newScene(t)
	s.keys = translogtest.NewKeys(t)
	s.start(s.docs, s.engine)
	return s
}

// OrganizationOf implements sequencer.Names.
func (s *scene) OrganizationOf(context.Context, string) (evidence.Organization, error) {
	return evidence.Organization{ID: acme.OrgID, Name: acme.OrgName}, nil
}

// sequence adds all leaves to the log and signs a checkpoint.
func (s *scene) sequence() {
	s.t.Helper()
	s.clock.Advance(2 * time.Second)
	s.must(sequencer.New(s.store.Logs, s.keys, s, "attestry.example.com", s.clock.Now).Sequence(s.t.Context(), acme.OrgID))
}

func (s *scene) verifiers() []string {
	s.t.Helper()
	verifiers := s.keys.Verifiers("attestry.example.com/acme")
	return verifiers
}

// prove verifies a package with the keys of the log.
func (s *scene) prove(members []member) audit.Result {
	s.t.Helper()
	verifier := audit.NewVerifier(attestationtest.Evaluate, audit.DefaultMemory)
	verifier.Trust(s.verifiers())
	for _, m := range members {
		s.must(verifier.Add(m.header.Name, int64(len(m.content)), bytes.NewReader(m.content)))
	}
	return verifier.Finish()
}

// allow adds an artifact to the allowlist of the environment.
func (s *scene) allow(fingerprint string) {
	s.t.Helper()
	_, err := s.store.Allowlist.Put(s.t.Context(), evidence.Allowance{ID: evidence.NewID(), Org: acme.OrgID, Environment: s.env, Fingerprint: fingerprint, At: s.now()})
	s.must(err)
}

func TestPackageProvesThatItsFactsAreInTheLog(t *testing.T) {
	s := withLog(t)
	s.deliver()
	s.allow(current)
	s.must(s.store.Recorder.Approve(t.Context(), approval.Approval{
		ID: evidence.NewID(), Org: acme.OrgID, Flow: s.flow, Record: trailOf(t, s).Slots["web"].Record, Trail: "1", Target: current, State: approval.Approved,
		Commits: []string{}, Reviews: []approval.Review{{State: approval.Approved, Comment: "<well>"}}, UserData: json.RawMessage(`{"a": "<b>"}`), CreatedAt: s.now(),
	}))
	s.sequence()
	for kind, c := range map[string]struct {
		subject audit.Assembly
		facts   map[string]int
	}{
		"a trail":     {s.ofTrail("1"), map[string]int{"approval": 1, "artifact": 3, "attestation": 6, "template": 1, "policy": 1, "control": 1, "attestation_type": 1, "environment": 1, "snapshot": 1, "allowance": 1}},
		"an artifact": {s.ofArtifact(current), map[string]int{"approval": 1, "artifact": 1, "attestation": 5, "template": 1, "policy": 1, "control": 1, "attestation_type": 1, "environment": 1, "snapshot": 1, "allowance": 1}},
	} {
		t.Run(kind, func(t *testing.T) {
			members := s.packageOf(c.subject)
			result := s.prove(members)
			if len(result.Findings) > 0 || len(result.Log.Unlogged) > 0 {
				t.Fatalf("verified: %+v", result)
			}
			found := map[string]int{}
			for name := range result.Log.Entries {
				kind, _, _ := strings.Cut(name, "/")
				found[kind]++
			}
			want, _ := json.Marshal(c.facts)
			if got, _ := json.Marshal(found); !bytes.Equal(got, want) {
				t.Errorf("it proves %s, want %s", got, want)
			}
			if !slices.IsSortedFunc(names(members), audit.CompareMembers) {
				t.Error("the members are not in order")
			}
		})
	}
}

// TestPackagesAreProvenByTheLogThatContinuesTheirs has facts that only checkpoints of the former log cover at first.
func TestPackagesAreProvenByTheLogThatContinuesTheirs(t *testing.T) {
	s := withLog(t)
	s.deliver()
	s.sequence()
	log, err := s.store.Logs.Get(t.Context(), acme.OrgID)
	s.must(err)
	_, err = s.store.Logs.Keep(t.Context(), acme.OrgID, &logs.Kept{Size: log.Signed, Note: log.Checkpoint}, "")
	s.must(err)
	_, err = s.store.Logs.RecordRestore(t.Context(), "the database was restored")
	s.must(err)
	next, err := s.store.Logs.Continue(t.Context(), acme.OrgID)
	s.must(err)
	s.sequence()
	s.proveBy(next.Origin)
}

// proveBy verifies the package of the trail with the present keys of a log.
func (s *scene) proveBy(origin string) {
	s.t.Helper()
	trusted := s.keys.Verifiers(origin)
	verifier := audit.NewVerifier(attestationtest.Evaluate, audit.DefaultMemory)
	verifier.Trust(trusted)
	for _, m := range s.packageOf(s.ofTrail("1")) {
		s.must(verifier.Add(m.header.Name, int64(len(m.content)), bytes.NewReader(m.content)))
	}
	if result := verifier.Finish(); len(result.Findings) > 0 {
		s.t.Errorf("the findings are %v", result.Findings)
	}
}

// TestPackagesAreProvenByTheKeysThatReplacedTheirs has facts that checkpoints of the former key cover.
func TestPackagesAreProvenByTheKeysThatReplacedTheirs(t *testing.T) {
	s := withLog(t)
	s.deliver()
	s.sequence()
	s.packageOf(s.ofTrail("1"))
	s.keys = withLog(t).keys
	s.start(s.docs, s.engine)
	s.allow(old)
	s.sequence()
	s.proveBy("attestry.example.com/acme")
}

func TestMembersOfSeveralTrailsAreInOrder(t *testing.T) {
	s := withLog(t)
	for _, trail := range []string{"1", "2", "3", "4", "5", "6"} {
		s.begin(trail)
		s.report(trail, "web", current)
	}
	s.sequence()
	members := s.packageOf(s.ofArtifact(current))
	if result := s.prove(members); len(result.Findings) > 0 || !slices.IsSortedFunc(names(members), audit.CompareMembers) {
		t.Errorf("members %q, findings %v", names(members), result.Findings)
	}
}

func TestShownFactsWithoutAProofAreFound(t *testing.T) {
	s := withLog(t)
	s.deliver()
	s.sequence()
	members := s.packageOf(s.ofTrail("1"))
	for kind, shownIn := range map[string]string{
		"policy": "policies/", "attestation": "attestations/", "artifact": "artifacts/", "template": "templates/", "attestation_type": "attestation-types/",
	} {
		t.Run(kind, func(t *testing.T) {
			result := s.prove(forge(t, members, func(path, content string) string {
				if strings.HasPrefix(path, "log/facts/"+kind+"/") {
					return ""
				}
				return content
			}))
			if !slices.ContainsFunc(result.Findings, func(f audit.Finding) bool { return strings.HasPrefix(f.Member, shownIn) }) {
				t.Errorf("the findings are %v", result.Findings)
			}
		})
	}
}

func TestSameFactsMakeTheSameProofs(t *testing.T) {
	s := withLog(t)
	s.deliver()
	s.sequence()
	first := s.assemble(s.ofTrail("1"))
	_, err := s.store.Recorder.Begin(t.Context(), s.scope("2"), s.flow, evidence.TrailChange{}, nil)
	s.must(err)
	for range 300 {
		s.attest("2", attestation("later", evidence.TypeGeneric))
	}
	s.sequence()
	_, err = s.store.Assemblies.Update(t.Context(), s.ofTrail("1").ID, func(a *audit.Assembly) { *a = s.ofTrail("1") })
	s.must(err)
	s.start(s.docs, s.engine)
	if second := s.assemble(s.ofTrail("1")); second.Archive != first.Archive || *second.Report != *first.Report {
		t.Errorf("the package is %+v, then %+v", first, second)
	}
}

func TestPackageWaitsForTheCheckpointThatCoversItsFacts(t *testing.T) {
	for name, c := range map[string]struct {
		logged func(s *scene)
	}{
		"nothing is in the log":           {func(*scene) {}},
		"the last fact is not in the log": {func(s *scene) { s.sequence(); s.attest("1", attestation("last", evidence.TypeGeneric)) }},
		"the log has no checkpoint":       {(*scene).index},
		"the last fact has an index":      {func(s *scene) { s.sequence(); s.attest("1", attestation("last", evidence.TypeGeneric)); s.index() }},
		"a checkpoint was stored by a process that was killed": {func(s *scene) {
			s.sequence()
			s.attest("1", attestation("last", evidence.TypeGeneric))
			s.index()
			s.must(storagetest.Put(s.t.Context(), s.docs, &storage.Schema{Name: "log_notes", Fields: []string{"org", "size"}}, storage.Record{
				ID: acme.OrgID + "/99", Revision: 1, Fields: map[string]any{"org": acme.OrgID, "size": int64(99)}, Body: []byte(`{"org":"org","size":99}`),
			}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := withLog(t)
			s.deliver()
			c.logged(s)
			for range 7 { // more often than an attempt may fail
				s.ask(s.ofTrail("1"))
				s.must(s.work())
				if answer := s.ask(s.ofTrail("1")); answer.Progress != audit.Pending || !strings.Contains(answer.Reason, "transparency log") {
					t.Fatalf("the package is %s: %s", answer.Progress, answer.Reason)
				}
				if s.must(s.relay.Relay(t.Context())); len(s.queue) > 0 {
					t.Fatal("the assembly is tried again at once")
				}
				s.clock.Advance(time.Second)
			}
			s.sequence()
			s.must(s.work())
			if answer := s.ask(s.ofTrail("1")); answer.Progress != audit.Complete {
				t.Errorf("the package is %s: %s", answer.Progress, answer.Reason)
			}
		})
	}
}

// index gives leaves their indexes, like a sequencer that is killed before it signs.
func (s *scene) index() {
	s.t.Helper()
	ctx := s.t.Context()
	s.must(s.store.Logs.Begin(ctx, acme.OrgID, "attestry.example.com/acme"))
	log, err := s.store.Logs.GetVersioned(ctx, acme.OrgID)
	s.must(err)
	leaves, err := s.store.Logs.Pending(ctx, acme.OrgID, 0, storage.MaxMany)
	s.must(err)
	for i := range leaves {
		log.Value.Tree.Append(leaves[i].Entry(log.Value.Secret).Text())
	}
	_, err = s.store.Logs.Commit(ctx, &log.Value, log.Revision, &logs.Change{Leaves: leaves})
	s.must(err)
}

// TestPackageIsNotReadyIfItsCheckpointCoversAFactThatItLacks records a fact between the reads of an assembly.
func TestPackageIsNotReadyIfItsCheckpointCoversAFactThatItLacks(t *testing.T) {
	s := withLog(t)
	s.deliver()
	interrupting := &interruptedReads{Documents: s.docs, collection: "log_places"}
	s.start(interrupting, s.engine)
	interrupting.then = func() { s.attest("1", attestation("meanwhile", evidence.TypeGeneric)); s.sequence() }
	s.ask(s.ofTrail("1"))
	s.must(s.work())
	if assembly, err := s.store.Assemblies.Get(t.Context(), s.ofTrail("1").ID); err != nil || assembly.Ready != nil || interrupting.then != nil {
		t.Fatalf("a package was assembled: %+v, %v", assembly.Ready, err)
	}
	s.clock.Advance(time.Second)
	s.must(s.work())
	result := s.prove(s.packageOf(s.ofTrail("1")))
	if len(result.Findings) > 0 || result.Attestations != 7 {
		t.Errorf("verified: %+v", result)
	}
}

// interruptedReads calls a function once, before documents of a collection are read.
type interruptedReads struct {
	storage.Documents
	collection string
	then       func()
}

func (d *interruptedReads) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	if then := d.then; then != nil && schema.Name == d.collection {
		d.then = nil
		then()
	}
	return d.Documents.GetMany(ctx, schema, ids)
}

func TestFactsWithoutALeafAreListed(t *testing.T) {
	s := withLog(t)
	s.deliver()
	s.store.Logged.Off()
	id := s.attest("1", attestation("unlogged", evidence.TypeGeneric))
	s.sequence()
	members := s.packageOf(s.ofTrail("1"))
	if got := string(contentOf(t, members, audit.UnloggedPath)); got != "attestation/"+id+"\n" {
		t.Errorf("it names %q", got)
	}
	if result := s.prove(members); len(result.Findings) > 0 || !slices.Equal(result.Log.Unlogged, []string{"attestation/" + id}) {
		t.Errorf("verified: %+v", result)
	}
}

func TestPackageWithoutALogDoesNotMentionOne(t *testing.T) {
	s := newScene(t)
	s.store.Logged.Off()
	s.deliver()
	before := s.assemble(s.ofTrail("1"))
	with := withLog(t)
	s.keys = with.keys
	_, err := s.store.Assemblies.Update(t.Context(), s.ofTrail("1").ID, func(a *audit.Assembly) { *a = s.ofTrail("1") })
	s.must(err)
	s.start(s.docs, s.engine)
	if after := s.assemble(s.ofTrail("1")); after.Archive != before.Archive {
		t.Errorf("the package is %+v, then %+v", before, after)
	}
}

// The child's own permission has lapsed. That of the artifact, which has no end, counts in the environment.
func TestPackageHasThePermissionThatIsInForce(t *testing.T) {
	s := withLog(t)
	child := strings.Repeat("3d", 32)
	s.begin("1")
	s.report("1", "web", current, child)
	s.run("production", child)
	s.allow(current)
	lapsed := evidence.Allowance{ID: evidence.NewID(), Org: acme.OrgID, Environment: s.env, Fingerprint: child, At: s.now(), ExpiresAt: s.now() + 1}
	_, err := s.store.Allowlist.Put(t.Context(), lapsed)
	s.must(err)
	s.must(s.store.Allowlist.Lapse(t.Context(), lapsed))
	s.sequence()
	members := s.packageOf(s.ofTrail("1"))
	var running []audit.EnvironmentDocument
	s.must(audit.Decode(contentOf(t, members, audit.EnvironmentsPath), &running))
	if len(running) != 1 || running[0].Fingerprint != child || running[0].Allowed == nil || running[0].Allowed.Until != 0 {
		t.Errorf("it runs as %+v", running)
	}
	result := s.prove(members)
	var proven []string
	for name := range result.Log.Entries {
		if strings.HasPrefix(name, "allowance/") {
			proven = append(proven, name)
		}
	}
	if len(result.Findings) > 0 || len(proven) != 1 || !strings.Contains(proven[0], current) {
		t.Errorf("it proves %v: %+v", proven, result)
	}
}

func TestPackageIsAssembledAgainWhenTheLogBegins(t *testing.T) {
	s := withLog(t)
	keys := s.keys
	s.keys = nil
	s.start(s.docs, s.engine)
	s.deliver()
	without := s.assemble(s.ofTrail("1"))
	s.keys = keys
	s.start(s.docs, s.engine)
	s.sequence()
	if with := s.assemble(s.ofTrail("1")); with.Archive == without.Archive {
		t.Error("the package does not have the log")
	}
}

func TestPackageIsSignedAgainWhenTheKeysChange(t *testing.T) {
	s := withLog(t)
	s.deliver()
	s.sequence()
	first := s.assemble(s.ofTrail("1"))
	s.keys = append(withLog(t).keys, s.keys...)
	s.start(s.docs, s.engine)
	s.allow(current)
	s.sequence()
	next := s.packageOf(s.ofTrail("1"))
	if result := s.prove(next); len(result.Findings) > 0 || strings.Count(string(contentOf(t, next, audit.VerifierKeysPath)), "\n") != 2 {
		t.Errorf("the package after %+v: %+v", first, result)
	}
}

func TestProofsTakeFewCommands(t *testing.T) {
	s := withLog(t)
	s.begin("1")
	for range 40 {
		s.attest("1", attestation("check", evidence.TypeGeneric))
	}
	s.sequence()
	count := &countedReads{Documents: s.docs, collections: map[string]int{}}
	s.start(count, s.engine)
	s.assemble(s.ofTrail("1"))
	if locations, blocks := count.collections["log_places"], count.collections["log_entries"]; locations != 1 || blocks != 1 {
		t.Errorf("the leaves are read with %d and %d commands", locations, blocks)
	}
}

// countedReads counts the commands that read documents by id.
type countedReads struct {
	storage.Documents
	collections map[string]int
}

func (d *countedReads) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	d.collections[schema.Name]++
	return d.Documents.GetMany(ctx, schema, ids)
}

// TestAuditorsProveAFactByHand runs the commands in the README of the log.
func TestAuditorsProveAFactByHand(t *testing.T) {
	for _, tool := range []string{"sh", "openssl", "xxd", "sha256sum", "base64"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("there is no " + tool)
		}
	}
	s := withLog(t)
	s.deliver()
	s.sequence()
	members := s.packageOf(s.ofTrail("1"))
	folder := t.TempDir()
	for _, m := range members {
		path := filepath.Join(folder, filepath.FromSlash(m.header.Name))
		s.must(os.MkdirAll(filepath.Dir(path), 0o700))
		s.must(os.WriteFile(path, m.content, 0o600))
	}
	script := "set -e\n"
	for _, block := range strings.Split(string(contentOf(t, members, audit.LogInstructionsPath)), "```sh\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		script += strings.ReplaceAll(block, "/tmp/", t.TempDir()+"/")
	}
	facts, err := filepath.Glob(filepath.Join(folder, "log/facts/*/*"))
	s.must(err)
	for _, fact := range facts {
		fact, err = filepath.Rel(folder, fact)
		s.must(err)
		command := exec.Command("sh", "-c", script)
		command.Dir, command.Env = folder, append(os.Environ(), "KEY="+s.verifiers()[0], "FACT="+fact)
		printed, err := command.CombinedOutput()
		lines := strings.Split(strings.TrimSpace(string(printed)), "\n")
		if n := len(lines); err != nil || strings.Count(string(printed), "Signature Verified Successfully") != 2 || n < 4 ||
			lines[n-1] != lines[n-2] || !strings.Contains(lines[n-3], strings.TrimSuffix(lines[n-4], "  -")) {
			t.Fatalf("%s: %v\n%s", fact, err, printed)
		}
	}
}

func TestAssemblyFailsWithEachOfItsCommands(t *testing.T) {
	s, bundle := withAudit(t)
	id := s.attest("1", attestation("more", evidence.TypeGeneric))
	s.allow(current)
	s.sequence()
	engine := s.docs
	fails := func(kind string, subject audit.Assembly) {
		t.Run(kind, func(t *testing.T) {
			open := func() storage.Documents {
				s.start(engine, s.engine)
				s.clock.Advance(time.Hour)
				for _, fresh := range []audit.Assembly{subject, s.ofTrail("1")} { // the bundle contains the package of the trail
					_, err := s.store.Assemblies.Update(t.Context(), fresh.ID, func(a *audit.Assembly) { *a = fresh })
					s.must(storage.IgnoreMissing(err))
				}
				s.ask(subject)
				return engine
			}
			storagetest.EachFailure(t, 20, open, func(docs storage.Documents) error {
				s.start(docs, s.engine)
				return s.assembler.Assemble(t.Context(), subject.ID)
			})
		})
	}
	fails("a trail", s.ofTrail("1"))
	fails("an artifact", s.ofArtifact(current))
	fails("an attestation", s.ofAttestation("1", id))
	fails("a bundle", bundle)
	s.start(engine, s.engine)
	s.attest("1", attestation("later", evidence.TypeGeneric))
	fails("a trail that the log does not cover", s.ofTrail("1"))
}
