package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/evidence/policy"
	"attestry/evidence/translog"
)

// logCheck is what a package says of the log of its organization.
type logCheck struct {
	keys      []string // verifiers, name+hash+key
	present   bool
	signature string
	// checkpoint is that of the package, and proven that of the proofs.
	checkpoint, proven string
	// files are those of facts and groups that were not read as a whole yet, by their folders.
	files   map[string]map[string][]byte
	entries map[string]logged // by kind/id
	groups  map[string]string // by commitment
	// unlogged are the facts, kind/id, of which the package says that they are not in the log.
	unlogged map[string]bool
	// documents are the facts that the other members show, by kind/id.
	documents map[string]shownFact
}

// logged is a fact whose entry the log has.
type logged struct {
	index int64
	group string // commitment
	sum   string
	trail string // key, "" if it has none
}

// shownFact is a fact that a member shows. Its sum is that of the same fact in the log, "" if the member has another form.
type shownFact struct {
	path, sum string
}

// LogResult is what is known of the log of a package.
type LogResult struct {
	// Checkpoint is the one that all proofs are of. It is signed if keys were trusted and nothing is wrong.
	Checkpoint translog.Checkpoint
	// Entries are the facts in the package, kind/id, whose entries the log has.
	Entries map[string]bool
	// Groups are the names of the groups that entries of the package belong to, by commitment.
	Groups map[string]string
	// Unlogged are the facts, kind/id, of which the package says that they are not in the log.
	Unlogged []string
}

// Trust has the log of the package verified by keys in the form of signed notes, name+hash+key. It is called before Add.
func (v *Verifier) Trust(keys []string) { v.log.keys = keys }

// show notes a fact that a member shows, with the value that the log's fact has to come to; nil if it has another form.
func (v *Verifier) show(kind, id, member string, value any) error {
	shown := shownFact{path: member}
	if value != nil {
		var err error
		if shown.sum, err = sumOf(value); err != nil {
			return err
		}
	}
	v.held += lengthOf(kind, id, shown.sum) + memberSize
	v.log.documents[kind+"/"+id] = shown
	return nil
}

// readApprovals notes the approvals.
func (v *Verifier) readApprovals(member string, content []byte) error {
	var approvals []approval.Approval
	if err := decodeList(v, content, &approvals); err != nil {
		return err
	}
	for i := range approvals {
		if err := v.show("approval", strings.ReplaceAll(approvals[i].Key(), "/", ":"), member, &approvals[i]); err != nil {
			return err
		}
	}
	return nil
}

// readControl notes the version of a control.
func (v *Verifier) readControl(member string, content []byte) error {
	var of struct {
		Identifier string      `json:"identifier"`
		Version    json.Number `json:"version"`
	}
	if err := json.Unmarshal(content, &of); err != nil {
		return err
	}
	return v.show("control", url.PathEscape(of.Identifier)+":"+of.Version.String(), member, nil)
}

// readLog reads a member of the log's folder. The files of a fact are held until all of them are there.
func (v *Verifier) readLog(member string, content []byte) error {
	l := &v.log
	l.present = true
	switch member {
	case CheckpointPath:
		l.checkpoint = string(content)
		return nil
	case UnloggedPath:
		for name := range strings.Lines(string(content)) {
			l.unlogged[strings.TrimSuffix(name, "\n")] = true
			v.held += memberSize
		}
		return v.hold(len(content))
	case LogInstructionsPath, VerifierKeysPath:
		return nil
	}
	folder, file := path.Split(member)
	if l.files[folder] == nil {
		l.files[folder] = map[string][]byte{}
	}
	files := l.files[folder]
	files[file] = content
	v.held += int64(len(content)) + memberSize
	switch {
	case strings.HasPrefix(folder, LogFolder+"groups/") && len(files) == 2:
		v.readGroup(folder, files)
	case strings.HasPrefix(folder, LogFolder+"facts/") && len(files) == 4:
		v.readFact(folder, files)
	default:
		return v.hold(0)
	}
	for _, content := range files {
		v.held -= int64(len(content)) + memberSize
	}
	delete(l.files, folder)
	return nil
}

func (v *Verifier) readGroup(folder string, files map[string][]byte) {
	commitment := translog.Commitment(files[SaltFile], files[GroupFile])
	if len(files[SaltFile]) != translog.SaltSize || folder != GroupFolder(commitment) {
		v.report(folder+GroupFile, "the folder is not named by the hash of the salt and the group")
		return
	}
	v.held += lengthOf(commitment, string(files[GroupFile]))
	v.log.groups[commitment] = string(files[GroupFile])
}

// readFact compares a fact with its entry, and the entry with the log that has the root of the checkpoint.
func (v *Verifier) readFact(folder string, files map[string][]byte) {
	l := &v.log
	var entry translog.Entry
	err := json.Unmarshal(files[EntryFile], &entry)
	if err != nil || !bytes.Equal(entry.Text(), files[EntryFile]) || folder != FactFolder(entry.Kind, entry.ID) {
		v.report(folder+EntryFile, "it is not the entry of this fact")
		return
	}
	if len(files[SaltFile]) != translog.SaltSize || entry.Hash != translog.Commitment(files[SaltFile], files[FactFile]) {
		v.report(folder+FactFile, "it was altered: the hash of the salt and the fact is not that of its entry")
		return
	}
	proof, err := translog.ParseProof(string(files[ProofFile]))
	if err != nil {
		v.report(folder+ProofFile, "%v", err)
		return
	}
	checkpoint, err := translog.ParseCheckpoint(proof.Checkpoint)
	if err == nil {
		err = proof.Check(files[EntryFile], &checkpoint)
	}
	if err != nil {
		v.report(folder+ProofFile, "it does not prove that the log has the entry: %v", err)
		return
	}
	if l.proven == "" {
		l.proven = proof.Checkpoint
	}
	if proof.Checkpoint != l.proven {
		v.report(folder+ProofFile, "its checkpoint is another one than that of other proofs")
	}
	known := logged{index: proof.Index, group: entry.Group}
	if known.sum, known.trail, err = v.readLogged(entry.Kind, files[FactFile]); err != nil {
		v.report(folder+FactFile, "%v", err)
	}
	v.held += lengthOf(entry.Kind, entry.ID, entry.Group, known.sum, known.trail) + memberSize
	l.entries[entry.Kind+"/"+entry.ID] = known
}

