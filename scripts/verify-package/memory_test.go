package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/evidencetest"
	"attestry/evidence/translog"
)

// buildProgram builds the command, so that the memory of the test does not count.
func buildProgram(t *testing.T) (program string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reports the maximum memory of a process in KiB")
	}
	program = filepath.Join(t.TempDir(), "verify-package")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// measuredProgram is the variable with the program that a child process of this test runs and measures. The maximum memory
// of a process starts at that of its parent, so the test itself cannot be the parent.
const measuredProgram = "MEASURED_PROGRAM"

// measure runs a program, writes its maximum memory in KiB to stderr, and returns its exit code.
func measure(program string, args []string) int {
	command := exec.Command(program, args...)
	command.Stdout = os.Stdout
	command.Stderr = os.Stdout
	command.Run()
	fmt.Fprint(os.Stderr, command.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	return command.ProcessState.ExitCode()
}

// execute runs the program on a package, and checks its memory against the default limit.
func execute(t *testing.T, program string, content []byte) (code int, printed string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "package.tgz")
	evidencetest.Must(t, os.WriteFile(path, content, 0o600))
	var out, memory bytes.Buffer
	command := exec.Command(os.Args[0], path)
	// As on a large machine: the limit must not depend on the number of processors.
	command.Env = append(os.Environ(), measuredProgram+"="+program, "GOMAXPROCS=128")
	command.Stdout, command.Stderr = &out, &memory
	var exit *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	most, err := strconv.Atoi(memory.String())
	evidencetest.Must(t, err)
	if t.Logf("%d MiB", most>>10); most > audit.DefaultMemory>>10 {
		t.Errorf("used %d MiB, and printed %.1000s", most>>10, &out)
	}
	return command.ProcessState.ExitCode(), out.String()
}

// listOf makes a document with a list of entries of about size bytes.
func listOf(before, entry, behind string, size int) string {
	return before + strings.TrimSuffix(strings.Repeat(entry+",", size/(len(entry)+1)), ",") + behind + "\n"
}

// TestHostilePackagesTakeNoMoreMemory has members that would take many times their size when decoded.
func TestHostilePackagesTakeNoMoreMemory(t *testing.T) {
	program := buildProgram(t)
	const size = 6 << 20
	patterns := "_schema: https://attestry.example.com/schemas/policy/environment/v1\nartifacts:\n  attestations:\n"
	for i := range 1_000 {
		patterns += fmt.Sprintf("    - {name: \"*\", type: \"*\", if: \"${{ matches(artifact.name, '(x{1,900}y?){1}n%d') }}\"}\n", i)
	}
	for name, member := range map[string]file{
		"events":          {name: audit.EventsPath, content: listOf("[", "{}", "]", size)},
		"environments":    {name: audit.EnvironmentsPath, content: listOf("[", "{}", "]", size)},
		"reports":         {name: audit.ArtifactPath("x"), content: listOf(`{"reports":[`, "{}", "]}", size)},
		"other cases":     {name: audit.ArtifactPath("x"), content: listOf(`{"\u0052EPORTS":[`, "{}", "]}", size)},
		"verdicts":        {name: audit.TrailPath, content: listOf(`{"compliance_status":{"attestations":[`, "{}", "]}}", size)},
		"targets":         {name: audit.AttestationPath("a"), content: listOf(`{"targets":[`, `""`, "]}", size)},
		"annotations":     {name: audit.AttestationPath("a"), content: listOf(`{"annotations":{`, `"":""`, "}}", size)},
		"a payload":       {name: audit.AttestationPath("a"), content: listOf(`{"id":"a","type":"junit","payload":{"junit_results":[`, "{}", "]}}", size)},
		"rules":           {name: audit.TypePath("x", 1), content: listOf(`{"rules":[`, `""`, "]}", size)},
		"listed members":  {name: audit.ManifestPath, content: listOf(`{"members":[`, "{}", "]}", size)},
		"line breaks":     {name: audit.TrailPath, content: listOf("[\n", "{}", "]", size)},
		"depth":           {name: audit.TrailPath, content: strings.Repeat("[", size)},
		"patterns":        {name: audit.PolicyPath("x", 1), content: patterns},
		"YAML":            {name: audit.PolicyPath("x", 1), content: strings.Repeat("- {a: b}\n", 50_000)},
		"a long document": {name: audit.ReportPath, content: strings.Repeat("x", 256<<20)},
		"a long path":     {name: strings.Repeat("x", 1_000_000), content: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			files := append([]file{member}, newPackage(t)...)
			if code, printed := execute(t, program, pack(t, true, files...)); code != unsound {
				t.Errorf("exit code %d, printed %s", code, printed)
			}
		})
	}
	t.Run("members", func(t *testing.T) {
		var files []file
		for i := range 200_000 {
			files = append(files, file{name: fmt.Sprintf("member-%d", i)})
		}
		if code, printed := execute(t, program, pack(t, true, files...)); code != unsound {
			t.Errorf("exit code %d, printed %s", code, printed)
		}
	})
}

