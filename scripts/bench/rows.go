package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
)

// row is one line of the table.
type row struct {
	name    string
	clients int
	// subject and size tell which rows are the same at different sizes; no subject
	// compares with nothing.
	subject string
	size    int
	// prepare makes ready what client i needs, on a fresh stage, and returns what
	// it then repeats.
	prepare func(s *stage, i int) (pair, error)
}

// rows are all there is to measure.
func rows() []row {
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

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
