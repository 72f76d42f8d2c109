package workload

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"attestry/scripts/bench/measure"
)

// environmentRows are the rows about reading what environments have recorded.
func environmentRows() []Row {
	return slices.Concat(
		[]Row{snapshotRow(1_000), snapshotRow(10_000)},
		momentRows(1_000, 1_000),
		[]Row{diffRow(1_000, 1_000), diffRow(10_000, 1_000)},
		eventRows(1, 1_000),
	)
}

// snapshotRow is about reading the only snapshot of an environment.
func snapshotRow(pods int) Row {
	return grown("get snapshot of %d artifacts known to two flows, 1 client", pods, 1, func(s *stage, _ int) (measure.Client, error) {
		if err := s.know(s.scope, pods); err != nil {
			return measure.Client{}, err
		}
		h, err := s.newHistory(pods)
		if err != nil {
			return measure.Client{}, err
		}
		return s.reading(func() string { return h.snapshotPath("-1") })
	})
}

// momentRows are about reading the newest one of many snapshots and one in the middle,
// after each of which one image was replaced.
func momentRows(snapshots, pods int) []Row {
	var rows []Row
	for _, asked := range []string{"-1", strconv.Itoa(snapshots / 2)} {
		rows = append(rows, Row{
			Name:    fmt.Sprintf("get snapshot %s of %d, %d artifacts known to two flows, 1 client", asked, snapshots, pods),
			clients: 1,
			prepare: func(s *stage, _ int) (measure.Client, error) {
				if err := s.know(s.scope, pods); err != nil {
					return measure.Client{}, err
				}
				h, err := s.newHistory(pods)
				if err != nil {
					return measure.Client{}, err
				}
				if err := h.extend(snapshots-1, func(n int) { h.run(n%pods, secondVersion) }); err != nil {
					return measure.Client{}, err
				}
				return s.reading(func() string { return h.snapshotPath(asked) })
			},
		})
	}
	return rows
}

// diffRow is about comparing two snapshots between which one image was replaced at a
// time, each by another one of its own.
func diffRow(pods, apart int) Row {
	return grown("env-diff of snapshots "+strconv.Itoa(apart)+" apart, %d artifacts, 1 client", pods, 1, func(s *stage, _ int) (measure.Client, error) {
		h, err := s.newHistory(pods)
		if err != nil {
			return measure.Client{}, err
		}
		if err := h.extend(apart, func(n int) { h.run(n%pods, secondVersion) }); err != nil {
			return measure.Client{}, err
		}
		query := url.Values{"snappish1": {h.environment + "#1"}, "snappish2": {h.environment + "#" + strconv.Itoa(1+apart)}}
		return s.reading(func() string { return pathPrefix + "/env-diff/" + organization + "?" + query.Encode() })
	})
}

// eventsPerPage is what a page of events has when nothing else is asked for.
const eventsPerPage = 15

// eventRows are about reading pages of a log that has more events than the last page
// ends with.
func eventRows(pages ...int) []Row {
	const pods = 1_000
	most := slices.Max(pages) * eventsPerPage
	var rows []Row
	for _, page := range pages {
		rows = append(rows, grown("page %d of events, 1 client", page, 1, func(s *stage, _ int) (measure.Client, error) {
			h, err := s.newHistory(pods)
			if err != nil {
				return measure.Client{}, err
			}
			// Each snapshot replaces every image, which is two events for each.
			err = h.extend(most/(2*pods)+1, func(n int) {
				for i := range pods {
					h.run(i, "image-"+strconv.Itoa(2+n))
				}
			})
			if err != nil {
				return measure.Client{}, err
			}
			return s.reading(func() string {
				return fmt.Sprintf("%s/environments/%s/%s/events?page=%d&per_page=%d", pathPrefix, organization, h.environment, page, eventsPerPage)
			})
		}))
	}
	return rows
}

func (h *history) snapshotPath(expression string) string {
	return pathPrefix + "/snapshots/" + organization + "/" + h.environment + "/" + expression
}
