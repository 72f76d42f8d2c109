package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"attestry/app/verify"
	"attestry/config"
	"attestry/process"
	"attestry/process/backup"
	"attestry/storage"
)

var errMongoDB = errors.New("the documents are in MongoDB: back them up by mongodump --oplog, then the objects, as the section Backup and restore of docs/operations.md says, and run verify on what was restored")

func parseBackup(args []string) (action, error) {
	to, err := parseBackupStore(args[0])
	if err != nil {
		return nil, err
	}
	return readOnly(func(ctx context.Context, s *session, args []string) error {
		return withoutPasswords(makeBackup(ctx, s, s.absolute(to)), args[0])
	})(args)
}

// absolute makes the path of a folder absolute. It is relative to the folder of the caller, even if another process
// executes the command.
func (c caller) absolute(store config.Objects) config.Objects {
	if store.Path != "" && !filepath.IsAbs(store.Path) {
		store.Path = filepath.Join(c.folder, store.Path)
	}
	return store
}

// parseBackupStore parses the address of a backup store: a folder, or the URL of an object store.
func parseBackupStore(name string) (config.Objects, error) {
	if !strings.Contains(name, "://") {
		return config.Objects{Engine: config.Filesystem, Path: filepath.Clean(name)}, nil
	}
	var store config.Objects
	if err := store.UnmarshalText([]byte(name)); err != nil {
		return store, fmt.Errorf("DIR %w", err)
	}
	return store, nil
}

func makeBackup(ctx context.Context, s *session, to config.Objects) error {
	engines, stores := s.Engines, s.Settings.Stores
	if engines.Embedded == nil {
		return errMongoDB
	}
	if err := checkApart(to, stores); err != nil {
		return err
	}
	backups, err := s.openObjects(ctx, to)
	if err != nil {
		return err
	}
	damaged := 0
	made, err := backup.Make(ctx, backup.Source{
		Checkpoint: engines.Embedded.Checkpoint, Folder: stores.Database.Path, Open: openFolder,
		Objects: engines.Objects, HoldDeletions: s.HoldDeletions,
	}, backups, s.output(&damaged))
	if err := errors.Join(err, closeStore(backups)); err != nil {
		return fmt.Errorf("no backup was made: %w; run the same command again to continue", err)
	}
	fmt.Fprintf(s.out, "made the backup %s: %d documents, in files of %.1f MB\n", made.Name(), made.Verified.Documents, float64(made.Bytes())/1e6)
	return damagedError(damaged)
}

// output prints and counts damaged and missing data.
func (c caller) output(damaged *int) backup.Output {
	return backup.Output{Clock: time.Now, Progress: c.errs, Report: func(found verify.Finding) error {
		*damaged++
		return c.reportFinding(found)
	}}
}

// damagedError returns an error if a backup has damaged documents or lacks objects.
func damagedError(damaged int) error {
	if damaged == 0 {
		return nil
	}
	return errors.New("what is listed is damaged or missing, and all else is there; see the section Backup and restore of docs/operations.md")
}

// openFolder opens a database other than that of the settings.
func openFolder(ctx context.Context, folder string) (storage.Documents, error) {
	return process.OpenDocuments(ctx, config.Database{Engine: config.Pebble, Path: folder}, nil)
}

// checkApart refuses a backup store inside or around a folder of the service, or one that backups or restores delete.
func checkApart(backups config.Objects, stores config.Stores) error {
	same := stores.Objects
	// Other credentials lead to the same bucket.
	same.AccessKey, same.SecretKey, same.Secure = backups.AccessKey, backups.SecretKey, backups.Secure
	if backups == same {
		return errors.New("the backup would be in the object store of the service")
	}
	for _, path := range []string{stores.Database.Path, stores.Database.Path + ".backup", stores.Database.Path + ".restoring", stores.Objects.Path} {
		if checkPaths(backups.Path, path) != nil {
			return fmt.Errorf("the backup and %s must not lie in one another", path)
		}
	}
	return nil
}

func parseRestore(args []string) (action, error) {
	flags := flag.NewFlagSet("restore", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	continueLogs := flags.Bool("continue-logs", false, "")
	if err := flags.Parse(args); err != nil || flags.NArg() < 1 || flags.NArg() > 2 {
		return nil, errUsage
	}
	from, err := parseBackupStore(flags.Arg(0))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, c caller) error {
		settings, err := config.LoadFrom(config.Sources{Environ: c.environ, Defaults: noRedis})
		if err != nil {
			return err
		}
		return withoutPasswords(restoreBackup(ctx, c, c.absolute(from), flags.Arg(1), settings.Stores, *continueLogs), flags.Arg(0))
	}, nil
}

func restoreBackup(ctx context.Context, c caller, from config.Objects, name string, to config.Stores, continueLogs bool) error {
	if to.Database.Engine != config.Pebble {
		return errors.New("a backup is restored to a pebble:// database; copy it to MongoDB from there")
	}
	if err := checkApart(from, to); err != nil {
		return err
	}
	if from.Path != "" {
		if _, err := os.Stat(from.Path); err != nil {
			return err
		}
	}
	backups, err := c.openObjects(ctx, from)
	if err != nil {
		return err
	}
	return errors.Join(restoreFrom(ctx, c, backups, name, to, continueLogs), closeStore(backups))
}

func restoreFrom(ctx context.Context, c caller, backups storage.Objects, name string, to config.Stores, continueLogs bool) error {
	chosen, err := backup.Choose(ctx, backups, name)
	if err != nil {
		return err
	}
	objects, err := c.openObjects(ctx, to.Objects)
	if err != nil {
		return err
	}
	damaged := 0
	restored, err := backup.Restore(ctx, backups, &chosen, backup.Target{
		Folder: to.Database.Path, Open: openFolder, Objects: objects, ContinueLogs: continueLogs,
	}, c.output(&damaged))
	if err := errors.Join(err, closeStore(objects)); err != nil {
		return fmt.Errorf("the backup %s was not restored: %w", chosen.Name(), err)
	}
	fmt.Fprintf(c.out, "restored the backup %s: %d documents; empty Redis before the service starts\n", chosen.Name(), restored.Verified.Documents)
	for _, org := range slices.Sorted(maps.Keys(restored.Halted)) {
		fmt.Fprintf(c.out, "the transparency log of the organization %s is not continued: %s; see log continue\n", org, restored.Halted[org])
	}
	return damagedError(damaged)
}
