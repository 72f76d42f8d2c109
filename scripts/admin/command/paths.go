package command

import (
	"errors"
	"os"
	"path/filepath"
)

var errSameStore = errors.New("--from and --to name the same store")

// checkPaths refuses two paths of one store, and those of which one lies in the other: what is
// written to the target would be in the source, or the reverse. "" is no path.
func checkPaths(from, to string) error {
	switch {
	case from == "" || to == "":
		return nil
	case sameFile(from, to):
		return errSameStore
	case liesIn(to, from):
		return errors.New("--to lies in the folder that --from names")
	case liesIn(from, to):
		return errors.New("--from lies in the folder that --to names")
	}
	return nil
}

// sameFile reports whether two paths lead to one file or folder, also by links.
func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// liesIn reports whether a path leads into a folder. The end of the path need not exist.
func liesIn(path, folder string) bool {
	for {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			path = resolved
		}
		parent := filepath.Dir(path)
		if sameFile(parent, folder) {
			return true
		}
		if parent == path {
			return false
		}
		path = parent
	}
}
