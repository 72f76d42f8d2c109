package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"attestry/app"
	"attestry/config"
	"attestry/process"
)

// location is a store that an argument names. One of the fields has an engine.
type location struct {
	documents config.Database
	objects   config.Objects
}

func parseCopy(args []string) (action, error) {
	flags := flag.NewFlagSet("copy", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	fromURL, toURL := flags.String("from", "", ""), flags.String("to", "", "")
	if err := parseFlags(flags, args); err != nil {
		return nil, err
	}
	if *fromURL == "" || *toURL == "" {
		return nil, errors.New("both --from and --to are needed")
	}
	from, fromErr := parseLocation("--from", *fromURL)
	to, toErr := parseLocation("--to", *toURL)
	if err := errors.Join(fromErr, toErr); err != nil {
		return nil, err
	}
	if err := checkPair(from, to); err != nil {
		return nil, err
	}
	return func(ctx context.Context, c caller) error {
		return withoutPasswords(copyStore(ctx, c, from, to), *fromURL, *toURL)
	}, nil
}

// parseFlags parses flags and refuses other arguments. Its error does not quote a possible URL with a password.
func parseFlags(flags *flag.FlagSet, args []string) error {
	err := flags.Parse(args)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument: %s", flags.Arg(0))
	}
	if err != nil && strings.ContainsAny(strings.Replace(err.Error(), ": ", "", 1), ":/@") {
		return errUsage
	}
	return err
}

// path returns the path of an embedded store, "" for any other.
func (l location) path() string { return cmp.Or(l.documents.Path, l.objects.Path) }

func parseLocation(name, address string) (location, error) {
	scheme, _, _ := strings.Cut(address, "://")
	l := location{}
	var err error
	switch scheme {
	case "mongodb", "mongodb+srv", "pebble":
		err = l.documents.UnmarshalText([]byte(address))
	case "file", "http", "https":
		err = l.objects.UnmarshalText([]byte(address))
	default:
		err = errors.New("must begin with mongodb://, mongodb+srv:// or pebble:// for a database, or with http://, https:// or file:// for an object store")
	}
	if err != nil {
		return location{}, fmt.Errorf("%s %w", name, err)
	}
	return l, nil
}

// checkPair refuses two stores that cannot be copied to each other.
func checkPair(from, to location) error {
	switch {
	case from.documents.Engine != "" && to.objects.Engine != "":
		return errors.New("--from names a database and --to an object store: both must be of the same kind")
	case from.objects.Engine != "" && to.documents.Engine != "":
		return errors.New("--from names an object store and --to a database: both must be of the same kind")
	case from == to:
		return errSameStore
	}
	return checkPaths(from.path(), to.path())
}

func copyStore(ctx context.Context, c caller, from, to location) error {
	if err := from.requireExisting(); err != nil {
		return err
	}
	var err error
	if from.documents.Engine != "" {
		err = copyDatabase(ctx, c, from.documents, to.documents)
	} else {
		err = copyObjectStore(ctx, c, from.objects, to.objects)
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("interrupted: %w; run the same command again to continue", err)
	}
	return err
}

// requireExisting refuses a path without a store, as the engines would create an empty one.
func (l location) requireExisting() error {
	path := l.path()
	if path == "" {
		return nil
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	if l.documents.Engine != "" && !process.HasDatabase(l.documents) {
		return fmt.Errorf("--from: there is no database of %s at %s", l.documents.Engine, path)
	}
	return nil
}

func copyDatabase(ctx context.Context, c caller, from, to config.Database) error {
	roots, err := c.roots()
	if err != nil {
		return err
	}
	schemas := app.Schemas()
	source, err := process.OpenDocuments(ctx, from, roots)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	if err := requireDocuments(ctx, source, schemas); err != nil {
		return errors.Join(err, source.Close())
	}
	target, err := process.OpenCopyTarget(ctx, to, roots)
	if err != nil {
		return errors.Join(fmt.Errorf("--to: %w", err), source.Close())
	}
	copied := documentCopy{from: source, to: target, schemas: schemas, out: c.out, errs: c.errs}
	return errors.Join(copied.run(ctx), source.Close(), target.Close())
}

func copyObjectStore(ctx context.Context, c caller, from, to config.Objects) error {
	source, err := c.openObjects(ctx, from)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	if err := requireObjects(ctx, source); err != nil {
		return errors.Join(err, closeStore(source))
	}
	target, err := c.openObjects(ctx, to)
	if err != nil {
		return errors.Join(fmt.Errorf("--to: %w", err), closeStore(source))
	}
	copied := objectCopy{from: source, to: target, out: c.out, errs: c.errs}
	return errors.Join(copied.run(ctx), closeStore(source), closeStore(target))
}

// closeStore closes an object store, if it can be closed.
func closeStore(store any) error {
	if closer, ok := store.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// withoutPasswords hides the passwords of URLs in an error, percent-encoded and decoded. The engines do not quote them,
// but libraries may.
func withoutPasswords(err error, addresses ...string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, address := range addresses {
		if found := urlPassword.FindStringSubmatch(address); found != nil {
			text = strings.ReplaceAll(text, found[1], "***")
			if decoded, err := url.PathUnescape(found[1]); err == nil {
				text = strings.ReplaceAll(text, decoded, "***")
			}
		}
	}
	return errors.New(text)
}

// urlPassword matches the password of a URL.
var urlPassword = regexp.MustCompile(`://[^/:]*:([^/]+)@`)

var errSameStore = errors.New("--from and --to name the same store")

// checkPaths refuses two paths of the same store, and a path inside the other: writes to the target would change the
// source. "" is no path.
func checkPaths(from, to string) error {
	switch {
	case from == "" || to == "":
		return nil
	case from == to, sameFile(from, to):
		return errSameStore
	case isInside(to, from):
		return errors.New("--to lies in the folder that --from names")
	case isInside(from, to):
		return errors.New("--from lies in the folder that --to names")
	}
	return nil
}

// sameFile reports whether two paths name the same file or folder. It follows links.
func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// isInside reports whether a path is inside a folder. The path need not exist.
func isInside(path, folder string) bool {
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
