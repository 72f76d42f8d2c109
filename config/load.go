package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"attestry/evidence/signing"
	"attestry/evidence/translog"
)

const (
	monitorListen = prefix + "MONITOR_LISTEN"
	baseURL       = prefix + "BASE_URL"
	reportWait    = prefix + "REPORT_WAIT"
	// testPrefix is the prefix of variables for the tests. The processes ignore them.
	testPrefix = prefix + "TEST_"
)

// Load reads the settings from an environment in the form of os.Environ. Its error is Faults with all faults, in the
// order of Table. An unknown variable with the prefix ATTESTRY_ is a fault, as it may be a typing error.
func Load(environ []string) (Settings, error) { return LoadFrom(Sources{Environ: environ}) }

// LoadFrom is Load with more sources than the environment.
func LoadFrom(sources Sources) (Settings, error) {
	environment, faults := sources.merged()
	l := loader{sources: sources, environment: environment, variables: Table(), faults: faults}
	settings := l.parse()
	l.checkBounds(settings)
	l.checkDependencies(settings)
	l.complete(&settings)
	if sources.CheckFiles {
		l.checkFile(prefix+"BOOTSTRAP_FILE", settings.Process.BootstrapFile)
		checkKey(&l, signingKeyFile, settings.HTTP.SigningKeyFile, signing.ParseKey)
		checkKey(&l, logKeyFile, settings.Log.KeyFile, translog.ParseKeys)
		checkKey(&l, caFile, settings.Process.CAFile, parseRoots)
	}
	for name := range environment {
		if l.tableIndex(name) < 0 {
			l.fault(name, "is not a setting")
		}
	}
	if err := l.err(); err != nil {
		return Settings{}, err
	}
	return settings, nil
}

// loader keeps the first fault of each variable.
type loader struct {
	sources     Sources
	environment map[string]string
	variables   []Variable
	faults      map[string]string
}

func (l *loader) fault(variable, format string, values ...any) {
	if _, known := l.faults[variable]; !known {
		l.faults[variable] = fmt.Sprintf(format, values...)
	}
}

func (l *loader) hasFault(variable string) bool {
	_, found := l.faults[variable]
	return found
}

func (l *loader) parse() Settings {
	var settings Settings
	err := env.ParseWithOptions(&settings, env.Options{Prefix: prefix, Environment: l.environment})
	if all, ok := errors.AsType[env.AggregateError](err); ok {
		for _, one := range all.Errors {
			l.parseFault(one)
		}
	}
	return settings
}

func (l *loader) parseFault(err error) {
	var unset env.VarIsNotSetError
	var empty env.EmptyVarError
	var parse env.ParseError
	switch {
	case errors.As(err, &unset):
		l.missing(unset.Key)
	case errors.As(err, &empty):
		l.missing(empty.Key)
	case errors.As(err, &parse):
		at := slices.IndexFunc(l.variables, func(v Variable) bool { return v.field == parse.Name })
		l.fault(l.variables[at].Name, "%s", parseReason(parse))
	default:
		l.fault(prefix, "%v", err)
	}
}

// missing adds a fault for a variable without a value, unless the sources have a default for it.
func (l *loader) missing(variable string) {
	if _, ok := l.sources.Defaults[variable]; !ok {
		l.fault(variable, "is required")
	}
}

// parseReason returns the text of a parse error. The types of other packages do not have suitable ones.
func parseReason(fault env.ParseError) string {
	switch fault.Type {
	case reflect.TypeFor[time.Duration]():
		return "is not a duration such as 30s"
	case reflect.TypeFor[int]():
		return "is not a whole number"
	case reflect.TypeFor[slog.Level]():
		return "is not one of debug, info, warn, error"
	}
	return fault.Err.Error()
}

// tableIndex returns the index of a variable in the table, or -1.
func (l *loader) tableIndex(name string) int {
	return slices.IndexFunc(l.variables, func(v Variable) bool { return v.Name == name })
}

func (l *loader) checkBounds(settings Settings) {
	for _, variable := range l.variables {
		if variable.max == "" || l.hasFault(variable.Name) {
			continue
		}
		value := reflect.ValueOf(settings).FieldByIndex(variable.path)
		if value.Int() < bound(variable.min) || value.Int() > bound(variable.max) {
			l.fault(variable.Name, "must be between %s and %s", variable.min, variable.max)
		}
	}
}

// bound parses a duration or a whole number.
func bound(text string) int64 {
	if duration, err := time.ParseDuration(text); err == nil {
		return int64(duration)
	}
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// checkDependencies adds a fault for each unset variable that another setting requires.
func (l *loader) checkDependencies(settings Settings) {
	set := map[string]bool{}
	for _, variable := range l.variables {
		set[variable.Name] = !reflect.ValueOf(settings).FieldByIndex(variable.path).IsZero()
	}
	for _, variable := range l.variables {
		for other := range strings.SplitSeq(variable.requiredWith, ",") {
			if set[prefix+other] && !set[variable.Name] {
				l.fault(variable.Name, "is required with %s%s", prefix, other)
			}
		}
	}
}

// complete sets the defaults that depend on other settings, and checks settings against each other.
func (l *loader) complete(settings *Settings) {
	if settings.HTTP.Listen == "" {
		l.fault(prefix+"LISTEN", "cannot be off")
	}
	if settings.HTTP.BaseURL == "" && !l.hasFault(baseURL) {
		settings.HTTP.BaseURL = settings.HTTP.URL(settings.HTTP.Listen)
	}
	if settings.HTTP.ReportWait >= settings.HTTP.RequestTimeout && !l.hasFault(prefix+"REQUEST_TIMEOUT") {
		l.fault(reportWait, "must be less than %sREQUEST_TIMEOUT", prefix)
	}
	l.checkCertificate(&settings.HTTP)
	l.completeSMTP(&settings.SMTP)
	if name := settings.Retention.setting(); name != "" && settings.Stores.Objects.Engine == Filesystem {
		l.fault(name, "needs a bucket with object lock: %sOBJECTS_URL names a folder, from which files can be deleted", prefix)
	}
}

// checkFile checks that a file can be opened. It does not open a pipe: its content can be read only once.
func (l *loader) checkFile(variable, file string) {
	if file == "" {
		return
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
	case info.IsDir():
		err = fmt.Errorf("%s is a folder", file)
	case info.Mode().IsRegular():
		var opened *os.File
		if opened, err = os.Open(file); err == nil {
			err = opened.Close()
		}
	}
	if err != nil {
		l.fault(variable, "cannot be read: %v", withoutSecret(err))
	}
}

// withoutSecret removes the path from an error unless it is absolute: it may be a secret that was given instead of the
// path of its file.
func withoutSecret(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok && !filepath.IsAbs(failed.Path) {
		return failed.Err
	}
	return err
}

// err returns all faults: first those of variables in the table, in its order, then those of unknown variables.
func (l *loader) err() error {
	names := slices.SortedFunc(maps.Keys(l.faults), func(a, b string) int {
		// uint(-1), the index of an unknown variable, is the greatest.
		return cmp.Or(cmp.Compare(uint(l.tableIndex(a)), uint(l.tableIndex(b))), cmp.Compare(a, b))
	})
	var faults Faults
	for _, name := range names {
		faults = append(faults, l.sources.nameOf(name)+": "+l.faults[name])
	}
	return faults.orNil()
}

// Faults are all faults of an input, one sentence each. No fault quotes a secret.
type Faults []string

// Error returns one line per fault.
func (f Faults) Error() string { return strings.Join(f, "\n") }

// orNil returns nil for an empty list, which as an error would not be nil.
func (f Faults) orNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}
