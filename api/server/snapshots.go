package server

import (
	"context"
	"slices"
	"strings"
	"time"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

// catchUpSpan bounds how long a reader waits for reports that are under way.
const catchUpSpan = 2 * time.Second

// listBlock is how many snapshots are held while a list is made, since the
// contract sets no limit to its pages.
const listBlock = storage.MaxMany - 1

type listSnapshotsInput struct {
	EnvironmentPath
	Page     int    `query:"page" minimum:"1" default:"1"`
	PerPage  int    `query:"per_page" minimum:"1" default:"15"`
	Interval string `query:"interval" default:"1..NOW" doc:"Two snapshot expressions joined by '..'"`
	Reverse  bool   `query:"reverse" default:"false"`
}

// GetSnapshotListItem is an entry of the list of snapshots
// (contract/live-shapes.md 11).
type GetSnapshotListItem struct {
	Index     int64   `json:"index"`
	From      float64 `json:"from"`
	To        float64 `json:"to" doc:"0 for the snapshot now in force"`
	Compliant bool    `json:"compliant"`
	Duration  float64 `json:"duration" doc:"seconds"`
}

type listSnapshotsAnswer struct {
	Body []GetSnapshotListItem
}

// listSnapshots lists snapshots, newest first. Their numbers have no gaps, so a
// page is looked up by id.
func (h *handlers) listSnapshots(ctx context.Context, in *listSnapshotsInput) (*listSnapshotsAnswer, error) {
	org := access(ctx)
	ref, err := h.environmentNamed(ctx, org, in.Environment)
	if err != nil {
		return nil, err
	}
	if err := h.intake.CatchUp(ctx, ref.ID, catchUpSpan); err != nil {
		return nil, err
	}
	latest, err := h.store.Snapshots.Latest(ctx, ref.ID)
	if err != nil {
		return nil, err
	}
	first, last, err := intervalOf(in.Interval, latest, org.OrgName, in.Environment)
	if err != nil {
		return nil, err
	}
	first, last = pageWithin(first, last, max(in.Page, 1), max(in.PerPage, 1), in.Reverse)
	answer := &listSnapshotsAnswer{Body: []GetSnapshotListItem{}}
	for ; first <= last; first += listBlock {
		end := min(first+listBlock-1, last)
		// One more than is shown: it ends the last one.
		found, err := h.store.Snapshots.GetMany(ctx, ref.ID, numbersBetween(first, min(end+1, latest)))
		if err != nil {
			return nil, err
		}
		answer.Body = append(answer.Body, h.listItems(found, end)...)
	}
	if !in.Reverse {
		slices.Reverse(answer.Body)
	}
	return answer, nil
}

// listItems describes snapshots that follow each other, up to number last.
func (h *handlers) listItems(found []snapshot.Snapshot, last int64) []GetSnapshotListItem {
	items := make([]GetSnapshotListItem, 0, len(found))
	for i, s := range found {
		if s.Number > last {
			break
		}
		item := GetSnapshotListItem{Index: s.Number, From: s.Timestamp, Compliant: s.Compliant}
		if i+1 < len(found) {
			item.To = found[i+1].Timestamp
			item.Duration = item.To - item.From
		} else {
			item.Duration = max(0, evidence.Seconds(h.clock())-item.From)
		}
		items = append(items, item)
	}
	return items
}

// intervalOf reads `a..b`, each side an expression or NOW; a side that is left
// out takes its default.
func intervalOf(text string, latest int64, org, environment string) (first, last int64, err error) {
	if text == "" {
		return 1, latest, nil
	}
	from, to, ok := strings.Cut(text, "..")
	if !ok || strings.Contains(to, "..") {
		return 0, 0, evidence.NewError(evidence.Invalid, "Invalid interval value: "+text)
	}
	if latest == 0 && from == "1" {
		// An empty environment has an empty list, not a missing snapshot.
		from = ""
	}
	if first, err = sideOf(from, 1, text, latest, org, environment); err != nil {
		return 0, 0, err
	}
	if last, err = sideOf(to, latest, text, latest, org, environment); err != nil {
		return 0, 0, err
	}
	if latest == 0 {
		return 1, 0, nil
	}
	return min(first, last), max(first, last), nil
}

func sideOf(side string, absent int64, interval string, latest int64, org, environment string) (int64, error) {
	switch {
	case side == "":
		return absent, nil
	case strings.EqualFold(side, "NOW"):
		return latest, nil
	}
	expression, err := snapshot.ParseExpression(side)
	if err != nil {
		return 0, evidence.NewError(evidence.Invalid, "Invalid interval value: "+interval)
	}
	return expression.Resolve(latest, org, environment)
}

// pageWithin cuts one page out of the numbers from first to last: from the end,
// or from the beginning in reverse.
func pageWithin(first, last int64, page, perPage int, reverse bool) (int64, int64) {
	// A page larger than the whole is the whole.
	size := min(int64(perPage), max(last-first+1, 1))
	skip := int64(offsetOf(page, int(size)))
	if reverse {
		first += skip
		return first, min(last, first+size-1)
	}
	last -= skip
	return max(first, last-size+1), last
}

func numbersBetween(first, last int64) []int64 {
	numbers := make([]int64, 0, last-first+1)
	for n := first; n <= last; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

type getSnapshotInput struct {
	EnvironmentPath
	Expression string `path:"snapshot_expression" doc:"N from 1, -N from the latest, ~N behind the latest."`
}

type snapshotAnswer struct {
	Body GetSnapshotResponse
}

// getSnapshot reads one snapshot.
func (h *handlers) getSnapshot(ctx context.Context, in *getSnapshotInput) (*snapshotAnswer, error) {
	org := access(ctx)
	ref, err := h.environmentNamed(ctx, org, in.Environment)
	if err != nil {
		return nil, err
	}
	expression, err := snapshot.ParseExpression(in.Expression)
	if err != nil {
		return nil, err
	}
	found, err := h.pickSnapshot(ctx, org, ref, in.Environment, expression)
	if err != nil {
		return nil, err
	}
	artifacts, err := h.store.Snapshots.Artifacts(ctx, &found[0])
	if err != nil {
		return nil, err
	}
	changes, err := h.store.Snapshots.Changes(ctx, &found[0])
	if err != nil {
		return nil, err
	}
	body := showSnapshot(&found[0], artifacts, changes)
	body.HTMLURL = h.links.Snapshot(org.OrgName, in.Environment, found[0].Number)
	if len(found) > 1 {
		body.IsLatest = false
		body.NextSnapshotTimestamp = &found[1].Timestamp
	}
	return &snapshotAnswer{Body: body}, nil
}

// pickSnapshot returns the snapshot that is asked for, and the one after it if
// there is one.
func (h *handlers) pickSnapshot(ctx context.Context, org evidence.OrgAccess, ref storage.EnvironmentRef, name string, expression snapshot.Expression) ([]snapshot.Snapshot, error) {
	if err := h.intake.CatchUp(ctx, ref.ID, catchUpSpan); err != nil {
		return nil, err
	}
	latest, err := h.store.Snapshots.Latest(ctx, ref.ID)
	if err != nil {
		return nil, err
	}
	number, err := expression.Resolve(latest, org.OrgName, name)
	if err != nil {
		return nil, err
	}
	found, err := h.store.Snapshots.GetMany(ctx, ref.ID, []int64{number, number + 1})
	if err == nil && (len(found) == 0 || found[0].Number != number) {
		err = storage.ErrNotFound
	}
	return found, err
}
