package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"attestry/config"
	"attestry/evidence/evidencetest"
)

func environ(changes map[string]string) []string {
	values := map[string]string{
		"PATH":                  "/bin",
		"ATTESTRY_DATABASE_URL": "pebble:///var/lib/attestry/documents",
		"ATTESTRY_OBJECTS_URL":  "file:///var/lib/attestry/objects",
		"ATTESTRY_REDIS_URL":    "redis://localhost:6379/0",
	}
	maps.Copy(values, changes)
	var entries []string
	for name, value := range values {
		entries = append(entries, name+"="+value)
	}
	return entries
}

func TestLoadHasDefaultsForAllThatIsNotRequired(t *testing.T) {
	got, err := config.Load(environ(nil))
	evidencetest.Must(t, err)
	want := config.Settings{
		HTTP: config.HTTP{
			Listen: "127.0.0.1:8001", BaseURL: "http://127.0.0.1:8001",
			Web: true, RequestTimeout: 30 * time.Second, ReportWait: 10 * time.Second,
		},
		SignIn: config.SignIn{UserClaim: "preferred_username"},
		SMTP:   config.SMTP{TLS: config.StartTLS},
		Limits: config.Limits{FailedKeyLimit: 300},
		Stores: config.Stores{
			Database: config.Database{Engine: config.Pebble, Path: "/var/lib/attestry/documents"},
			Objects:  config.Objects{Engine: config.Filesystem, Path: "/var/lib/attestry/objects"},
			Redis:    config.Redis{URL: "redis://localhost:6379/0"},
		},
		Retention: config.Retention{Mode: config.Governance},
		Worker: config.Worker{
			Queues:      config.Queues{"reports": 6, "compliance": 3, "notifications": 2, "packages": 1, "log": 1},
			Concurrency: 16,
			PackageDays: 30,
		},
		Process: config.Process{MonitorListen: "127.0.0.1:9001", Beta: true, LogLevel: slog.LevelInfo, ShutdownTimeout: 20 * time.Second},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestLoadReadsEverySetting(t *testing.T) {
	got, err := config.Load(environ(map[string]string{
		"ATTESTRY_LISTEN":             ":80",
		"ATTESTRY_MONITOR_LISTEN":     "off",
		"ATTESTRY_BASE_URL":           "https://evidence.example.com/",
		"ATTESTRY_DATABASE_URL":       "mongodb://app:p%40ss@db-0:27017,db-1:27017/delivery?replicaSet=rs0",
		"ATTESTRY_OBJECTS_URL":        "https://KEY:s%2Fcret@minio.example.com:9000/evidence-files",
		"ATTESTRY_REDIS_URL":          "rediss://:hidden@redis:6380/2",
		"ATTESTRY_BOOTSTRAP_FILE":     "/etc/attestry/bootstrap.yaml",
		"ATTESTRY_BETA":               "off",
		"ATTESTRY_QUEUES":             "reports=6, compliance=3",
		"ATTESTRY_PACKAGE_DAYS":       "7",
		"ATTESTRY_CONCURRENCY":        "4",
		"ATTESTRY_LOG_LEVEL":          "debug",
		"ATTESTRY_REQUEST_TIMEOUT":    "5s",
		"ATTESTRY_WEB":                "off",
		"ATTESTRY_OIDC_ISSUER":        "https://login.example.com/realm",
		"ATTESTRY_OIDC_CLIENT_ID":     "attestry",
		"ATTESTRY_OIDC_CLIENT_SECRET": "client-secret",
		"ATTESTRY_OIDC_USER_CLAIM":    "username",
		"ATTESTRY_REPORT_WAIT":        "0s",
		"ATTESTRY_MEMORY_BUDGET":      "1.5GiB",
		"ATTESTRY_OUTBOUND_ALLOW":     "10.0.0.0/8, 192.168.7.5,fd12::/16,::1",
		"ATTESTRY_SMTP_HOST":          "mail.example.com",
		"ATTESTRY_SMTP_FROM":          "Attestry <attestry@example.com>",
		"ATTESTRY_SMTP_USERNAME":      "attestry",
		"ATTESTRY_SMTP_PASSWORD":      "hidden",
		"ATTESTRY_SMTP_TLS":           "tls",
		"ATTESTRY_RATE_LIMIT_KEY":     "600",
		"ATTESTRY_RATE_LIMIT_ORG":     "6000",
		"ATTESTRY_FAILED_KEY_LIMIT":   "0",
		"ATTESTRY_TRUSTED_PROXIES":    "10.0.0.0/8, ::1",
		"ATTESTRY_SHUTDOWN_TIMEOUT":   "1m",
		"ATTESTRY_RETENTION_DAYS":     "36500",
		"ATTESTRY_RETENTION_MODE":     "compliance",
		"ATTESTRY_TEST_ANYTHING":      "is none of ours",

		"ATTESTRY_RETENTION_ORGANIZATIONS": "acme=3650, demo=0",
	}))
	evidencetest.Must(t, err)
	want := config.Settings{
		HTTP: config.HTTP{
			Listen: ":80", BaseURL: "https://evidence.example.com", RequestTimeout: 5 * time.Second, MemoryBudget: 1536 << 20,
		},
		Outbound: config.Outbound{Allow: config.OutboundNetworks{
			netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.168.7.5/32"),
			netip.MustParsePrefix("fd12::/16"), netip.MustParsePrefix("::1/128"),
		}},
		SignIn: config.SignIn{
			Issuer: "https://login.example.com/realm", ClientID: "attestry", ClientSecret: "client-secret", UserClaim: "username",
		},
		SMTP: config.SMTP{
			Host: "mail.example.com:465", From: "Attestry <attestry@example.com>",
			Username: "attestry", Password: "hidden", TLS: config.ImplicitTLS,
		},
		Limits: config.Limits{
			RateLimitKey: 600, RateLimitOrg: 6000,
			TrustedProxies: config.Networks{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")},
		},
		Stores: config.Stores{
			Database: config.Database{
				Engine: config.MongoDB, Name: "delivery",
				URI: "mongodb://app:p%40ss@db-0:27017,db-1:27017/delivery?replicaSet=rs0",
			},
			Objects: config.Objects{
				Engine: config.S3, Endpoint: "minio.example.com:9000", Secure: true,
				AccessKey: "KEY", SecretKey: "s/cret", Bucket: "evidence-files",
			},
			Redis: config.Redis{URL: "rediss://:hidden@redis:6380/2"},
		},
		Retention: config.Retention{
			Days: 36500, Organizations: config.OrganizationDays{"acme": 3650, "demo": 0}, Mode: config.Compliance,
		},
		Worker: config.Worker{Queues: config.Queues{"reports": 6, "compliance": 3}, Concurrency: 4, PackageDays: 7},
		Process: config.Process{
			BootstrapFile: "/etc/attestry/bootstrap.yaml", LogLevel: slog.LevelDebug, ShutdownTimeout: time.Minute,
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestLoadSwitchesTheMonitorOffWhenItIsEmpty(t *testing.T) {
	got, err := config.Load(environ(map[string]string{"ATTESTRY_MONITOR_LISTEN": ""}))
	if err != nil || got.Process.MonitorListen != "" {
		t.Errorf("got %q, %v", got.Process.MonitorListen, err)
	}
}

func TestLoadDerivesTheBaseURLFromTheListenAddress(t *testing.T) {
	for listen, want := range map[string]config.BaseURL{
		":8001":          "http://localhost:8001",
		"0.0.0.0:8001":   "http://localhost:8001",
		"[::]:8001":      "http://localhost:8001",
		"[::1]:8001":     "http://[::1]:8001",
		"10.0.0.7:80":    "http://10.0.0.7:80",
		"evidence:65535": "http://evidence:65535",
	} {
		got, err := config.Load(environ(map[string]string{"ATTESTRY_LISTEN": listen}))
		if err != nil || got.HTTP.BaseURL != want {
			t.Errorf("%s: got %q, %v, want %q", listen, got.HTTP.BaseURL, err, want)
		}
	}
}

func TestLoadListsEveryFaultAtOnce(t *testing.T) {
	_, err := config.Load([]string{
		"ATTESTRY_LISTEN=off",
		"ATTESTRY_MONITOR_LISTEN=nine",
		"ATTESTRY_BASE_URL=https://example.com/attestry",
		"ATTESTRY_DATABASE_URL=postgres://app:hidden@db/x",
		"ATTESTRY_OBJECTS_URL=",
		"ATTESTRY_QUEUES=reports=6,repots=1",
		"ATTESTRY_CONCURRENCY=many",
		"ATTESTRY_OUTBOUND_ALLOW=10.0.0.0/8,169.254.0.0/16",
		"ATTESTRY_WEB=maybe",
		"ATTESTRY_OIDC_ISSUER=http://login.example.com",
		"ATTESTRY_SMTP_HOST=mail:smtp",
		"ATTESTRY_SMTP_FROM=attestry",
		"ATTESTRY_SMTP_USERNAME=attestry",
		"ATTESTRY_SMTP_TLS=maybe",
		"ATTESTRY_LOG_LEVEL=loud",
		"ATTESTRY_REQUEST_TIMEOUT=30",
		"ATTESTRY_REPORT_WAIT=11s",
		"ATTESTRY_SHUTDOWN_TIMEOUT=-1s",
		"ATTESTRY_DATABSE_URL=pebble:///x",
		"ATTESTRY_=",
	})
	var faults config.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("got %v, want Faults", err)
	}
	want := []string{
		"ATTESTRY_LISTEN: cannot be off",
		"ATTESTRY_BASE_URL: must be a scheme and a host and nothing else",
		"ATTESTRY_REQUEST_TIMEOUT: is not a duration such as 30s",
		"ATTESTRY_WEB: must be on or off",
		"ATTESTRY_REPORT_WAIT: must be between 0s and 10s",
		"ATTESTRY_OIDC_ISSUER: is not of the form https://host or https://host/path",
		`ATTESTRY_OUTBOUND_ALLOW: "169.254.0.0/16" is link-local, which is never called: machines get their credentials from such addresses`,
		"ATTESTRY_SMTP_HOST: does not end in a port number",
		"ATTESTRY_SMTP_FROM: is not an address such as attestry@example.com",
		"ATTESTRY_SMTP_PASSWORD: is required with ATTESTRY_SMTP_USERNAME",
		"ATTESTRY_SMTP_TLS: is not one of starttls, tls, none",
		"ATTESTRY_DATABASE_URL: must begin with mongodb://, mongodb+srv:// or pebble://",
		"ATTESTRY_OBJECTS_URL: is required",
		"ATTESTRY_REDIS_URL: is required",
		`ATTESTRY_QUEUES: "repots" is not a queue: there are reports, compliance, notifications, packages, log`,
		"ATTESTRY_CONCURRENCY: is not a whole number",
		"ATTESTRY_MONITOR_LISTEN: is not of the form host:port",
		"ATTESTRY_LOG_LEVEL: is not one of debug, info, warn, error",
		"ATTESTRY_SHUTDOWN_TIMEOUT: must be between 1s and 10m",
		"ATTESTRY_: is not a setting",
		"ATTESTRY_DATABSE_URL: is not a setting",
	}
	if !reflect.DeepEqual([]string(faults), want) {
		t.Errorf("got\n%s\nwant\n%s", err, strings.Join(want, "\n"))
	}
}

func TestReportWaitMustBeLessThanTheRequestTimeout(t *testing.T) {
	_, err := config.Load(environ(map[string]string{"ATTESTRY_REQUEST_TIMEOUT": "10s"}))
	if err == nil || err.Error() != "ATTESTRY_REPORT_WAIT: must be less than ATTESTRY_REQUEST_TIMEOUT" {
		t.Errorf("got %v", err)
	}
}

func TestLoadRefusesWrongValuesWithoutRepeatingSecrets(t *testing.T) {
	wrong := map[string][]string{
		"ATTESTRY_DATABASE_URL": {
			"sesame", "mysql://sesame@db", "mongodb://", "mongodb://app:sesame@", "mongodb://app:sesame/with@db:1/x",
			"mongodb://app:sesame@db:1/a b", "pebble://data/sesame", "pebble:///", "pebble:///sesame?mode=ro", "pebble://sesame", "sqlite:///sesame",
		},
		"ATTESTRY_OBJECTS_URL": {
			"sesame", "s3://KEY:sesame@host/bucket", "http://host:9000/sesame", "http://KEY@host/sesame",
			"http://KEY:sesame@host/", "http://KEY:sesame@host/a/b", "http://KEY:sesame@/bucket",
			"http://KEY:ses%zzame@host/bucket", "http://KEY:sesame/x@host/bucket", "file://sesame/x",
			"file:///sesame#x", "http://KEY:sesame@host:port/bucket", "http://KEY:sesame@host/Bucket",
		},
		"ATTESTRY_REDIS_URL": {
			"sesame", "http://:sesame@redis", "redis://:sesame@", "redis://:sesame@redis:x", "redis://:ses%zzame@redis",
			"redis://:sesame@redis/first", "redis://:sesame@redis/1/2",
		},
		"ATTESTRY_BASE_URL": {
			"sesame", "ftp://sesame", "https://user:sesame@host", "https://host?sesame", "https://host#sesame", "https://", "://", "https://host/sesame",
			"https://host:99999",
		},
		"ATTESTRY_SMTP_HOST":        {"sesame:x", "smtp://sesame", "user:sesame@mail:25", "mail:0", "mail:", ":25", "[]", "::1:25:x", "a b", "mail:70000"},
		"ATTESTRY_SMTP_FROM":        {"sesame", "@sesame", "a@b, c@sesame", "<sesame", "a@b\r\nBcc: sesame@c"},
		"ATTESTRY_SMTP_TLS":         {"sesame", "STARTTLS", "ssl"},
		"ATTESTRY_LISTEN":           {"sesame", "host:sesame", "host:70000", "http://sesame:80", "a b:80"},
		"ATTESTRY_QUEUES":           {"reports", "reports=0", "reports=101", "reports=1,reports=2", "reports=x", ","},
		"ATTESTRY_CONCURRENCY":      {"0", "1001", "-1", "1.5"},
		"ATTESTRY_RATE_LIMIT_KEY":   {"-1", "1000001", "many"},
		"ATTESTRY_RATE_LIMIT_ORG":   {"-1", "1000001", "1.5"},
		"ATTESTRY_FAILED_KEY_LIMIT": {"-1", "1000001", "off"},
		"ATTESTRY_TRUSTED_PROXIES":  {"proxy", "10.0.0.0/33", "10.0.0.0/", "10.0.0", ",", "10.0.0.1,", "10.0.0.1 10.0.0.2", "10.0.0.1:80", "[::1]", "::ffff:0.0.0.0/95"},
		"ATTESTRY_RETENTION_DAYS":   {"-1", "36501", "1.5", "ten"},
		"ATTESTRY_RETENTION_MODE":   {"sesame", "COMPLIANCE", "off"},
		"ATTESTRY_RETENTION_ORGANIZATIONS": {
			"acme", "acme=", "acme=-1", "acme=36501", "acme=1,acme=2", "acme=1.5", "=1", "a/b=1", ",", "acme=1,",
		},
		"ATTESTRY_MEMORY_BUDGET": {
			"sesame", "0", "-1GiB", "16777215", "15MiB", "10EiB", "512 sesames", "MiB", "100%", "1,5GiB", "2,048MiB",
		},
	}
	for name, values := range wrong {
		for _, value := range values {
			_, err := config.Load(environ(map[string]string{name: value}))
			if err == nil || !strings.HasPrefix(err.Error(), name+": ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s=%s gives %v", name, value, err)
				continue
			}
			if strings.Contains(err.Error(), "ame") && strings.Contains(err.Error(), "ses") {
				t.Errorf("a secret shows in: %v", err)
			}
		}
	}
}

func TestLoadSaysThatPathsTakeNoParameters(t *testing.T) {
	for _, address := range []string{"pebble:///data/documents?x=1", "pebble:///data#1"} {
		_, err := config.Load(environ(map[string]string{"ATTESTRY_DATABASE_URL": address}))
		if err == nil || err.Error() != "ATTESTRY_DATABASE_URL: takes no parameters; write ? and # of a path as %3F and %23" {
			t.Errorf("%s gives %v", address, err)
		}
	}
}

func TestSettingsDoNotPrintTheirSecrets(t *testing.T) {
	settings, err := config.Load(environ(map[string]string{
		"ATTESTRY_DATABASE_URL": "mongodb://app:sesame@db:27017",
		"ATTESTRY_OBJECTS_URL":  "http://KEY:sesame@minio:9000/bucket",
		"ATTESTRY_REDIS_URL":    "redis://:sesame@redis",
	}))
	evidencetest.Must(t, err)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("started", "settings", settings)
	slog.New(slog.NewTextHandler(&log, nil)).Info("started", "settings", settings)
	body, err := json.Marshal(settings)
	evidencetest.Must(t, err)
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", settings, settings, settings), log.String(), string(body)} {
		if strings.Contains(text, "sesame") {
			t.Errorf("a secret shows in %s", text)
		}
	}
	if settings.Stores.Database.Name != "attestry" {
		t.Errorf("the database is named %q", settings.Stores.Database.Name)
	}
}

func TestLoadDoesNotReadTheProcessEnvironment(t *testing.T) {
	t.Setenv("ATTESTRY_CONCURRENCY", "7")
	settings, err := config.Load(environ(nil))
	if err != nil || settings.Worker.Concurrency != 16 {
		t.Errorf("got %d, %v", settings.Worker.Concurrency, err)
	}
	if os.Getenv("ATTESTRY_CONCURRENCY") != "7" {
		t.Error("Load changed the environment")
	}
	if _, err := config.Load(nil); err == nil {
		t.Error("an empty environment is accepted")
	}
}

func TestMemoryBudgetIsReadWithItsUnit(t *testing.T) {
	for text, want := range map[string]config.MemoryBudget{
		"16MiB": 16 << 20, "16777216": 16 << 20, "64 MiB": 64 << 20, "2GiB": 2 << 30, "1g": 1e9, "250MB": 250e6,
	} {
		settings, err := config.Load(environ(map[string]string{"ATTESTRY_MEMORY_BUDGET": text}))
		if err != nil || settings.HTTP.MemoryBudget != want {
			t.Errorf("%s is %d, %v", text, settings.HTTP.MemoryBudget, err)
		}
	}
}
