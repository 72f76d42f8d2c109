package recordingtest

import (
	"fmt"
	"testing"

	"attestry/app"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/storage/storagetest"
)

// testRecorderAnnounces checks the generation of an environment. A new generation means that the environment has to be
// evaluated again. The generation must change before a report is acknowledged, and should not change if the report does
// not affect what runs. If killed is set, processes also die before they change it.
func testRecorderAnnounces(t *testing.T, engine storagetest.DocumentsEngine, killed bool) {
	docs := openEngine(t, engine)
	byName := func(commit string) operation {
		return operation{Kind: "attest", Trail: "trail", Targets: []string{"api"}, Commit: commit, Attestation: "n", Type: "generic"}
	}
	byPrint := func(fingerprint string) operation {
		return operation{Kind: "attest", Trail: "trail", Fingerprint: fingerprint, Attestation: "n", Type: "generic"}
	}
	ofTrail := operation{Kind: "attest", Trail: "other", Attestation: "n", Type: "generic"}
	retemplate := operation{Kind: "begin", Trail: "other", Template: 3}
	report := operation{Kind: "report", Trail: "other", Name: "web", Fingerprint: printC}
	family := report
	family.Children = []string{printD}
	decision := operation{Kind: "attest", Trail: "trail", Fingerprint: printC, Attestation: "n", Type: "system:decision", Control: "ctl"}
	for name, c := range map[string]struct {
		runs      string
		operation operation
		changes   bool
	}{
		"by fingerprint, and it runs":                    {printB, byPrint(printB), true},
		"by fingerprint of an older one that runs":       {printA, byPrint(printA), true},
		"by fingerprint, and another one runs":           {printA, byPrint(printB), false},
		"by name, and the commit fits":                   {printB, byName(commitB), true},
		"by name, and an older one's commit fits":        {printA, byName(commitA), true},
		"by name, and one of another commit runs":        {printB, byName(commitA), false},
		"by name without a commit":                       {printA, byName(""), true},
		"of the trail, and its artifact runs":            {printC, ofTrail, true},
		"of the trail, and another trail's runs":         {printB, ofTrail, false},
		"template, and an artifact runs":                 {printC, retemplate, true},
		"template, and another trail's artifact runs":    {printB, retemplate, false},
		"description, and an artifact runs":              {printC, operation{Kind: "begin", Trail: "other", Description: "d"}, false},
		"artifact that runs":                             {printC, report, true},
		"artifact that does not":                         {printB, report, false},
		"child of an artifact that is reported":          {printD, family, true},
		"artifact whose new child does not run":          {printB, family, false},
		"by fingerprint of an artifact whose child runs": {childOfB, byPrint(printB), true},
		"of a trail with an artifact whose child runs":   {childOfB, operation{Kind: "attest", Trail: "trail", Attestation: "n", Type: "generic"}, true},
		"decision about another trail's that runs":       {printC, decision, true},
		"decision about another trail's that does not":   {printB, decision, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := running(t, docs, c.runs)
			c.operation.At = 40
			s.do(t, c.operation)
			if changed := s.changed(t); changed != c.changes {
				t.Errorf("the generation changed: %v", changed)
			}
		})
	}
	t.Run("template, and a child of an artifact runs", func(t *testing.T) {
		s := running(t, docs, printD)
		first, second := family, retemplate
		first.At, second.At = 40, 41
		s.do(t, first)
		s.changed(t)
		s.do(t, second)
		if !s.changed(t) {
			t.Error("the generation has not changed")
		}
	})
	if !killed {
		return
	}
	for name, d := range map[string]operation{"template": retemplate, "attestation": ofTrail, "artifact": report} {
		d.At = 40
		t.Run("process died with "+name, func(t *testing.T) { testDiedBeforeAnnouncing(t, docs, d) })
	}
}

// announcedEnvironment is the id of the environment in which the artifact runs.
const announcedEnvironment = "environment"

// announced is a model with an artifact that runs.
type announced struct {
	*model
	store      *app.Store
	generation string
}

func running(t *testing.T, docs storage.Documents, fingerprint string) *announced {
	t.Helper()
	s := &announced{model: prepared(t, docs), store: newStore(t, docs)}
	err := s.store.Running.Start(t.Context(), []environments.Running{{Org: s.org, Environment: announcedEnvironment, Fingerprint: fingerprint}})
	if err != nil {
		t.Fatal(err)
	}
	s.changed(t)
	return s
}

func (s *announced) do(t *testing.T, d operation) {
	t.Helper()
	if err := s.model.do(t.Context(), s.store, d); err != nil {
		t.Fatal(err)
	}
}

// changed reports whether the generation has changed since the last call.
func (s *announced) changed(t *testing.T) bool {
	t.Helper()
	generation, err := s.store.Generations.Get(t.Context(), s.org, announcedEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	changed := generation != s.generation
	s.generation = generation
	return changed
}

// testDiedBeforeAnnouncing kills the process at each write of an operation, and then reconciles or repeats it. If
// anything was stored, the generation must have changed then.
func testDiedBeforeAnnouncing(t *testing.T, docs storage.Documents, d operation) {
	for _, byClient := range []bool{false, true} {
		for at := 1; ; at++ {
			s := running(t, docs, printC)
			before := s.state(t)
			process := storagetest.NewFaultInjector(docs, storagetest.DieAtWrite(at, true))
			_ = s.model.do(t.Context(), newStore(t, process), d)
			if !process.Reached.Load() {
				break
			}
			stored := s.state(t) != before
			if byClient {
				stored = true
				s.do(t, d)
			} else if err := s.finish(t.Context(), s.store); err != nil {
				t.Fatal(err)
			}
			if stored && !s.changed(t) {
				t.Errorf("write %d, repeated by the client %v: the generation has not changed", at, byClient)
			}
		}
	}
}

// state differs if any of the operations was stored, even in part.
func (s *announced) state(t *testing.T) string {
	t.Helper()
	trail, err := s.store.Trails.Get(t.Context(), s.flow.ID, "other")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(trail.Template,
		len(everything[evidence.ArtifactRecord](t, s.engine, "artifacts", "created", s.org)),
		len(everything[evidence.Attestation](t, s.engine, "attestations", "time", s.org)))
}
