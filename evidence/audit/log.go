package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/evidence/translog"
)

// TrailKinds are the kinds of facts that belong to a trail.
var TrailKinds = []string{"artifact", "attestation", "approval"}

// Log has the members of a package that are about the transparency log of its organization.
type Log struct {
	// Checkpoint is that of all proofs. If keys are trusted and there are no findings, the log has signed it.
	Checkpoint translog.Checkpoint
	// Entries are the facts in the log, by kind/id.
	Entries map[string]LoggedFact
	// Unlogged are the facts, as kind/id, that are not in the log according to the package.
	Unlogged []string

	keys []string // verifiers, name+hash+key
	// signed, proven and signature are signed notes: the checkpoint of the package, that of the proofs, and the checksums.
	signed, proven, signature string
	// files are the files read so far of facts and groups that still lack some, by folder and name.
	files  map[string]map[string][]byte
	groups map[string]string    // by commitment
	shown  map[string]shownFact // by kind/id
}

// LoggedFact is a fact in the log.
type LoggedFact struct {
	// Group is the commitment of its group, "" if it has none.
	Group string
	trail string // key, "" if it belongs to none
	sum   string
}

// shownFact is a fact that a member contains. sum must equal that of the fact in the log. Both are "" for the kinds of
// facts that a member has in another form.
type shownFact struct {
	member, sum string
}

// Trust sets the verifier keys of the log, in the form of signed notes: name+hash+key. It is called before Add.
func (v *Verifier) Trust(keys []string) { v.log.keys = keys }

// addShown records a fact that a member contains. fact is nil if the member has it in another form.
func (v *Verifier) addShown(kind, id, member string, fact any) (err error) {
	shown := shownFact{member: member}
	if fact != nil {
		shown.sum, err = Sum(fact)
	}
	v.used += lengthOf(kind, id, shown.sum) + memberSize
	v.log.shown[kind+"/"+id] = shown
	return err
}

func (v *Verifier) readApprovals(member string, content []byte) error {
	var approvals []approval.Approval
	err := decodeList(v, content, &approvals)
	for i := 0; i < len(approvals) && err == nil; i++ {
		key, data := approvals[i].Key(), *approvals[i].Event().Data.(*evidence.ApprovalData)
		v.approvals[key] = data
		v.used += lengthOf(key, data.Fingerprint, data.Approval, data.Environment, data.State, data.Reviewer) + memberSize
		err = v.addShown("approval", strings.ReplaceAll(key, "/", ":"), member, &approvals[i])
	}
	return err
}

// readLog reads a member of the log's folder. The files of a fact are kept until all of them were read.
func (v *Verifier) readLog(member string, content []byte) error {
	l := &v.log
	switch member {
	case CheckpointPath:
		l.signed = string(content)
		return nil
	case UnloggedPath:
		l.Unlogged = strings.Fields(string(content))
		slices.Sort(l.Unlogged)
		return v.reserve(len(content) * stringHeader)
	case LogInstructionsPath, VerifierKeysPath:
		return nil
	}
	folder, file := path.Split(member)
	if l.files[folder] == nil {
		l.files[folder] = map[string][]byte{}
	}
	files := l.files[folder]
	files[file] = content
	if err := v.reserve(len(content) + memberSize); err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(folder, groupsFolder) && len(files) == 2:
		commitment := translog.Commitment(files[SaltFile], files[GroupFile])
		if len(files[SaltFile]) != translog.SaltSize || folder != GroupFolder(commitment) {
			v.report(folder+GroupFile, "its hash is not the name of its folder")
		}
		v.used += lengthOf(commitment, string(files[GroupFile])) + memberSize
		l.groups[commitment] = string(files[GroupFile])
	case len(files) == 4:
		v.readFact(folder, files)
	default:
		return nil
	}
	for _, content := range files {
		v.used -= int64(len(content)) + memberSize
	}
	delete(l.files, folder)
	return nil
}

// readFact compares a fact with its entry, and proves that a log with the checkpoint of the proof has the entry.
func (v *Verifier) readFact(folder string, files map[string][]byte) {
	var entry translog.Entry
	err := json.Unmarshal(files[EntryFile], &entry)
	if err != nil || !bytes.Equal(entry.Text(), files[EntryFile]) || folder != FactFolder(entry.Kind, entry.ID) {
		v.report(folder+EntryFile, "it is not the entry of this fact")
		return
	}
	if len(files[SaltFile]) != translog.SaltSize || entry.Hash != translog.Commitment(files[SaltFile], files[FactFile]) {
		v.report(folder+FactFile, "its hash is not that of its entry")
	}
	if err := v.checkProof(string(files[ProofFile]), files[EntryFile]); err != nil {
		v.report(folder+ProofFile, "it does not prove that the log has the entry: %v", err)
	}
	logged, err := v.readLogged(entry.Kind, files[FactFile])
	if err != nil {
		v.report(folder+FactFile, "%v", err)
	}
	logged.Group = entry.Group
	v.used += lengthOf(entry.Kind, entry.ID, logged.Group, logged.trail, logged.sum) + memberSize
	v.log.Entries[entry.Kind+"/"+entry.ID] = logged
}

