package snapshots

import (
	"context"
	"slices"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/evidence/timeline"
)

// snapshotsPerRead bounds the snapshots in memory while a list is sent, because the API does not limit per_page.
const snapshotsPerRead = 100

type listSnapshotsInput struct {
	resource.EnvironmentPath
	Page     int    `query:"page" minimum:"1" default:"1"`
	PerPage  int    `query:"per_page" minimum:"1" default:"15"`
	Interval string `query:"interval" default:"1..NOW" doc:"Two snapshot expressions joined by '..', or one for that snapshot alone."`
	Reverse  bool   `query:"reverse" default:"false"`
}

// GetSnapshotListItem is an entry of the list of snapshots (docs/semantics.md 11.6).
type GetSnapshotListItem struct {
	Index     int64   `json:"index"`
	From      float64 `json:"from"`
	To        float64 `json:"to" doc:"0 for the snapshot now in force"`
	Compliant bool    `json:"compliant"`
	Duration  float64 `json:"duration" doc:"seconds"`
	// State is false for non-compliant and null for unknown. Compliant is false for both.
	State *bool `json:"state" nullable:"true" doc:"The verdict on all that ran; null if it is unknown."`
}

// listSnapshots lists snapshots, newest first. Their numbers have no gaps, so each page is read by numbers.
func (h *handlers) listSnapshots(ctx context.Context, in *listSnapshotsInput, environment evidence.Environment) (*server.Answer[jsonstream.List[GetSnapshotListItem]], error) {
	timeline, err := h.timeline(ctx, environment)
	if err != nil {
		return nil, err
	}
	first, last, err := timeline.Interval(in.Interval)
	if err != nil {
		return nil, err
	}
	first, last = pageWithin(first, last, max(in.Page, 1), max(in.PerPage, 1), in.Reverse)
	return server.Answered(jsonstream.NewList(func(ctx context.Context) ([]GetSnapshotListItem, bool, error) {
		if first > last {
			return nil, false, nil
		}
		server.RequestOf(ctx).Memory.Rewind(0)
		begin, end := max(first, last-snapshotsPerRead+1), last
		if in.Reverse {
			begin, end = first, min(first+snapshotsPerRead-1, last)
			first = end + 1
		} else {
			last = begin - 1
		}
		// Read one more: it has the end of the last shown snapshot.
		found, err := h.Snapshots.GetMany(ctx, environment.ID, numbersBetween(begin, min(end+1, timeline.Latest)))
		items := h.listItems(found, end)
		if !in.Reverse {
			slices.Reverse(items)
		}
		return items, first <= last, err
	})), nil
}

// listItems shows consecutive snapshots, up to the number last.
func (h *handlers) listItems(found []snapshot.Snapshot, last int64) []GetSnapshotListItem {
	items := make([]GetSnapshotListItem, 0, len(found))
	for i, s := range found {
		if s.Number > last {
			break
		}
		item := GetSnapshotListItem{Index: s.Number, From: s.Timestamp, Compliant: s.Compliant(), State: s.State}
		if i+1 < len(found) {
			item.To = found[i+1].Timestamp
			item.Duration = evidence.RoundSeconds(item.To - item.From)
		} else {
			item.Duration = evidence.RoundSeconds(max(0, evidence.Seconds(h.Clock())-item.From))
		}
		items = append(items, item)
	}
	return items
}

// pageWithin returns the first and last number of a page of the numbers from first to last. Pages are counted from the
// end, or in reverse from the beginning.
func pageWithin(first, last int64, page, perPage int, reverse bool) (int64, int64) {
	size := min(int64(perPage), max(last-first+1, 1))
	skip := int64(server.OffsetOf(page, int(size)))
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
	resource.EnvironmentPath
	Expression string `path:"snapshot_expression" doc:"N from 1, -N from the latest, ~N behind the latest; @{YYYY-MM-DDTHH:MM:SS} in UTC, @{N.hours|days|weeks|months.ago} and @{now} are the snapshot in force then."`
	Explain    bool   `query:"explain" default:"false" doc:"Whether to explain what is not compliant."`
}

func (h *handlers) getSnapshot(ctx context.Context, in *getSnapshotInput, environment evidence.Environment) (*server.Answer[GetSnapshotResponse], error) {
	expression, err := timeline.ParseExpression(in.Expression)
	if err != nil {
		return nil, err
	}
	loaded, err := h.loadSnapshot(ctx, environment, expression)
	if err != nil {
		return nil, err
	}
	body, err := h.showSnapshot(ctx, environment, &loaded, in.Explain)
	return server.Answered(body), err
}
