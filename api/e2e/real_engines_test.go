package e2e_test

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
	testRedis   = os.Getenv("ATTESTRY_TEST_REDIS")
	testMongoDB = os.Getenv("ATTESTRY_TEST_MONGODB")
	testS3      = os.Getenv("ATTESTRY_TEST_S3")
)

func onRealEngines() bool { return testRedis+testMongoDB+testS3 != "" }

func skipOnRealEngines(t *testing.T) {
	t.Helper()
	if onRealEngines() {
		t.Skip("uses the embedded engines only, and was run with them")
	}
}

// useRealEngines sets the addresses of the real engines that are configured.
func useRealEngines(ctx context.Context, settings *instance.Options, redisDatabase int) error {
	redis, err := emptyRedis(ctx, redisDatabase)
	if err != nil {
		return err
	}
	settings.Redis = cmp.Or(redis, settings.Redis)
	if address := newMongoDB(); address != "" {
		settings.Database = address
	}
	settings.S3, err = newBucket()
	return err
}

// emptyRedis empties a numbered database of the real Redis and returns its address, "" without a real Redis.
func emptyRedis(ctx context.Context, number int) (string, error) {
	address, err := url.Parse(testRedis)
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

// newMongoDB returns the address of a new database, "" without a real server.
func newMongoDB() string {
	if testMongoDB == "" {
		return ""
	}
	before, after, _ := strings.Cut(testMongoDB, "/?")
	return before + "/e2e_" + strings.ReplaceAll(evidence.NewID(), "-", "") + "?" + after
}

// newBucket returns the address of a new bucket, "" without a real store.
func newBucket() (string, error) {
	address, err := url.Parse(testS3)
	if err != nil || address.Host == "" {
		return "", err
	}
	address.Path = "/e2e-" + evidence.NewID()
	return address.String(), nil
}