// TestLargePackagesAreVerified has packages with large members, or with many.
func TestLargePackagesAreVerified(t *testing.T) {
	program := buildProgram(t)
	for name, c := range map[string]struct {
		attestations, evidence int // number, and bytes of each file
		logged                 bool
	}{
		"much evidence":              {500, 2 << 20, false},
		"many attestations":          {10_000, 100, false},
		"many attestations in a log": {4_000, 100, true},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() {
				c.evidence = min(c.evidence, 64<<10)
			}
			attached := string(bytes.Repeat([]byte{'x'}, c.evidence))
			attested := evidence.Attestation{
				Name: "check", Type: evidence.TypeGeneric, Flow: "f-id", Trail: "t", Compliant: true,
				Evidence: &evidence.EvidenceFile{SHA256: evidence.SHA256([]byte(attached)), Size: int64(len(attached))},
			}
			var more []file
			for i := range c.attestations {
				attested.ID = fmt.Sprintf("attestation-%d", i)
				more = append(more, file{name: audit.EvidencePath(attested.ID), content: attached},
					file{name: audit.AttestationPath(attested.ID), content: encode(t, audit.NewAttestationDocument(attested, ""))})
			}
			if c.logged {
				more = append(more, logFiles(t, more)...)
			}
			first := evidence.Attestation{ID: "a", Name: "check", Type: evidence.TypeGeneric, Flow: "f-id", Trail: "t", Compliant: true}
			if code, printed := execute(t, program, pack(t, true, newPackageOf(t, first, more...)...)); code != sound {
				t.Errorf("exit code %d, printed %.1000s", code, printed)
			}
		})
	}
}

// logFiles makes the members for a log with the attestations among files. Attestation "a" is listed as unlogged.
func logFiles(t *testing.T, files []file) (of []file) {
	t.Helper()
	log, facts := newLog(t), map[string][]byte{}
	var ids []string
	for _, one := range files {
		if id, ok := strings.CutSuffix(strings.TrimPrefix(one.name, "attestations/"), "/attestation.json"); ok {
			var document audit.AttestationDocument
			evidencetest.Must(t, json.Unmarshal([]byte(one.content), &document))
			ids, facts[id] = append(ids, id), factOf(t, document.Attestation)
			log.add(entryOf(id, facts[id], testGroup))
		}
	}
	checkpoint := log.checkpoint(len(ids), log.keys)
	for index, id := range ids {
		folder := audit.FactFolder("attestation", id)
		of = append(of, file{name: folder + audit.EntryFile, content: string(log.entries[index])}, file{name: folder + audit.FactFile, content: string(facts[id])},
			file{name: folder + audit.ProofFile, content: log.proof(index, checkpoint)}, file{name: folder + audit.SaltFile, content: string(saltOf(id))})
	}
	group := audit.GroupFolder(translog.GroupCommitment(testSecret, testGroup))
	return append(of, file{name: audit.CheckpointPath, content: checkpoint}, file{name: audit.UnloggedPath, content: "attestation/a\n"},
		file{name: group + audit.GroupFile, content: testGroup}, file{name: group + audit.SaltFile, content: string(translog.GroupSalt(testSecret, testGroup))})
}
