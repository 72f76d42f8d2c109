package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"
)

// row is one line of the table.
type row struct {
	name    string
	clients int
	// prepare makes ready what client i needs, on a fresh stage, and returns what
	// it then repeats.
	prepare func(s *stage, i int) (pair, error)
}

// rows are all there is to measure.
func rows() []row {
	return slices.Concat(
		reportRows(100, 1, 16),
		reportRows(10_000, 1, 4),
		attestationRows(1, 16, 64),
		artifactRows(1, 16),
		[]row{lookupRow(100_000), trailRow(500, 20)},
	)
}

// play measures one row on a stage of its own, so that rows do not touch each
// other.
func play(ctx context.Context, r row, on engines, folder string, span time.Duration) (played result, err error) {
	data, err := os.MkdirTemp(folder, "row-")
	if err != nil {
		return result{}, err
	}
	s, err := openStage(ctx, on, data)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var pairs []pair
	for i := range r.clients {
		prepared, err := r.prepare(s, i)
		if err != nil {
			return result{}, fmt.Errorf("prepare client %d: %w", i, err)
		}
		pairs = append(pairs, prepared)
	}
	if played, err = measure(ctx, pairs, span); err != nil {
		return result{}, err
	}
	played.Name = r.name
	return played, nil
}

// reportRows are the rows about clusters of one size: reports that change
// nothing, and reports in which one image is replaced each time. Each client is
// a cluster of its own, since the reports of one are processed one by one.
func reportRows(pods int, clients ...int) []row {
	kinds := []struct {
		name   string
		change func(*report)
		want   answer
	}{
		{"unchanged", func(*report) {}, answer{http.StatusOK, `"report processed, no new snapshots to create"`}},
		{"changed", (*report).replace, answer{http.StatusCreated, `"OK"`}},
	}
	var rows []row
	for _, kind := range kinds {
		for _, n := range clients {
			rows = append(rows, row{
				name:    fmt.Sprintf("report %s, %d artifacts, %s", kind.name, pods, counted(n, "client")),
				clients: n,
				prepare: func(s *stage, i int) (pair, error) {
					return prepareCluster(s, "cluster-"+strconv.Itoa(i), pods, kind.change, kind.want)
				},
			})
		}
	}
	return rows
}

// prepareCluster makes an environment with its first snapshot. What is repeated
// is: change the report, send it, and insist on the wanted answer.
func prepareCluster(s *stage, name string, pods int, change func(*report), want answer) (pair, error) {
	sent, err := newReport(s.scope+name, pods)
	if err != nil {
		return pair{}, err
	}
	service, bare := s.client(), newClient(s.bare.address, s.key)
	environment, err := s.environment(service, name)
	if err != nil {
		return pair{}, err
	}
	path := "/api/v2/environments/" + organization + "/" + environment + "/report/K8S"
	send := func(to *client, path string, want answer) operation {
		return func() error {
			change(sent)
			return to.put(path, sent.body, want)
		}
	}
	prepared := pair{
		service: send(service, path, want),
		bare:    send(bare, bareReportPath, answer{http.StatusOK, `"OK"`}),
	}
	// The first report makes the first snapshot; the others warm up both sides.
	return prepared, errors.Join(
		service.put(path, sent.body, answer{http.StatusCreated, `"OK"`}),
		prepared.service(),
		prepared.bare(),
	)
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
