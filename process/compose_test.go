package process

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dustin/go-humanize"
	"go.yaml.in/yaml/v4"

	"attestry/config"
	"attestry/evidence/evidencetest"
)

// substituted matches a variable that compose substitutes: its name and its default.
var substituted = regexp.MustCompile(`\$\{(\w+)(?::-([^}]*))?[^}]*\}`)

// composeService is a service of compose.yaml. A variable without a value is passed on from the environment.
type composeService struct {
	Image       string             `yaml:"image"`
	User        string             `yaml:"user"`
	Restart     string             `yaml:"restart"`
	Environment map[string]*string `yaml:"environment"`
	Entrypoint  []string           `yaml:"entrypoint"`
	Command     []string           `yaml:"command"`
	Ports       []string           `yaml:"ports"`
	Networks    []string           `yaml:"networks"`
	ReadOnly    bool               `yaml:"read_only"`
	CapDrop     []string           `yaml:"cap_drop"`
	SecurityOpt []string           `yaml:"security_opt"`
	Memory      string             `yaml:"mem_limit"`
	CPUs        string             `yaml:"cpus"`
	PIDs        int                `yaml:"pids_limit"`
	Logging     struct {
		Options map[string]string `yaml:"options"`
	} `yaml:"logging"`
	Health struct {
		Test []string `yaml:"test"`
	} `yaml:"healthcheck"`
	DependsOn map[string]struct {
		Condition string `yaml:"condition"`
	} `yaml:"depends_on"`
}

func (s *composeService) ours() bool { return strings.HasPrefix(s.Image, "attestry:") }

// once reports whether the container ends by itself.
func (s *composeService) once() bool { return s.Restart == "no" }

// words returns all command lines of the container.
func (s *composeService) words() string {
	return strings.Join(slices.Concat(s.Entrypoint, s.Command, s.Health.Test), " ")
}

func readCompose(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../compose.yaml")
	evidencetest.Must(t, err)
	return string(text)
}

// composed returns the services with defaults for all variables. Required variables have their own names as values.
func composed(t *testing.T) map[string]*composeService {
	t.Helper()
	filled := substituted.ReplaceAllStringFunc(readCompose(t), func(found string) string {
		match := substituted.FindStringSubmatch(found)
		switch {
		case strings.Contains(found, ":-"):
			return match[2]
		case match[1] == "ATTESTRY_BASE_URL":
			return "https://evidence.example.com"
		}
		return match[1]
	})
	var compose struct {
		Services map[string]*composeService `yaml:"services"`
	}
	evidencetest.Must(t, yaml.Unmarshal([]byte(filled), &compose))
	return compose.Services
}

// Operators may pass the file with these variables to a process unchanged.
func TestComposeSubstitutesOnlySettings(t *testing.T) {
	for _, match := range substituted.FindAllStringSubmatch(readCompose(t), -1) {
		name := match[1]
		known := slices.ContainsFunc(config.Table(), func(v config.Variable) bool { return v.Name == name })
		if strings.HasPrefix(name, "ATTESTRY_") && !known {
			t.Errorf("%s is not a setting", name)
		}
	}
}

func TestComposeGivesEachProcessSettingsThatItAccepts(t *testing.T) {
	served := config.Queues{}
	for name, service := range composed(t) {
		if !service.ours() {
			continue
		}
		var environ []string
		for variable, value := range service.Environment {
			if value != nil {
				environ = append(environ, variable+"="+*value)
			}
		}
		settings, err := config.Load(environ)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if settings.Stores.Database.Engine != config.MongoDB || settings.Stores.Objects.Engine != config.S3 {
			t.Errorf("%s does not use the services", name)
		}
		if !strings.HasPrefix(name, "worker-") {
			continue
		}
		for queue, weight := range settings.Worker.Queues {
			served[queue] += weight
		}
	}
	if want := (config.Queues{"reports": 1, "compliance": 1, "notifications": 1, "packages": 1, "log": 1}); !maps.Equal(served, want) {
		t.Errorf("the workers serve %v, want %v", served, want)
	}
}

