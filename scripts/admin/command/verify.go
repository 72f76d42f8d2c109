package command

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"attestry/app/verify"
)

func parseVerify([]string) (action, error) {
	return readOnly(func(ctx context.Context, s *session) error {
		engines, progress := s.Engines(), newProgress(s.caller)
		result, err := verify.Run(ctx, verify.Options{
			Documents: engines.Documents, Objects: engines.Objects, Report: s.reportFinding, Progress: progress.tell,
		})
		if err != nil {
			return fmt.Errorf("not all was read: %w", err)
		}
		if result.Findings > 0 {
			return fmt.Errorf("%s: %d findings", read(result), result.Findings)
		}
		fmt.Fprintf(s.errs, "%s: all is as it must be\n", read(result))
		return nil
	}), nil
}

func read(result verify.Result) string {
	return fmt.Sprintf("%d documents and %d objects of %.1f MB were read", result.Documents, result.Objects, float64(result.ObjectBytes)/1e6)
}

// reportFinding prints what is damaged or missing when it is found: there may be much of it.
func (c caller) reportFinding(found verify.Finding) error {
	if c.asJSON {
		return json.NewEncoder(c.out).Encode(found)
	}
	_, err := fmt.Fprintf(c.out, "%s: %s\n", oneLine(found.Where), oneLine(found.What))
	return err
}

// progress says now and then how much was read.
type progress struct {
	caller
	began, told time.Time
}

func newProgress(c caller) *progress {
	now := time.Now()
	return &progress{caller: c, began: now, told: now}
}

func (p *progress) tell(result verify.Result) {
	now := time.Now()
	if now.Sub(p.told) < progressInterval {
		return
	}
	p.told = now
	fmt.Fprintf(p.errs, "%s so far, %.0f documents/s\n", read(result), float64(result.Documents)/now.Sub(p.began).Seconds())
}
