// Package config reads the settings, from environment variables, and the bootstrap file. It reports all faults at once.
package config

import (
	"errors"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"attestry/evidence"
)

// Settings are the settings of a process. The api and the worker accept the same ones and ignore those of the other.
// Printing them hides secrets.
type Settings struct {
	HTTP      HTTP
	SignIn    SignIn
	Outbound  Outbound
	SMTP      SMTP
	Limits    Limits
	Stores    Stores
	Retention Retention
	Log       Log
	Worker    Worker
	Process   Process
}

// HTTP are the settings of the api process.
type HTTP struct {
	Listen            Address        `env:"LISTEN" envDefault:"127.0.0.1:8001" doc:"host:port on which the API answers"`
	BaseURL           BaseURL        `env:"BASE_URL" doc:"scheme and host, without a path, that links are built from; if unset, http:// (or https://, with a certificate) and the listen address"`
	TLSCertFile       string         `env:"TLS_CERT_FILE" with:"TLS_KEY_FILE,TLS_CLIENT_CA_FILE" doc:"PEM file of the certificate of the API with its chain, read again when it changes; with it the API answers only HTTPS, without it only HTTP"`
	TLSKeyFile        string         `env:"TLS_KEY_FILE" with:"TLS_CERT_FILE" doc:"PEM file of the key of that certificate; required with a certificate"`
	TLSClientCAFile   string         `env:"TLS_CLIENT_CA_FILE" with:"TLS_CLIENT_ACCOUNTS" doc:"PEM file of the authorities that must have signed the certificates of clients, read again when it changes; if unset, clients are not asked for a certificate"`
	TLSClientAccounts ClientAccounts `env:"TLS_CLIENT_ACCOUNTS" with:"TLS_CLIENT_CA_FILE" doc:"the service account that a request without a key acts as, by the common name or a DNS name of its client certificate, such as gatekeeper.example=acme/gatekeeper; required with authorities of client certificates"`
	RequestTimeout    time.Duration  `env:"REQUEST_TIMEOUT" envDefault:"30s" min:"1s" max:"10m" doc:"how long a request may take"`
	DrainDelay        time.Duration  `env:"DRAIN_DELAY" envDefault:"0s" min:"0s" max:"10m" doc:"how long a stopping process still answers requests while its /ready answers 503, so that load balancers notice"`
	Web               Switch         `env:"WEB" envDefault:"on" doc:"on or off: whether the pages for people are served beside the API"`
	ReportWait        time.Duration  `env:"REPORT_WAIT" envDefault:"10s" min:"0s" max:"10s" doc:"how long the answer to a report waits for its verdict, at most 10s and less than the request timeout"`
	SigningKeyFile    string         `env:"SIGNING_KEY_FILE" doc:"PEM file of the ECDSA P-256 key, PKCS#8 or SEC 1, that the api signs verdicts with; if unset, it signs none"`
	MemoryBudget      MemoryBudget   `env:"MEMORY_BUDGET" doc:"how much memory the bodies and answers of all running requests may take up, such as 512MiB, at least 16MiB; if unset, a quarter of the memory of the machine or of the limit of the cgroup"`
}

// SignIn is the OpenID Connect issuer with which people sign in to the pages, beside their API keys.
type SignIn struct {
	Issuer       Issuer          `env:"OIDC_ISSUER" with:"OIDC_CLIENT_ID,OIDC_CLIENT_SECRET" doc:"https address of the OpenID Connect issuer with which people can sign in to the pages; if unset, they sign in with API keys only"`
	ClientID     string          `env:"OIDC_CLIENT_ID" with:"OIDC_ISSUER" doc:"id of this service at that issuer, where its redirect URI is the base URL with /signin/oidc/callback; required with an issuer"`
	ClientSecret evidence.Secret `env:"OIDC_CLIENT_SECRET" doc:"secret of this service at that issuer; if unset, only PKCE protects the sign-in"`
	UserClaim    string          `env:"OIDC_USER_CLAIM" envDefault:"preferred_username" doc:"claim of the token that has the name of the user of this service; people must not be able to change it at the issuer"`
}

// Outbound restricts calls to addresses that users choose.
type Outbound struct {
	Allow OutboundNetworks `env:"OUTBOUND_ALLOW" doc:"networks or addresses, such as 10.0.0.0/8,192.168.7.5, in which identity providers, receivers of notifications and witnesses may be called although the addresses are not public; link-local ones never are"`
}

// SMTP is the mail server that sends notifications by e-mail. It may be in any network.
type SMTP struct {
	Host     MailHost        `env:"SMTP_HOST" doc:"host or host:port of the mail server that sends notifications by e-mail; the default port is 587, with ATTESTRY_SMTP_TLS=tls 465, with none 25; if unset, notifications by e-mail fail"`
	From     MailAddress     `env:"SMTP_FROM" with:"SMTP_HOST" doc:"address of the sender of e-mails, such as attestry@example.com, with or without a name; required with a mail server"`
	Username string          `env:"SMTP_USERNAME" with:"SMTP_PASSWORD" doc:"user name at the mail server; if unset, e-mails are sent without a login"`
	Password evidence.Secret `env:"SMTP_PASSWORD" with:"SMTP_USERNAME" doc:"password of that user; required with a user name"`
	TLS      MailTLS         `env:"SMTP_TLS" envDefault:"starttls" doc:"starttls: the mail server must offer STARTTLS; tls: TLS from the first byte; none: not encrypted, possible only without a user name"`
}