// takers maps a prefix of settings to the prefix of the services that take them. All services take all other settings.
var takers = map[string]string{
	"ATTESTRY_LISTEN": "api", "ATTESTRY_TLS_": "api", "ATTESTRY_REQUEST_TIMEOUT": "api", "ATTESTRY_DRAIN_DELAY": "api", "ATTESTRY_WEB": "api",
	"ATTESTRY_REPORT_WAIT": "api", "ATTESTRY_SIGNING_KEY_FILE": "api", "ATTESTRY_MEMORY_BUDGET": "api", "ATTESTRY_OIDC_": "api",
	"ATTESTRY_RATE_LIMIT_": "api", "ATTESTRY_FAILED_KEY_LIMIT": "api", "ATTESTRY_TRUSTED_PROXIES": "api",
	// It is enough that one service applies the file.
	"ATTESTRY_BOOTSTRAP_FILE": "api",
	"ATTESTRY_SMTP_":          "worker-notifications",
	"ATTESTRY_QUEUES":         "worker-", "ATTESTRY_CONCURRENCY": "worker-", "ATTESTRY_PACKAGE_DAYS": "worker-",
}

// fixed are settings that compose.yaml determines.
var fixed = []string{
	"ATTESTRY_LISTEN", "ATTESTRY_MONITOR_LISTEN", "ATTESTRY_BOOTSTRAP_FILE", "ATTESTRY_QUEUES",
	"ATTESTRY_DATABASE_URL", "ATTESTRY_OBJECTS_URL", "ATTESTRY_REDIS_URL",
}

// openTelemetry are variables that all our processes get although they are not settings.
var openTelemetry = []string{
	"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES",
	"OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG",
}

func takes(service, setting string) bool {
	for prefix, taker := range takers {
		if strings.HasPrefix(setting, prefix) {
			return strings.HasPrefix(service, taker)
		}
	}
	return true
}

func TestComposePassesOnEverySettingThatAProcessTakes(t *testing.T) {
	seen := 0
	for name, service := range composed(t) {
		if !service.ours() {
			continue
		}
		seen++
		var got []string
		want := slices.Clone(openTelemetry)
		for _, variable := range config.Table() {
			if !takes(name, variable.Name) {
				continue
			}
			want = append(want, variable.Name)
			passed := !slices.Contains(fixed, variable.Name)
			if value, found := service.Environment[variable.Name]; found && (value == nil) != (passed && variable.Name != "ATTESTRY_BASE_URL") {
				t.Errorf("%s gives %s a value: %v", name, variable.Name, value != nil)
			}
			if variable.Secret && passed {
				want = append(want, variable.Name+"_FILE")
			}
		}
		got = slices.Sorted(maps.Keys(service.Environment))
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s gets %v, but takes %v", name, got, want)
		}
	}
	if seen != 6 {
		t.Errorf("there are %d services of ours", seen)
	}
}

// pinned matches images whose tag does not move, such as 8.0.17 or RELEASE.2025-09-07T16-13-09Z.
var pinned = regexp.MustCompile(`^[a-z/]+:(\d+\.\d+\.\d+(-[a-z]+)?|RELEASE\.[\dTZ-]+)$`)

func TestImagesArePinned(t *testing.T) {
	for name, service := range composed(t) {
		if !service.ours() && !pinned.MatchString(service.Image) {
			t.Errorf("%s is of %s", name, service.Image)
		}
	}
	dockerfile, err := os.ReadFile("../Dockerfile")
	evidencetest.Must(t, err)
	bases := regexp.MustCompile(`(?m)^FROM (?:--platform=\S+ )?(\S+)`).FindAllStringSubmatch(string(dockerfile), -1)
	for _, base := range bases {
		if base[1] != "scratch" && !pinned.MatchString(base[1]) {
			t.Errorf("the Dockerfile begins with %s", base[1])
		}
	}
	if len(bases) != 2 || !strings.Contains(string(dockerfile), "\nUSER 65532:65532\n") {
		t.Error("the Dockerfile has another base, or another user than 65532")
	}
}

func TestComposeConfinesEveryContainer(t *testing.T) {
	for name, service := range composed(t) {
		if !service.ReadOnly || !slices.Equal(service.CapDrop, []string{"ALL"}) || !slices.Contains(service.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s can write to its root, or has capabilities or may get some", name)
		}
		// Changing the owner of MinIO's volume takes root.
		if root := name == "minio-owner"; !service.ours() && root != (service.User == "0:0" || service.User == "") {
			t.Errorf("%s runs as %q", name, service.User)
		}
		if service.Memory == "" || service.CPUs != "2" || service.PIDs < 64 {
			t.Errorf("%s is limited to %q bytes, %q processors and %d threads", name, service.Memory, service.CPUs, service.PIDs)
		}
		if service.Logging.Options["max-size"] == "" || service.Logging.Options["max-file"] == "" {
			t.Errorf("the log of %s grows for ever", name)
		}
		if service.once() == (len(service.Health.Test) > 0) {
			t.Errorf("%s ends: %v, and its health is checked by %q", name, service.once(), service.Health.Test)
		}
	}
}

