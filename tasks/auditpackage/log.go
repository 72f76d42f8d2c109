package auditpackage

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/template"
	"attestry/evidence/translog"
	"attestry/storage"
	"attestry/storage/logs"
)

// errNotCovered ends an attempt to assemble facts that the log does not cover yet.
var errNotCovered = evidence.NewError(evidence.Unavailable, "No checkpoint of the transparency log covers all facts of the package yet.")

// CoverPause is the pause after an attempt that ended with errNotCovered. A checkpoint is signed every second.
const CoverPause = 500 * time.Millisecond

// proofs are the proofs from the organization's log in a package.
type proofs struct {
	// log is the log. Its checkpoint is the first one that covers all facts of the package.
	log logs.Log
	// leaves are those of the facts, in the order of their folders.
	leaves []logs.Leaf
	// unlogged are the names of facts that have no leaf, sorted.
	unlogged []string
}

// logOf returns the log of an organization, the zero value if it has none.
func logOf(ctx context.Context, store *app.Store, org string) (logs.Log, error) {
	log, err := store.Logs.Get(ctx, org)
	return log, storage.IgnoreMissing(err)
}

func (d *draft) loadProofs(ctx context.Context) error {
	if len(d.LogKeys) == 0 {
		return nil
	}
	names, err := d.factNames(ctx)
	if err != nil {
		return err
	}
	p := &proofs{}
	if p.leaves, err = d.store.Logs.LeavesOf(ctx, d.org, names); err != nil {
		return err
	}
	last, known := int64(1), map[string]bool{}
	for i := range p.leaves {
		known[logs.FactName(p.leaves[i].Kind, p.leaves[i].ID)] = true
		if last = max(last, p.leaves[i].Index); p.leaves[i].Index == 0 {
			return errNotCovered
		}
	}
	covering, err := d.store.Logs.Covering(ctx, d.org, last)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	// The log is read after its checkpoint, and is at least as large.
	if p.log, err = logOf(ctx, d.store, d.org); err != nil || p.log.Origin == "" {
		return err // or nothing was ever logged
	}
	// The keys of the package have not signed the checkpoints of a former log, nor those of before the keys were replaced.
	// Then the last checkpoint is used, which is newer.
	if _, err := translog.OpenCheckpoint(covering.Note, d.LogKeys.Verifiers(p.log.Origin)...); err != nil {
		covering.Size, covering.Note = p.log.Signed, p.log.Checkpoint
	}
	if covering.Size < last || p.log.Tree.Size < covering.Size {
		return errNotCovered
	}
	p.log.Checkpoint = covering.Note
	slices.SortFunc(p.leaves, func(a, b logs.Leaf) int {
		return audit.CompareMembers(audit.FactFolder(a.Kind, a.ID), audit.FactFolder(b.Kind, b.ID))
	})
	p.unlogged = slices.DeleteFunc(names, func(name string) bool { return known[name] })
	slices.Sort(p.unlogged)
	d.proofs = p
	return nil
}

// factNames returns the names that the leaves of all facts of the package have.
func (d *draft) factNames(ctx context.Context) ([]string, error) {
	names := slices.Clone(d.judged.snapshots)
	add := func(kind string, id ...string) { names = append(names, logs.FactName(kind, id...)) }
	for i := range d.records {
		add("artifact", d.records[i].ID)
	}
	for i := range d.attested {
		add("attestation", d.attested[i].ID)
	}
	for i := range d.approvals {
		add("approval", d.approvals[i].Key())
	}
	for id := range d.templates {
		if id != template.ID([]byte(template.Empty)) { // it is of all organizations, and no fact of any
			add("template", id)
		}
	}
	for i := range d.policies {
		add("policy", d.policies[i].Policy, strconv.Itoa(d.policies[i].Version))
	}
	for i := range d.controls {
		add("control", url.PathEscape(d.controls[i].Identifier), strconv.Itoa(d.controls[i].Version))
	}
	for i := range d.types {
		add("attestation_type", d.types[i].Name, strconv.Itoa(d.types[i].Version))
	}
	for kind, documents := range map[string][]string{"environment": d.judged.ids, "allowance": d.judged.allowances} {
		versions, err := d.store.Logs.VersionNames(ctx, d.org, kind, evidence.Distinct(documents))
		if err != nil {
			return nil, err
		}
		names = append(names, versions...)
	}
	return evidence.Distinct(names), nil
}

func (d *draft) writeLog(ctx context.Context, out *archive) error {
	p, at := d.proofs, d.latest()
	if err := out.add(audit.CheckpointPath, at, []byte(p.log.Checkpoint)); err != nil {
		return err
	}
	var groups []string
	for i := range p.leaves {
		if group := p.leaves[i].Group; group != "" {
			groups = append(groups, group)
		}
	}
	err := d.store.Logs.EachFact(ctx, p.leaves, func(leaf *logs.Leaf, fact []byte) error { return d.writeFact(ctx, out, leaf, fact) })
	if err != nil {
		return err
	}
	var rest []member
	for _, group := range evidence.Distinct(groups) {
		folder := audit.GroupFolder(translog.GroupCommitment(p.log.Secret, group))
		rest = append(rest, member{folder + audit.GroupFile, at, []byte(group)},
			member{folder + audit.SaltFile, at, translog.GroupSalt(p.log.Secret, group)})
	}
	if len(p.unlogged) > 0 {
		rest = append(rest, member{audit.UnloggedPath, at, []byte(strings.Join(p.unlogged, "\n") + "\n")})
	}
	rest = append(rest, member{audit.LogInstructionsPath, at, audit.LogInstructions},
		member{audit.VerifierKeysPath, at, []byte(strings.Join(d.LogKeys.Verifiers(p.log.Origin), "\n") + "\n")})
	slices.SortFunc(rest, compareMembers)
	return out.addAll(rest)
}

func (d *draft) writeFact(ctx context.Context, out *archive, leaf *logs.Leaf, fact []byte) error {
	proof, err := d.store.Logs.Prove(ctx, &d.proofs.log, leaf.Index-1)
	if err != nil {
		return fmt.Errorf("prove %s %s: %w", leaf.Kind, leaf.ID, err)
	}
	folder, at := audit.FactFolder(leaf.Kind, leaf.ID), d.latest()
	return out.addAll([]member{
		{folder + audit.EntryFile, at, leaf.Entry(d.proofs.log.Secret).Text()},
		{folder + audit.FactFile, at, fact},
		{folder + audit.ProofFile, at, []byte(proof.Text())},
		{folder + audit.SaltFile, at, leaf.Salt},
	})
}

// signature returns the signed statement about the checksums and the report, if that is not nil.
func (d *draft) signature(checksums, report []byte) ([]byte, error) {
	signed := []audit.Member{audit.NewMember(audit.ChecksumsPath, checksums)}
	if report != nil {
		signed = append(signed, audit.NewMember(audit.ReportPath, report))
	}
	origin := d.proofs.log.Origin
	text, err := d.LogKeys.SignText(origin, audit.Statement(origin, signed))
	return []byte(text), err
}
