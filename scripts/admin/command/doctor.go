package command

import (
	"context"
	"encoding/json"
	"fmt"

	"attestry/process/doctor"
)

func parseDoctor(args []string) (action, error) {
	subject := &doctor.Subject{Failed: map[string]error{}}
	return opened(map[string]string{"ATTESTRY_REDIS_URL": ""}, subject.Open, func(ctx context.Context, s *session, _ []string) error {
		subject.Process, subject.Running = s.Process, s.running != nil
		wrong, err := subject.Examine(ctx, s.printFinding)
		if err == nil && wrong > 0 {
			err = fmt.Errorf("findings that are not ok: %d", wrong)
		}
		return err
	})(args)
}

func (c caller) printFinding(found doctor.Finding) error {
	if c.asJSON {
		return json.NewEncoder(c.out).Encode(found)
	}
	_, err := fmt.Fprintf(c.out, "%-7s  %-12s  %s\n", found.State, found.Check, oneLine(found.Measured))
	if err == nil && found.Advice != "" {
		_, err = fmt.Fprintf(c.out, "%23s→ %s\n", "", found.Advice)
	}
	return err
}
