package buildinfo

import (
	"runtime/debug"
	"testing"
)

func TestDescribe(t *testing.T) {
	built := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: version}, Settings: settings}
	}
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "abc"}
	modified := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for name, row := range map[string]struct {
		build                 *debug.BuildInfo
		version, linked, want string
	}{
		"built in a clone":                     {built("v0.5.0", revision), "", "", "v0.5.0, commit abc, go1.26"},
		"built in a changed clone":             {built("(devel)", revision, modified), "", "", "(devel), commit abc+dirty, go1.26"},
		"built without the history":            {built(""), "", "", "(devel), commit unknown, go1.26"},
		"commit set by the linker":             {built("(devel)"), "", "def", "(devel), commit def, go1.26"},
		"version and commit set by the linker": {built("(devel)"), "0.1.0", "def", "0.1.0, commit def, go1.26"},
		"linker and history, unchanged":        {built("(devel)", revision), "", "def", "(devel), commit def, go1.26"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := describe(row.build, row.version, row.linked).String(); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestReadLeavesNothingEmpty(t *testing.T) {
	if got := Read(); got.Version == "" || got.Commit == "" || got.Go == "" {
		t.Errorf("got %+v", got)
	}
}