// readLogged returns the checksum of what a fact says, as show makes it, "" for kinds that members show in another form, and
// the key of its trail if it has one.
func (v *Verifier) readLogged(kind string, fact []byte) (sum, trail string, err error) {
	var value any
	switch kind {
	case "attestation":
		value = &evidence.Attestation{}
	case "artifact":
		value = &evidence.ArtifactRecord{}
	case "approval":
		value = &approval.Approval{}
	case "policy":
		value = &policy.Version{}
	default:
		return "", "", nil
	}
	if err := checkSize(fact, value, v.limits.decoded); err != nil {
		return "", "", err
	}
	if err := json.Unmarshal(fact, value); err != nil {
		return "", "", err
	}
	switch of := value.(type) {
	case *evidence.Attestation:
		trail = evidence.TrailKey(of.Flow, of.Trail)
		if of.Evidence != nil {
			of.Evidence.Object = ""
		}
	case *evidence.ArtifactRecord:
		trail = evidence.TrailKey(of.Flow, of.Trail)
	case *approval.Approval:
		trail = of.TrailKey()
	case *policy.Version:
		value = of.Content
	}
	sum, err = sumOf(value)
	return sum, trail, err
}

// sumOf is the SHA-256 of a value as members are written, as bytes.
func sumOf(value any) (string, error) {
	content, err := Encode(value)
	sum := sha256.Sum256(content)
	return string(sum[:]), err
}

// checkLog tells which facts of the package are not proven to be in the log.
func (v *Verifier) checkLog() {
	l := &v.log
	if !l.present && len(l.keys) == 0 {
		return
	}
	if l.checkpoint == "" {
		v.report(CheckpointPath, "it is missing: the package does not prove that anything in it is in a log")
		return
	}
	for folder := range l.files {
		v.report(folder, "a file is missing there")
	}
	if l.proven != "" && l.proven != l.checkpoint {
		v.report(CheckpointPath, "it is not the checkpoint of the proofs")
	}
	if len(l.keys) > 0 {
		v.checkSignatures()
	}
	for name, shown := range l.documents {
		entry, ok := l.entries[name]
		switch {
		case !ok && !l.unlogged[name]:
			v.report(shown.path, "the package has no entry of the log for %s", name)
		case ok && entry.sum != shown.sum:
			v.report(shown.path, "it does not say what entry %d of the log, %s, commits to", entry.index, name)
		}
	}
	for name, entry := range l.entries {
		kind, id, _ := strings.Cut(name, "/")
		if _, ok := l.documents[name]; !ok && !slices.Contains(environmentKinds, kind) {
			v.report(FactFolder(kind, id)+FactFile, "no other member shows this fact")
		}
		if group := l.groups[entry.group]; entry.group != "" && group == "" || entry.trail != "" && group != entry.trail {
			v.report(FactFolder(kind, id)+EntryFile, "the package does not have the group of the entry, or it is not the trail of the fact")
		}
	}
}

// environmentKinds are facts that the member at EnvironmentsPath shows a part of.
var environmentKinds = []string{"environment", "snapshot", "allowance"}

// checkSignatures verifies the signatures of the checkpoint and of the checksums.
func (v *Verifier) checkSignatures() {
	l := &v.log
	checkpoint, err := translog.OpenCheckpoint(l.checkpoint, l.keys...)
	if err != nil {
		v.report(CheckpointPath, "no key that is trusted has signed it: %v", err)
		return
	}
	text, signers, err := translog.OpenText(l.signature, l.keys...)
	if err != nil || !slices.Contains(signers, checkpoint.Origin) {
		v.report(SignaturePath, "no key of the log that is trusted has signed it: %v", err)
		return
	}
	var signed []Member
	for _, member := range v.members {
		if member.Path == ChecksumsPath || member.Path == ReportPath {
			signed = append(signed, member)
		}
	}
	slices.SortFunc(signed, func(a, b Member) int { return CompareMembers(a.Path, b.Path) })
	if text != Statement(checkpoint.Origin, signed) {
		v.report(SignaturePath, "it was signed for other checksums")
	}
}

// logResult is nil for packages without a checkpoint that can be read.
func (v *Verifier) logResult() *LogResult {
	l := &v.log
	checkpoint, err := translog.ParseCheckpoint(l.checkpoint)
	if err != nil {
		return nil
	}
	result := &LogResult{Checkpoint: checkpoint, Entries: map[string]bool{}, Groups: map[string]string{}, Unlogged: slices.Sorted(maps.Keys(l.unlogged))}
	for name, entry := range l.entries {
		result.Entries[name] = true
		if entry.group != "" {
			result.Groups[entry.group] = l.groups[entry.group]
		}
	}
	return result
}
