package cli

import "runtime/debug"

// commit is set when the program is linked, by -X, where it is built of sources
// without their history.
var commit string

// Version returns the version and the commit that the program was built of, as
// far as the build has recorded them.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return describe(info, commit)
}

func describe(info *debug.BuildInfo, commit string) string {
	version, modified := info.Main.Version, ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision" && commit == "":
			commit = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			modified = ", modified"
		}
	}
	if version == "" {
		version = "(devel)"
	}
	if commit == "" {
		commit = "unknown"
	}
	return version + ", commit " + commit + modified + ", " + info.GoVersion
}
