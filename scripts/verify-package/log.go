package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"attestry/evidence/audit"
	"attestry/evidence/translog"
)

const (
	// readTimeout bounds the request for a bundle of entries.
	readTimeout = time.Minute
	// maxEntry is the maximum size of an entry with its length prefix, in bytes.
	maxEntry = 2 + 1<<16
)

var client = &http.Client{Timeout: readTimeout}

// comparison compares a package with the log.
type comparison struct {
	result *audit.Result
	groups map[string]bool // commitments
	// OfTrail counts the log entries of the package's trails whose facts the package has, More those whose facts it lacks.
	OfTrail, More int
}

// compareLog reads the log up to the checkpoint of the package and the kept one, whichever is larger, and adds a
// finding for each contradiction. It returns nil if no log is given, or the package has findings already.
func compareLog(ctx context.Context, o *options, result *audit.Result) (*comparison, error) {
	if o.log == "" || len(result.Findings) > 0 {
		return nil, nil
	}
	c := &comparison{result: result, groups: map[string]bool{}}
	for _, fact := range result.Log.Entries {
		c.groups[fact.Group] = true
	}
	own := &result.Log.Checkpoint
	size := own.Size
	if o.Kept != nil {
		if o.Kept.Origin != own.Origin {
			c.report(keptName, "it is of the log %s, not of %s", o.Kept.Origin, own.Origin)
			return c, nil
		}
		size = max(size, o.Kept.Size)
	}
	var tree translog.Tree
	c.compareRoot(keptName, o.Kept, &tree)
	for tree.Size < size {
		texts, err := readBundle(ctx, o, translog.Part{
			Level: translog.Entries, Number: tree.Size / translog.Width, Width: int(min(size-tree.Size, translog.Width)),
		})
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			if tree.Size < own.Size {
				c.compareEntry(tree.Size, text)
			}
			tree.Append(text)
			c.compareRoot(audit.CheckpointPath, own, &tree)
			c.compareRoot(keptName, o.Kept, &tree)
		}
	}
	return c, nil
}

// keptName is the name of the kept checkpoint in findings.
const keptName = "--checkpoint"

// compareRoot compares the tree with a checkpoint of the same size.
func (c *comparison) compareRoot(name string, checkpoint *translog.Checkpoint, tree *translog.Tree) {
	if checkpoint != nil && checkpoint.Size == tree.Size && checkpoint.Root != tree.Root() {
		c.report(name, "it is not a checkpoint of the first %d entries of the log", tree.Size)
	}
}

// compareEntry looks up the fact of an entry in the package, if it is a fact of the package's trails.
func (c *comparison) compareEntry(index int64, text []byte) {
	var entry translog.Entry
	if err := json.Unmarshal(text, &entry); err != nil {
		return // the root will differ
	}
	_, ok := c.result.Log.Entries[entry.Kind+"/"+entry.ID]
	switch {
	case !c.groups[entry.Group] || !slices.Contains(audit.TrailKinds, entry.Kind):
	case ok:
		c.OfTrail++
	case c.result.Manifest.Subject.Kind == audit.OfTrail:
		c.report(fmt.Sprintf("entry %d of the log", index), "it is of the trail, and the package does not have %s %s", entry.Kind, entry.ID)
	default:
		c.More++
	}
}

func (c *comparison) report(member, format string, args ...any) {
	c.result.Findings = append(c.result.Findings, audit.Finding{Member: member, Reason: fmt.Sprintf(format, args...)})
}

func readBundle(ctx context.Context, o *options, of translog.Part) ([][]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.log+"/tile/"+of.Path(), http.NoBody)
	if err != nil {
		return nil, err
	}
	if o.token != "" {
		request.Header.Set("Authorization", "Bearer "+o.token)
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	bundle, err := io.ReadAll(io.LimitReader(answer.Body, int64(of.Width)*maxEntry))
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s: %.200s", o.log, answer.Status, bundle)
	}
	return translog.ReadBundle(bundle, of.Width)
}
