package tasks

import (
	"context"
	"crypto/x509"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"attestry/goroutine"
	"attestry/trace"
)

// redisTimeout bounds dialing and each command, so that a Redis that hangs is noticed as fast as one that is down.
const redisTimeout = 3 * time.Second

// NewRedis makes a client from a redis:// or rediss:// URL. It does not connect yet; errors never hold the URL, which
// may carry a password. roots are the authorities that sign the certificate of the server, nil for the system's.
func NewRedis(url string, roots *x509.CertPool) (*redis.Client, error) {
	options, err := redisOptions(url, redisTimeout, roots)
	if err != nil {
		return nil, err
	}
	return newClient(options)
}

// NewRedisWithin is NewRedis for calls that must not take long: a connection is dialed once
// and within the timeout, and commands end with the deadline of their context.
func NewRedisWithin(url string, timeout time.Duration, roots *x509.CertPool) (*redis.Client, error) {
	options, err := redisOptions(url, timeout, roots)
	if err != nil {
		return nil, err
	}
	options.DialerRetries = 1
	options.ContextTimeoutEnabled = true
	return newClient(options)
}

var errAddress = errors.New("the address of Redis has a parameter that is unknown or wrong")

func newClient(options *redis.Options) (client *redis.Client, err error) {
	err = goroutine.Recovered(func() error {
		client = redis.NewClient(options)
		client.AddHook(spans{})
		return nil
	})
	if err != nil {
		return nil, errAddress // the library panics if a number such as pool_size is out of its range
	}
	return client, nil
}

func redisOptions(url string, timeout time.Duration, roots *x509.CertPool) (*redis.Options, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, errAddress
	}
	if options.TLSConfig != nil {
		options.TLSConfig.RootCAs = roots
	}
	options.DialTimeout = timeout
	options.ReadTimeout = timeout
	options.WriteTimeout = timeout
	options.MaxRetries = 1
	return options, nil
}

// spans is a hook of Redis clients that makes a span of each command, without its arguments.
type spans struct{}

// DialHook changes nothing.
func (spans) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook makes the span of a command. A missing value is no failure.
func (spans) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		ctx, span := trace.Start(ctx, trace.Client, "redis "+command.Name())
		err := next(ctx, command)
		span.End(err != nil && err != redis.Nil)
		return err
	}
}

// ProcessPipelineHook makes one span of all commands.
func (spans) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		ctx, span := trace.Start(ctx, trace.Client, "redis pipeline")
		err := next(ctx, commands)
		span.End(err != nil && err != redis.Nil)
		return err
	}
}
