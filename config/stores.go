package config

import (
	"cmp"
	"errors"
	"net/url"
	"path"
	"regexp"
	"strings"

	"attestry/evidence"
)

// Engine is an implementation of a store.
type Engine string

// The engines of storage.
const (
	MongoDB    Engine = "mongodb"
	Pebble     Engine = "pebble"
	S3         Engine = "s3"
	Filesystem Engine = "filesystem"
)

// defaultDatabase is used when a MongoDB address names none.
const defaultDatabase = "attestry"

// Database is where documents are kept.
type Database struct {
	Engine Engine // MongoDB or Pebble
	URI    evidence.Secret
	Name   string // with MongoDB
	Path   string // with Pebble, the folder
	// AcceptLoss opens a damaged folder of Pebble with the data that can be read. It is a flag, not a setting.
	AcceptLoss bool
	// LeaveIndexes opens MongoDB without creating missing indexes. It is not a setting.
	LeaveIndexes bool
}

// UnmarshalText reads the address of a database.
func (d *Database) UnmarshalText(text []byte) error {
	address := string(text)
	switch scheme, rest, _ := strings.Cut(address, "://"); scheme {
	case "mongodb", "mongodb+srv":
		return d.readMongoDB(address, rest)
	case "pebble":
		folder, err := filePath(address)
		*d = Database{Engine: Pebble, Path: folder}
		return err
	}
	return errors.New("must begin with mongodb://, mongodb+srv:// or pebble://")
}

// readMongoDB parses the address without net/url, which does not support lists of hosts.
func (d *Database) readMongoDB(address, rest string) error {
	rest, _, _ = strings.Cut(rest, "?")
	authority, name, _ := strings.Cut(rest, "/")
	hosts := authority[strings.LastIndex(authority, "@")+1:]
	if hosts == "" {
		return errors.New("names no host")
	}
	if strings.ContainsAny(name, "/\\. \"$%") || len(name) > 63 {
		return errors.New("does not end in the name of a database; is the password percent-encoded?")
	}
	*d = Database{Engine: MongoDB, URI: evidence.Secret(address), Name: cmp.Or(name, defaultDatabase)}
	return nil
}

// Objects is where files are kept.
type Objects struct {
	Engine Engine // S3 or Filesystem
	// Endpoint, Secure, AccessKey, SecretKey and Bucket go with S3.
	Endpoint  string // host:port
	Secure    bool   // over TLS
	AccessKey string
	SecretKey evidence.Secret
	Bucket    string
	Path      string // with Filesystem
	// LeaveBucket opens S3 without creating a missing bucket. It is not a setting.
	LeaveBucket bool
}

// UnmarshalText reads the address of an object store.
func (o *Objects) UnmarshalText(text []byte) error {
	address := string(text)
	switch scheme, _, _ := strings.Cut(address, "://"); scheme {
	case "http", "https":
		return o.readS3(address)
	case "file":
		folder, err := filePath(address)
		*o = Objects{Engine: Filesystem, Path: folder}
		return err
	}
	return errors.New("must begin with http://, https:// or file://")
}

func (o *Objects) readS3(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("is not of the form http(s)://ACCESS:SECRET@host:port/bucket; is the secret percent-encoded?")
	}
	secret, _ := u.User.Password()
	if u.User.Username() == "" || secret == "" {
		return errors.New("lacks ACCESS:SECRET@ before the host")
	}
	bucket := strings.Trim(u.Path, "/")
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`).MatchString(bucket) {
		return errors.New("must end in the name of a bucket: 3 to 63 lower-case letters, digits, '.' and '-'")
	}
	*o = Objects{
		Engine:    S3,
		Endpoint:  u.Host,
		Secure:    u.Scheme == "https",
		AccessKey: u.User.Username(),
		SecretKey: evidence.Secret(secret),
		Bucket:    bucket,
	}
	return nil
}

// Redis is the address of the Redis with the task queues.
type Redis struct {
	URL evidence.Secret
}

// UnmarshalText reads the address of a Redis.
func (r *Redis) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	if err != nil {
		return errors.New("is not an address; is the password percent-encoded?")
	}
	if u.Scheme != "redis" && u.Scheme != "rediss" {
		return errors.New("must begin with redis:// or rediss://")
	}
	if u.Hostname() == "" {
		return errors.New("names no host")
	}
	if !regexp.MustCompile(`^(/[0-9]{0,5})?$`).MatchString(u.Path) {
		return errors.New("may end in the number of a database and nothing else")
	}
	r.URL = evidence.Secret(text)
	return nil
}

// filePath returns the path of a URL without a host.
func filePath(address string) (string, error) {
	u, err := url.Parse(address)
	if err == nil && (u.RawQuery != "" || u.Fragment != "") {
		return "", errors.New("takes no parameters; write ? and # of a path as %3F and %23")
	}
	if err != nil || u.Host != "" || u.User != nil ||
		!path.IsAbs(u.Path) || path.Clean(u.Path) == "/" || strings.ContainsRune(u.Path, 0) {
		return "", errors.New("must be an absolute path behind three slashes")
	}
	return path.Clean(u.Path), nil
}
