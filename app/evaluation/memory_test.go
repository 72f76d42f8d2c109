//go:build linux

package evaluation

import (
	"encoding/json"
	"errors"
	"syscall"
	"testing"
)

// maxResident is the most resident memory that a child may have, in KiB: less than 300 MB.
const maxResident = 290_000

func TestMemoryOfChildrenIsLimited(t *testing.T) {
	for name, rule := range map[string]string{
		"repeated text":   `"x"*1e9|length>0`,
		"doubled text":    `reduce range(100) as $i ("x"; . + .)`,
		"encoded text":    `reduce range(100) as $i ("x"; @base64)`,
		"doubled, tojson": `reduce range(100) as $i (["x"]; [tojson, tojson])`,
		"ranges":          `[range(1e9)]`,
		"recursion":       `def f: [f]; f`,
		"forks":           `def f: f, f; f`,
		"characters":      `reduce range(30) as $i ("x"; . + .) | explode`,
		"joined text":     `[range(1e6)] | join("x" * 1000)`,
		"filled up":       `[] | setpath([536870911]; 1)`,
		"times":           `0 | strftime("%1024d" * 300000)`,
		"values":          unfolding(`flatten`),
	} {
		t.Run(name, func(t *testing.T) {
			child, err := startChild(productionLimits)
			if err != nil {
				t.Fatal(err)
			}
			a, err := child.call(t.Context(), request{Definition: rules(rule), Payload: json.RawMessage(`{"a":1}`)})
			ended := child.end()
			// On a busy machine the limit of counted work may be reached before that of memory.
			byWork := err == nil && (a.OverLimits || !a.Verdict.Compliant)
			if !byWork && (err == nil || !errors.Is(ended, errOverLimits)) {
				t.Errorf("called: %v, ended: %v", err, ended)
			}
			used, ok := child.command.ProcessState.SysUsage().(*syscall.Rusage)
			if !ok || used.Maxrss == 0 || used.Maxrss > maxResident {
				t.Errorf("the child had up to %d KiB in memory", used.Maxrss)
			}
		})
	}
}
