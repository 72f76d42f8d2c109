package command

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"attestry/app/verify"
)

func verifyAll(ctx context.Context, s *session, _ []string) error {
	engines, began := s.Engines, time.Now()
	printedAt := began
	result, err := verify.Run(ctx, verify.Options{
		Documents: engines.Documents, Objects: engines.Objects, Report: s.reportFinding,
		Progress: func(result verify.Result) {
			if due(&printedAt) {
				fmt.Fprintf(s.errs, "%s so far, %.0f documents/s\n", read(result), float64(result.Documents)/printedAt.Sub(began).Seconds())
			}
		},
	})
	if err != nil {
		return fmt.Errorf("not all was read: %w", err)
	}
	if result.Findings > 0 {
		return fmt.Errorf("%s: %d findings", read(result), result.Findings)
	}
	fmt.Fprintf(s.errs, "%s: all is as it must be\n", read(result))
	return nil
}

func read(result verify.Result) string {
	return fmt.Sprintf("%d documents and %d objects of %.1f MB were read", result.Documents, result.Objects, float64(result.ObjectBytes)/1e6)
}

// reportFinding prints a finding at once, as there may be many.
func (c caller) reportFinding(found verify.Finding) error {
	if c.asJSON {
		return json.NewEncoder(c.out).Encode(found)
	}
	_, err := fmt.Fprintf(c.out, "%s: %s\n", oneLine(found.Where), oneLine(found.What))
	return err
}

// progressInterval is the time between two lines about progress.
const progressInterval = 10 * time.Second

// due reports whether it is time to print progress. If so, it sets printedAt to now.
func due(printedAt *time.Time) bool {
	if time.Since(*printedAt) < progressInterval {
		return false
	}
	*printedAt = time.Now()
	return true
}