// Limits are the rate limits of the api process.
type Limits struct {
	RateLimitKey   int      `env:"RATE_LIMIT_KEY" envDefault:"0" min:"0" max:"1000000" doc:"how many requests each API key may make per minute; they may come all at the same moment; 0: no limit"`
	RateLimitOrg   int      `env:"RATE_LIMIT_ORG" envDefault:"0" min:"0" max:"1000000" doc:"how many requests may be made to each organization per minute; they may come all at the same moment; 0: no limit"`
	FailedKeyLimit int      `env:"FAILED_KEY_LIMIT" envDefault:"300" min:"0" max:"1000000" doc:"how many requests with invalid API keys each client address may make per minute; they may come all at the same moment; 0: no limit"`
	TrustedProxies Networks `env:"TRUSTED_PROXIES" doc:"comma-separated addresses or networks (10.0.0.0/8) of the proxies whose X-Forwarded-For is believed; if unset, none"`
}

// Stores are the addresses of the stores.
type Stores struct {
	Database Database `env:"DATABASE_URL,required,notEmpty" doc:"mongodb://..., mongodb+srv://... (database: its path, else attestry) or, for a single process, pebble:///absolute/folder"`
	Objects  Objects  `env:"OBJECTS_URL,required,notEmpty" doc:"http(s)://ACCESS:SECRET@host:port/bucket, with reserved characters percent-encoded, or file:///absolute/path"`
	Redis    Redis    `env:"REDIS_URL,required,notEmpty" doc:"redis://... or rediss://..."`
}

// Retention is how long files of evidence and audit packages cannot be deleted.
type Retention struct {
	Days          int              `env:"RETENTION_DAYS" envDefault:"0" min:"0" max:"36500" doc:"for how many days the bucket, which must have object lock, refuses to delete evidence files and audit packages; 0: not at all"`
	Organizations OrganizationDays `env:"RETENTION_ORGANIZATIONS" doc:"other numbers of days for some organizations by their names, such as acme=3650,demo=0"`
	Mode          RetentionMode    `env:"RETENTION_MODE" envDefault:"governance" doc:"governance: who has the permission s3:BypassGovernanceRetention can delete earlier; compliance: nobody can"`
}

// Log is the transparency log of each organization.
type Log struct {
	KeyFile   string    `env:"LOG_KEY_FILE" doc:"file of the private keys that sign the transparency logs, a line for each: PRIVATE+KEY+name+hash+key, as scripts/admin log key --new makes one; if unset, nothing is logged"`
	Witnesses Witnesses `env:"LOG_WITNESSES" doc:"witnesses that cosign the checkpoints of the transparency logs, address=verifier key, such as https://witness.example=witness.example/w1+5f2c1a09+BAiq...; if unset, none"`
}

// Worker are the settings of the worker process.
type Worker struct {
	Queues      Queues `env:"QUEUES" envDefault:"reports=6,compliance=3,notifications=2,packages=1,log=1" doc:"queues that are served, each with a number from 1 to 100; the numbers of reports and compliance are weights that divide ATTESTRY_CONCURRENCY between them; other queues have limits of their own, whatever their numbers are"`
	Concurrency int    `env:"CONCURRENCY" envDefault:"16" min:"1" max:"1000" doc:"tasks of reports and compliance that run at once"`
	PackageDays int    `env:"PACKAGE_DAYS" envDefault:"30" min:"0" max:"36500" doc:"days for which an audit package is kept after it was last asked for; 0: for ever"`
}

// Process are the settings of both processes.
type Process struct {
	MonitorListen   Address       `env:"MONITOR_LISTEN" envDefault:"127.0.0.1:9001" doc:"host:port of /metrics, /healthz and /readyz; empty or off: none"`
	CAFile          string        `env:"CA_FILE" doc:"PEM file of certificate authorities that are trusted in addition to those of the system, for all servers that are called: MongoDB, Redis, S3, issuers, receivers of notifications, mail servers and witnesses; read at the start; if unset, only those of the system"`
	BootstrapFile   string        `env:"BOOTSTRAP_FILE" doc:"YAML file of users, organizations and keys that is applied at every start"`
	Beta            Switch        `env:"BETA" envDefault:"on" doc:"on or off: whether organizations that are created from now on have the beta features, such as controls; a bootstrap file or an administrator can switch them for each"`
	LogLevel        slog.Level    `env:"LOG_LEVEL" envDefault:"info" doc:"debug, info, warn or error"`
	ShutdownTimeout time.Duration `env:"SHUTDOWN_TIMEOUT" envDefault:"20s" min:"1s" max:"10m" doc:"how long running work may take to end when the process is told to stop"`
}

// Switch is a setting that is on or off.
type Switch bool

// UnmarshalText reads on or off.
func (s *Switch) UnmarshalText(text []byte) error {
	switch string(text) {
	case "on":
		*s = true
	case "off":
		*s = false
	default:
		return errors.New("must be on or off")
	}
	return nil
}

// minBudget is the smallest useful memory budget, in bytes.
const minBudget = 16 << 20

// MemoryBudget is an amount of memory in bytes, 0 for the default of the machine.
type MemoryBudget int64

// UnmarshalText reads a number of bytes with or without a unit, such as 512MiB.
func (b *MemoryBudget) UnmarshalText(text []byte) error {
	bytes, err := humanize.ParseBytes(string(text))
	// The parser ignores commas: 1,5GiB would be ten times as much as is meant.
	if err != nil || bytes < minBudget || bytes > math.MaxInt64 || strings.Contains(string(text), ",") {
		return errors.New("is not an amount of memory such as 512MiB, at least 16MiB")
	}
	*b = MemoryBudget(bytes)
	return nil
}