// TestComposeMemoryIsEnough adds up the needs in docs/operations.md under "Memory" and "What runs": twice the budget,
// 100 MiB, and 300 MB for each child process; twice MongoDB's cache; twice Redis's limit, for when it rewrites its log.
func TestComposeMemoryIsEnough(t *testing.T) {
	services := composed(t)
	limit := func(service string) uint64 {
		bytes, err := humanize.ParseBytes(strings.TrimSuffix(services[service].Memory, "b") + "ib")
		if err != nil {
			t.Fatalf("%s: %v", service, err)
		}
		return bytes
	}
	children, err := strconv.Atoi(services["api"].CPUs)
	evidencetest.Must(t, err)
	budget := limit("api") / 4
	if given := services["api"].Environment["ATTESTRY_MEMORY_BUDGET"]; given != nil {
		t.Errorf("the budget %s does not follow API_MEMORY", *given)
	}
	if need := 2*budget + 100<<20 + uint64(children)*300e6; need > limit("api") {
		t.Errorf("the api may need %d bytes and has %d", need, limit("api"))
	}
	cache := regexp.MustCompile(`--wiredTigerCacheSizeGB (\S+)`).FindStringSubmatch(services["mongodb"].words())
	if gigabytes, err := strconv.ParseFloat(cache[1], 64); err != nil || 2*gigabytes*(1<<30) > float64(limit("mongodb")) {
		t.Errorf("MongoDB has a cache of %s GB and %d bytes in all: %v", cache[1], limit("mongodb"), err)
	}
	if !strings.Contains(services["redis"].words(), "--maxmemory 512mb ") || limit("redis") < 2*512<<20 {
		t.Errorf("Redis has %d bytes in all", limit("redis"))
	}
}

func TestComposePublishesOnlyTheAPIAndOnlyLocally(t *testing.T) {
	for name, service := range composed(t) {
		if want := map[string]string{"api": "127.0.0.1:8001:8001"}[name]; strings.Join(service.Ports, " ") != want {
			t.Errorf("%s publishes %q", name, service.Ports)
		}
		outside := slices.Contains([]string{"api", "worker-notifications", "admin"}, name)
		if slices.Contains(service.Networks, "frontend") != outside || !slices.Contains(service.Networks, "backend") {
			t.Errorf("%s is in %v", name, service.Networks)
		}
	}
}

// TestComposePassesPasswordsOnlyWhereTheyAreNeeded looks for the names of variables, because composed uses them as
// values.
func TestComposePassesPasswordsOnlyWhereTheyAreNeeded(t *testing.T) {
	onCommandLine := regexp.MustCompile(`PASSWORD|MONGODB_KEY$|(?i)pass[a-z]*[ ="']+\$`)
	for name, service := range composed(t) {
		words := service.words()
		// A shell expands these into a file or the standard input of the server.
		for _, read := range []string{"requirepass $$REDISCLI_AUTH\nEND", `printf '%s' "$$MONGODB_KEY" >/tmp/replica.key`} {
			words = strings.ReplaceAll(words, read, "")
		}
		if found := onCommandLine.FindString(words); found != "" {
			t.Errorf("a command line of %s has %q", name, found)
		}
		for variable, value := range service.Environment {
			if service.ours() && value != nil && strings.Contains(*value, "ROOT") {
				t.Errorf("%s gets a password of root in %s", name, variable)
			}
		}
	}
}

// The services minio-setup and mongodb-setup create the users, the replica set and the bucket.
func TestComposeStartsProcessesAfterTheirStoresAreSetUp(t *testing.T) {
	services := composed(t)
	for name, service := range services {
		for other, dependency := range service.DependsOn {
			want := "service_healthy"
			if services[other].once() {
				want = "service_completed_successfully"
			}
			if dependency.Condition != want {
				t.Errorf("%s waits until %s is %s", name, other, dependency.Condition)
			}
		}
		if want := []string{"minio-setup", "mongodb-setup", "redis"}; service.ours() && !slices.Equal(slices.Sorted(maps.Keys(service.DependsOn)), want) {
			t.Errorf("%s waits for %v", name, service.DependsOn)
		}
	}
	for _, script := range []string{"../deploy/compose/minio.sh", "../deploy/compose/mongodb.js"} {
		if _, err := os.Stat(script); err != nil {
			t.Error(err)
		}
	}
}
