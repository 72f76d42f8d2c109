package snapshots

import (
	"slices"
	"testing"
)

func TestEventTypesOfAuditLogs(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, ",": nil, "started": {"started"}, "started,exited": {"started", "exited"}, " changed , exited,": {"changed", "exited"},
	} {
		if got, err := auditKinds(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"scaled", "started,Exited", "started exited"} {
		if _, err := auditKinds(text); err == nil {
			t.Errorf("%q passed", text)
		}
	}
}
