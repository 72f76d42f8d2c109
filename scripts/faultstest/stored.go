package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"attestry/evidence/translog"
	"attestry/scripts/clienttest"
)

// logicalEnvironment is the logical environment with those of all writers.
const logicalEnvironment = "all"

// collection adds the facts of the service to a ledger, and wants a notice and a log entry for each. It reads pages of
// the maximum size.
type collection struct {
	*ledger
	client *clienttest.Client
	err    error // after an error, nothing more is read
}

// list reads a list and calls add with each item.
func list[T any](ctx context.Context, c *collection, path string, perPage int, add func(*T)) {
	if c.err != nil {
		return
	}
	var all []T
	all, c.err = clienttest.List[T](ctx, c.client, path, perPage)
	for i := range all {
		add(&all[i])
	}
}

func (c *collection) wantNotice(n notice) { c.want[n.name()]++ }

func (c *collection) trails(ctx context.Context, flow string) {
	list(ctx, c, "/trails/{org}/"+flow, 100, func(trail *struct {
		Name  string
		State string `json:"compliance_state"`
	}) {
		c.got["trail "+trail.Name+" "+trail.State]++
		c.wantNotice(notice{Type: "TRAIL_STARTED", Trail: part{Name: trail.Name}})
	})
	list(ctx, c, "/artifacts/{org}/"+flow, 1000, func(artifact *struct {
		ID, Fingerprint, State string
		Trail                  string                `json:"trail_name"`
		UserData               struct{ Mark string } `json:"user_data"`
	}) {
		c.got["artifact "+artifact.UserData.Mark+" "+artifact.State]++
		c.want["entry artifact/"+artifact.ID]++
		c.wantNotice(notice{Type: "ARTIFACT_REPORTED", Trail: part{Name: artifact.Trail}, Artifact: part{Fingerprint: artifact.Fingerprint}})
	})
	list(ctx, c, "/attestations/{org}/"+flow, 100, func(attestation *struct {
		ID          string                `json:"attestation_id"`
		Trail       string                `json:"trail_name"`
		Fingerprint string                `json:"artifact_fingerprint"`
		Compliant   bool                  `json:"is_compliant"`
		UserData    struct{ Mark string } `json:"user_data"`
	}) {
		c.got[fmt.Sprintf("attestation %s %t", attestation.UserData.Mark, attestation.Compliant)]++
		c.want["entry attestation/"+attestation.ID]++
		c.wantNotice(notice{Type: "ATTESTATION_REPORTED", Trail: part{Name: attestation.Trail}, Artifact: part{Fingerprint: attestation.Fingerprint}, Attestation: part{ID: attestation.ID}})
	})
}

// snapshots adds the snapshots of an environment with the artifacts that start in them, and returns their number.
func (c *collection) snapshots(ctx context.Context, environment string) (n int) {
	started := map[int][]string{}
	list(ctx, c, "/environments/{org}/"+environment+"/events", 100, func(event *struct {
		Snapshot    int    `json:"snapshot_index"`
		Fingerprint string `json:"sha256"`
		Type        string
	}) {
		if strings.HasPrefix(event.Type, "started-") {
			started[event.Snapshot] = append(started[event.Snapshot], event.Fingerprint)
		}
	})
	list(ctx, c, "/snapshots/{org}/"+environment, 1000, func(snapshot *struct {
		Index     int
		Compliant bool
	}) {
		n++
		index := strconv.Itoa(snapshot.Index)
		// Log entries have the ids of environments, which are unknown here.
		c.want["entry snapshot/"+index]++
		if environment == logicalEnvironment {
			c.got["snapshot "+environment+":"+index]++
			return
		}
		c.got[fmt.Sprintf("snapshot %s:%s %t %s", environment, index, snapshot.Compliant, strings.Join(started[snapshot.Index], " "))]++
		for _, artifact := range started[snapshot.Index] {
			c.wantNotice(notice{Type: "ARTIFACT_STARTED", Environment: environment, Snapshot: part{Index: index}, Artifact: part{Fingerprint: artifact}})
		}
	})
	return n
}

// entries adds the entries of the transparency log, and returns its verifier keys.
func (c *collection) entries(ctx context.Context) (keys []string) {
	var log struct {
		Size int64
		Keys []string `json:"verifier_keys"`
	}
	get := func(path string) (body []byte) {
		if c.err == nil {
			body, c.err = clienttest.Get(ctx, c.client, "/log/{org}"+path)
		}
		return body
	}
	if body := get(""); c.err == nil {
		c.err = json.Unmarshal(body, &log)
	}
	for first := int64(0); first < log.Size && c.err == nil; first += translog.Width {
		part := translog.Part{Level: translog.Entries, Number: first / translog.Width, Width: int(min(log.Size-first, translog.Width))}
		bundle := get("/tile/" + strings.ReplaceAll(part.Path(), "/", "%2F"))
		if c.err != nil {
			break
		}
		var texts [][]byte
		texts, c.err = translog.ReadBundle(bundle, part.Width)
		for _, text := range texts {
			var entry translog.Entry
			c.err = errors.Join(c.err, json.Unmarshal(text, &entry))
			switch _, number, _ := strings.Cut(entry.ID, ":"); entry.Kind {
			case "artifact", "attestation":
				c.got["entry "+entry.Kind+"/"+entry.ID]++
			case "snapshot":
				c.got["entry snapshot/"+number]++
			}
		}
	}
	return log.Keys
}
