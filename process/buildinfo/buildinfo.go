// Package buildinfo returns the version and commit that a program was built from.
package buildinfo

import (
	"cmp"
	"runtime/debug"
)

// The linker sets these, with -X, in releases and in builds without the Git history, as in the Dockerfile.
var version, commit string

// Info describes the build of a program.
type Info struct {
	// Version is that of the release or of the main module: a tag, a pseudo-version, or "(devel)".
	Version string
	// Commit is the Git commit, with "+dirty" if files were changed since, or "unknown".
	Commit string
	// Go is the version of the compiler.
	Go string
}

// Read returns the Info of the running program.
func Read() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return describe(build, version, commit)
}

func (i Info) String() string { return i.Version + ", commit " + i.Commit + ", " + i.Go }

func describe(build *debug.BuildInfo, version, commit string) Info {
	info := Info{Version: cmp.Or(version, build.Main.Version, "(devel)"), Commit: commit, Go: build.GoVersion}
	dirty := ""
	for _, setting := range build.Settings {
		switch {
		case setting.Key == "vcs.revision" && commit == "":
			info.Commit = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			dirty = "+dirty"
		}
	}
	if info.Commit == "" { // as with go run and go test
		info.Commit = "unknown"
	} else {
		info.Commit += dirty
	}
	return info
}
