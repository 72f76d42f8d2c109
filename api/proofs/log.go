// Package proofs has the operations on the transparency logs of organizations.
package proofs

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/translog"
	"attestry/storage"
	"attestry/storage/logs"
)

type handlers struct {
	*resource.Base
}

// Routes returns the routes of transparency logs. The checkpoint and the tiles are also at /-/log/{org}, because the
// clients of tlog-tiles expect them under a prefix with nothing else.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{base}
	return server.Routes(map[string]server.Binder{
		"get_log":            server.Handle(h.getLog),
		"get_log_checkpoint": server.Handle(h.getCheckpoint),
		"get_log_tile":       server.Handle(h.getTile),
		"list_log_entries":   server.Handle(h.listEntries),
		"get_log_proof":      server.Handle(h.getProof),
	})
}

// LogResponse describes the log of an organization (docs/semantics.md 24.4).
type LogResponse struct {
	Origin       string   `json:"origin" doc:"Names the log in checkpoints."`
	VerifierKeys []string `json:"verifier_keys" doc:"Public keys of the last checkpoint, in the form of signed notes."`
	Size         int64    `json:"size" doc:"How many entries the last checkpoint covers."`
	RootHash     string   `json:"root_hash" doc:"Of the last checkpoint, in base64."`
	Timestamp    float64  `json:"timestamp" doc:"When it was signed, in Unix seconds."`
	LagSeconds   float64  `json:"lag_seconds" doc:"For how long the oldest fact waits that is not in the log yet; 0 if none does."`
	Continues    string   `json:"continues,omitempty" doc:"Last checkpoint of the log that this one continues: the database was restored from a backup. Absent from a first log."`
}

func (h *handlers) getLog(ctx context.Context, _ *server.OrgPath) (*server.Answer[LogResponse], error) {
	org := server.Access(ctx)
	log, err := h.load(ctx, org)
	if err != nil {
		return nil, err
	}
	checkpoint, err := translog.ParseCheckpoint(log.Checkpoint)
	if err != nil {
		return nil, storage.Damaged("The checkpoint of the log is damaged", err)
	}
	pending, err := h.Logs.Pending(ctx, org.OrgID, 0, 1)
	if err != nil {
		return nil, err
	}
	body := LogResponse{
		Origin: log.Origin, VerifierKeys: log.Verifiers, Size: checkpoint.Size, RootHash: base64.StdEncoding.EncodeToString(checkpoint.Root[:]), Timestamp: log.SignedAt,
		Continues: log.Continues,
	}
	if len(pending) > 0 {
		body.LagSeconds = evidence.RoundSeconds(max(0, evidence.Seconds(h.Clock())-pending[0].At))
	}
	return server.Answered(body), nil
}

// load returns the log of an organization. It is evidence.NotFound until the log has a checkpoint.
func (h *handlers) load(ctx context.Context, org evidence.OrgAccess) (logs.Log, error) {
	log, err := h.Logs.Get(ctx, org.OrgID)
	if errors.Is(err, storage.ErrNotFound) || err == nil && log.Checkpoint == "" {
		return log, evidence.Errorf(evidence.NotFound, "Organization '%s' has no transparency log yet", org.OrgName)
	}
	return log, err
}

func (h *handlers) getCheckpoint(ctx context.Context, _ *server.OrgPath) (*server.StreamOutput, error) {
	log, err := h.load(ctx, server.Access(ctx))
	if err != nil {
		return nil, err
	}
	return send("text/plain; charset=utf-8", "no-cache", []byte(log.Checkpoint)), nil
}

// immutable is the Cache-Control of tiles, which never change.
const immutable = "private, max-age=31536000, immutable"

type tilePath struct {
	server.OrgPath
	Tile string `path:"tile" doc:"Level and number of a tile, or entries and number of a bundle, as tlog-tiles says, with slashes as %2F: 0%2Fx001%2F067, entries%2F000.p%2F7."`
}

