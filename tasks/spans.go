package tasks

import (
	"context"

	"github.com/redis/go-redis/v9"

	"attestry/trace"
)

// spans is a hook of Redis clients that makes a span of each command, without its arguments.
type spans struct{}

// DialHook changes nothing.
func (spans) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook makes the span of a command. A value that is not there is no failure.
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
