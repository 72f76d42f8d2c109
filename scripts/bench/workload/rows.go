// Package workload is what clients of the service do while it is measured.
package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"attestry/scripts/bench/measure"
)

// Row is one line of the table.
type Row struct {
	Name    string
	clients int
	// subject and size tell which rows are the same at different sizes; no subject
	// compares with nothing.
	subject string
	size    int
	// prepare makes ready what client i needs, on a fresh stage, and returns what
	// it then repeats.
	prepare func(s *stage, i int) (measure.Client, error)
}

// Rows are all there is to measure.
func Rows() []Row {
	return slices.Concat(
		reportRows(unchangedReport, 100, 1, 16),
		reportRows(unchangedReport, 1_000, 1, 4),
		reportRows(unchangedReport, 10_000, 1, 4),
		reportRows(changedReport, 100, 1, 16),
		reportRows(changedReport, 1_000, 1, 4),
		reportRows(changedReport, 10_000, 1, 4),
		fleetRows(2_000, 10, 16),
		environmentRows(),
		attestationRows(1, 16, 64),
		artifactRows(1, 16),
		[]Row{lookupRow(100_000), trailRow(500, 20)},
	)
}

// Play measures one row on a stage of its own, so that rows do not touch each
// other.
func Play(ctx context.Context, r Row, on Engines, folder string, span time.Duration) (played measure.Result, err error) {
	data, err := os.MkdirTemp(folder, "row-")
	if err != nil {
		return measure.Result{}, err
	}
	s, err := openStage(ctx, on, data)
	if err != nil {
		return measure.Result{}, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var pairs []measure.Client
	for i := range r.clients {
		prepared, err := r.prepare(s, i)
		if err != nil {
			return measure.Result{}, fmt.Errorf("prepare client %d: %w", i, err)
		}
		pairs = append(pairs, prepared)
	}
	if played, err = measure.Run(ctx, pairs, span); err != nil {
		return measure.Result{}, err
	}
	played.Name, played.Series, played.Size = r.Name, cmp.Or(r.subject, r.Name), r.size
	return played, nil
}

// grown makes a row that is measured at several sizes; subject is its name with %d
// where the size stands.
func grown(subject string, size, clients int, prepare func(*stage, int) (measure.Client, error)) Row {
	return Row{Name: fmt.Sprintf(subject, size), subject: subject, size: size, clients: clients, prepare: prepare}
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