func (h *handlers) getTile(ctx context.Context, in *tilePath) (*server.StreamOutput, error) {
	part, ok := translog.ParsePart(in.Tile)
	if !ok {
		return nil, validation.Fault("tile", "It is no tile of a log", in.Tile)
	}
	log, err := h.load(ctx, server.Access(ctx))
	if err != nil {
		return nil, err
	}
	if !part.Within(log.Tree.Size) {
		return nil, evidence.Errorf(evidence.NotFound, "The log has no tile '%s'", in.Tile)
	}
	content, err := h.Logs.Part(ctx, &log, part)
	if err != nil {
		return nil, err
	}
	return send("application/octet-stream", immutable, content), nil
}

func send(contentType, cache string, content []byte) *server.StreamOutput {
	return &server.StreamOutput{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", contentType)
		ctx.SetHeader("Cache-Control", cache)
		_, _ = ctx.BodyWriter().Write(content) // a write to a buffer, which cannot fail
	}}
}

type proofPath struct {
	server.OrgPath
	Kind string `path:"kind" doc:"What the fact is, such as artifact, attestation, snapshot or approval."`
	ID   string `path:"id" doc:"Which one it is, as its entry says. The name of an environment or a flow may stand for its id."`
}

// ProofResponse proves that a fact is in the log (docs/semantics.md 24.4).
type ProofResponse struct {
	Entry      string   `json:"entry" doc:"The entry as it stands in the log."`
	Fact       string   `json:"fact,omitempty" doc:"The fact, byte for byte as it is stored; not of entries of the audit log."`
	Salt       string   `json:"salt" doc:"Salt of the fact, in base64: the hash of the entry is that of the salt and the fact."`
	Index      int64    `json:"index" doc:"Place of the entry in the log, from 0."`
	Proof      []string `json:"proof" doc:"Hashes that lead from the entry to the root, in base64."`
	Checkpoint string   `json:"checkpoint" doc:"Signed note of the root."`
	TlogProof  string   `json:"tlog_proof" doc:"Index, hashes and checkpoint as a file of C2SP tlog-proof."`
}

func (h *handlers) getProof(ctx context.Context, in *proofPath) (*server.Answer[ProofResponse], error) {
	org := server.Access(ctx)
	names, err := h.resolveFacts(ctx, org, []string{in.Kind + "/" + in.ID})
	if err != nil {
		return nil, err
	}
	leaves, err := h.Logs.Indexed(ctx, org.OrgID, names)
	if err != nil {
		return nil, err
	}
	log, err := h.load(ctx, org)
	if err != nil {
		return nil, err
	}
	if len(leaves) == 0 || leaves[0].Index > log.Signed {
		return nil, h.notProven(ctx, org, in, names[0])
	}
	leaf := leaves[0]
	proof, err := h.Logs.Prove(ctx, &log, leaf.Index-1)
	if err != nil {
		return nil, err
	}
	body := ProofResponse{
		Entry: string(leaf.Entry(log.Secret).Text()), Salt: base64.StdEncoding.EncodeToString(leaf.Salt), Index: proof.Index,
		Proof: []string{}, Checkpoint: proof.Checkpoint, TlogProof: proof.Text(),
	}
	for _, hash := range proof.Hashes {
		body.Proof = append(body.Proof, base64.StdEncoding.EncodeToString(hash[:]))
	}
	if in.Kind == "audit_entry" {
		return server.Answered(body), nil
	}
	err = h.Logs.EachFact(ctx, []logs.Leaf{leaf}, func(_ *logs.Leaf, fact []byte) error {
		body.Fact = string(fact)
		return nil
	})
	return server.Answered(body), err
}

// notProven returns the error for a fact that no checkpoint covers: NotFound if it does not exist, else Unavailable.
func (h *handlers) notProven(ctx context.Context, org evidence.OrgAccess, in *proofPath, name string) error {
	kind, id, _ := strings.Cut(name, "/")
	exists, err := h.Logs.HasFact(ctx, org.OrgID, kind, id)
	if err != nil {
		return err
	}
	if !exists {
		return evidence.Errorf(evidence.NotFound, "%s '%s' does not exist in organization '%s'", in.Kind, in.ID, org.OrgName)
	}
	return evidence.Busy(fmt.Sprintf("%s '%s' is not in the log yet, please try again", in.Kind, in.ID))
}