// checkProof verifies a proof by its checkpoint, which must be that of all proofs.
func (v *Verifier) checkProof(file string, entry []byte) error {
	proof, err := translog.ParseProof(file)
	if err != nil {
		return err
	}
	if l := &v.log; l.proven == "" {
		l.proven = proof.Checkpoint
	}
	if proof.Checkpoint != v.log.proven {
		return errors.New("its checkpoint is another one than that of other proofs")
	}
	checkpoint, err := translog.ParseCheckpoint(proof.Checkpoint)
	if err != nil {
		return err
	}
	return proof.Check(entry, &checkpoint)
}

// readLogged reads a fact of a trail. Its sum is computed in the form in which the other member contains the fact.
func (v *Verifier) readLogged(kind string, fact []byte) (logged LoggedFact, err error) {
	attestation := evidence.Attestation{}
	value := map[string]any{"attestation": &attestation, "artifact": &evidence.ArtifactRecord{}, "approval": &approval.Approval{}}[kind]
	if value == nil {
		return logged, nil
	}
	if err := checkSize(fact, value, v.limits.decoded); err != nil {
		return logged, err
	}
	var of struct{ Flow, Trail string }
	if err := json.Unmarshal(fact, &of); err != nil {
		return logged, err
	}
	if err := json.Unmarshal(fact, value); err != nil {
		return logged, err
	}
	if attestation.Evidence != nil {
		attestation.Evidence.Object = "" // as in NewAttestationDocument
	}
	logged.trail = evidence.TrailKey(of.Flow, of.Trail)
	logged.sum, err = Sum(value)
	return logged, err
}

// checkLog reports facts of the package that are not proven to be in the log.
func (v *Verifier) checkLog() {
	l := &v.log
	if l.signed == "" {
		if len(l.keys) > 0 || len(l.Entries)+len(l.files) > 0 {
			v.report(CheckpointPath, "it is missing: nothing in the package is proven to be in a log")
		}
		return
	}
	var err error
	if l.Checkpoint, err = translog.ParseCheckpoint(l.signed); err != nil || l.proven != "" && l.proven != l.signed {
		v.report(CheckpointPath, "it is not the checkpoint of the proofs")
	}
	for folder := range l.files {
		v.report(folder, "it lacks a file")
	}
	for name, shown := range l.shown {
		logged, ok := l.Entries[name]
		_, unlogged := slices.BinarySearch(l.Unlogged, name)
		if !ok && !unlogged {
			v.report(shown.member, "the package has no entry of the log for %s", name)
		}
		if ok && logged.sum != shown.sum {
			v.report(shown.member, "what it says of %s is not what the entry of the log commits to", name)
		}
	}
	for name, logged := range l.Entries {
		kind, id, _ := strings.Cut(name, "/")
		if _, ok := l.shown[name]; !ok && slices.Contains(TrailKinds, kind) {
			v.report(FactFolder(kind, id)+FactFile, "no other member shows this fact")
		}
		if logged.trail != "" && logged.trail != l.groups[logged.Group] {
			v.report(FactFolder(kind, id)+EntryFile, "the package does not have its group, or that is not its trail")
		}
	}
	if len(l.keys) > 0 {
		v.checkSignatures()
	}
}

// checkSignatures verifies the signatures of the checkpoint and of the checksums.
func (v *Verifier) checkSignatures() {
	l := &v.log
	if _, err := translog.OpenCheckpoint(l.signed, l.keys...); err != nil {
		v.report(CheckpointPath, "no key that is trusted has signed it: %v", err)
	}
	text, signers, err := translog.OpenText(l.signature, l.keys...)
	if err != nil {
		v.report(SignaturePath, "no key that is trusted has signed it: %v", err)
		return
	}
	signed := slices.DeleteFunc(slices.Clone(v.members), func(m Member) bool { return m.Path != ChecksumsPath && m.Path != ReportPath })
	slices.SortFunc(signed, func(a, b Member) int { return CompareMembers(a.Path, b.Path) })
	if origin := l.Checkpoint.Origin; text != Statement(origin, signed) || !slices.Contains(signers, origin) {
		v.report(SignaturePath, "it was signed for other checksums, or by another log")
	}
}
