package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"attestry/config"
	"attestry/process"
)

// refuseLostDatabase refuses to create a new embedded database if the object store has files of another one, unless the
// loss is accepted.
func refuseLostDatabase(stores config.Stores, acceptLoss bool) error {
	if acceptLoss || stores.Database.Engine == config.MongoDB || stores.Objects.Engine != config.Filesystem || process.HasDatabase(stores.Database) {
		return nil
	}
	file, err := anyFile(stores.Objects.Path)
	if err != nil || file == "" {
		return err
	}
	return fmt.Errorf("there is no database in %s, but there are files of one, such as %s: restore the database from a backup, name another folder, or start once with --accept-loss",
		stores.Database.Path, file)
}

// anyFile returns the path of any file in a folder or its subfolders, "" if there is none.
func anyFile(folder string) (found string, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case entry.Type().IsRegular():
			found = path
			return fs.SkipAll
		}
		return nil
	})
	return found, err
}
