package apitest

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/scripts/standalone/instance"
	"attestry/tasks"
)

// Addresses of real engines. scripts/test --real sets them.
var (
	RealRedis   = os.Getenv("ATTESTRY_TEST_REDIS")
	RealMongoDB = os.Getenv("ATTESTRY_TEST_MONGODB")
	RealS3      = os.Getenv("ATTESTRY_TEST_S3")
)

// OnRealEngines reports whether real engines are configured.
func OnRealEngines() bool { return RealRedis+RealMongoDB+RealS3 != "" }

// SkipOnRealEngines skips a test where real engines are configured.
func SkipOnRealEngines(t *testing.T) {
	t.Helper()
	if OnRealEngines() {
		t.Skip("uses the embedded engines only, and was run with them")
	}
}

// useRealEngines sets the addresses of the real engines that are configured.
func useRealEngines(ctx context.Context, settings *instance.Options, redisDatabase int) error {
	redis, err := EmptyRedis(ctx, redisDatabase)
	if err != nil {
		return err
	}
	settings.Redis = cmp.Or(redis, settings.Redis)
	if address := NewMongoDB(); address != "" {
		settings.Database = address
	}
	settings.S3, err = NewBucket()
	return err
}

// EmptyRedis empties a numbered database of the real Redis and returns its address, "" without a real Redis.
func EmptyRedis(ctx context.Context, number int) (string, error) {
	address, err := url.Parse(RealRedis)
	if err != nil || address.Host == "" {
		return "", err
	}
	address.Path = fmt.Sprint("/", number)
	client, err := tasks.NewRedis(address.String(), nil)
	if err != nil {
		return "", err
	}
	defer client.Close()
	return address.String(), client.FlushDB(ctx).Err()
}

// NewMongoDB returns the address of a new database, "" without a real server.
func NewMongoDB() string {
	if RealMongoDB == "" {
		return ""
	}
	before, after, _ := strings.Cut(RealMongoDB, "/?")
	return before + "/e2e_" + strings.ReplaceAll(evidence.NewID(), "-", "") + "?" + after
}

// NewBucket returns the address of a new bucket, "" without a real store.
func NewBucket() (string, error) {
	address, err := url.Parse(RealS3)
	if err != nil || address.Host == "" {
		return "", err
	}
	address.Path = "/e2e-" + evidence.NewID()
	return address.String(), nil
}
