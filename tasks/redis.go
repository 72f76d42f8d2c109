package tasks

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisTimeout bounds dialing and each command, so that a Redis that hangs is
// noticed as fast as one that is gone.
const redisTimeout = 3 * time.Second

// NewRedis makes a client from a redis:// or rediss:// URL. It does not connect
// yet; errors never hold the URL, which may carry a password.
func NewRedis(url string) (*redis.Client, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("the Redis URL cannot be read")
	}
	options.DialTimeout = redisTimeout
	options.ReadTimeout = redisTimeout
	options.WriteTimeout = redisTimeout
	options.MaxRetries = 1
	return redis.NewClient(options), nil
}

// Ping reports whether Redis answers.
func Ping(ctx context.Context, client *redis.Client) error {
	return client.Ping(ctx).Err()
}
