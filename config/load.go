package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
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
	// testPrefix begins variables that concern the tests, not the processes.
	testPrefix = prefix + "TEST_"
)

// Load reads the settings from an environment in the form of os.Environ. Its error is Faults with everything that is
// wrong, in the order of Table; an ATTESTRY_ variable that does not exist is taken for a typing error.
func Load(environ []string) (Settings, error) { return LoadFrom(Sources{Environ: environ}) }

// LoadFrom is Load with more sources than the environment.
func LoadFrom(sources Sources) (Settings, error) {
	environment, faults := sources.merged()
	l := loader{sources: sources, environment: environment, variables: Table(), faults: faults}
	settings := l.parse()
	l.checkBounds(settings)
	l.checkNeeded(settings)
	l.complete(&settings)
	if sources.CheckFiles {
		l.checkFile(prefix+"BOOTSTRAP_FILE", settings.Process.BootstrapFile)
		checkKey(&l, signingKeyFile, settings.HTTP.SigningKeyFile, signing.ParseKey)
		checkKey(&l, logKeyFile, settings.Log.KeyFile, translog.ParseKeys)
		checkKey(&l, caFile, settings.Process.CAFile, parseRoots)
	}
	for name := range environment {
		if l.place(name) < 0 {
			l.fault(name, "is not a setting")
		}
	}
	if err := l.all(); err != nil {
		return Settings{}, err
	}
	return settings, nil
}

// loader collects at most one fault per variable: the first one found.
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

func (l *loader) faulty(variable string) bool {
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

// missing takes a variable without a value for a fault, unless no value is the default.
func (l *loader) missing(variable string) {
	if _, ok := l.sources.Defaults[variable]; !ok {
		l.fault(variable, "is required")
	}
}

// parseReason words the faults of the types that are not our own.
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

// place is the number of a variable in the table, -1 if that does not have it.
func (l *loader) place(name string) int {
	return slices.IndexFunc(l.variables, func(v Variable) bool { return v.Name == name })
}

func (l *loader) checkBounds(settings Settings) {
	for _, variable := range l.variables {
		if variable.max == "" || l.faulty(variable.Name) {
			continue
		}
		value := reflect.ValueOf(settings).FieldByIndex(variable.path)
		if value.Int() < bound(variable.min) || value.Int() > bound(variable.max) {
			l.fault(variable.Name, "must be between %s and %s", variable.min, variable.max)
		}
	}
}

// bound reads a duration or a whole number.
func bound(text string) int64 {
	if duration, err := time.ParseDuration(text); err == nil {
		return int64(duration)
	}
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// checkNeeded finds settings that are missing beside others which need them.
func (l *loader) checkNeeded(settings Settings) {
	set := map[string]bool{}
	for _, variable := range l.variables {
		set[variable.Name] = !reflect.ValueOf(settings).FieldByIndex(variable.path).IsZero()
	}
	for _, variable := range l.variables {
		for with := range strings.SplitSeq(variable.with, ",") {
			if set[prefix+with] && !set[variable.Name] {
				l.fault(variable.Name, "is required with %s%s", prefix, with)
			}
		}
	}
}

// complete fills in what depends on another setting, and checks what concerns two.
func (l *loader) complete(settings *Settings) {
	if settings.HTTP.Listen == "" {
		l.fault(prefix+"LISTEN", "cannot be off")
	}
	if settings.HTTP.BaseURL == "" && !l.faulty(baseURL) {
		settings.HTTP.BaseURL = settings.HTTP.URL(settings.HTTP.Listen)
	}
	if settings.HTTP.ReportWait >= settings.HTTP.RequestTimeout && !l.faulty(prefix+"REQUEST_TIMEOUT") {
		l.fault(reportWait, "must be less than %sREQUEST_TIMEOUT", prefix)
	}
	l.checkCertificate(&settings.HTTP)
	l.completeSMTP(&settings.SMTP)
	l.checkRetention(settings)
}

// checkFile does not open a pipe: what is in it can be read once.
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
		l.fault(variable, "cannot be read: %v", err)
	}
}

// all lists the faults: those of known variables in their order, then the others.
func (l *loader) all() error {
	names := slices.SortedFunc(maps.Keys(l.faults), func(a, b string) int {
		// What is not in the table is the greatest of unsigned numbers.
		return cmp.Or(cmp.Compare(uint(l.place(a)), uint(l.place(b))), cmp.Compare(a, b))
	})
	var faults Faults
	for _, name := range names {
		faults = append(faults, l.sources.nameOf(name)+": "+l.faults[name])
	}
	return faults.orNil()
}

// Faults lists all that is wrong with an input, one sentence each. No fault quotes a secret.
type Faults []string

// Error puts each fault on a line of its own.
func (f Faults) Error() string { return strings.Join(f, "\n") }

// orNil keeps an empty list from being taken for an error.
func (f Faults) orNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}
