// Command loadtest puts a service under the load of a company: clusters that report, pipelines that send evidence, and
// auditors that read. It prints rates, latencies and errors in Markdown, in total and over time, and draws charts.
//
//	./scripts/load --address http://127.0.0.1:8001 --org acme --token FILE --metrics http://127.0.0.1:9001/metrics
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"attestry/scripts/clienttest"
)

func main() {
	var l load
	flag.StringVar(&l.address, "address", "http://127.0.0.1:8001", "`URL` of the service")
	flag.StringVar(&l.org, "org", "acme", "organization, in which environments and flows are created")
	token := flag.String("token", "", "`FILE` with an API key of a member")
	flag.StringVar(&l.metrics, "metrics", "", "`URL` of /metrics, for the memory of the process")
	flag.StringVar(&l.data, "data", "", "`FOLDER` with the data of the service, for its size")
	picture := flag.String("svg", "", "`FILE` to draw to")
	flag.DurationVar(&l.duration, "duration", 5*time.Minute, "how long")
	flag.DurationVar(&l.interval, "interval", time.Minute, "how often each environment reports")
	flag.IntVar(&l.environments, "environments", 2000, "how many clusters report")
	flag.IntVar(&l.pipelines, "pipelines", 64, "how many pipelines run at the same time")
	flag.IntVar(&l.auditors, "auditors", 16, "how many auditors read at the same time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := l.run(ctx, *token, *picture); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// run reads the key, runs the users, and prints and draws the measurements.
func (l *load) run(ctx context.Context, token, picture string) error {
	if min(l.environments, l.pipelines) < 1 {
		return errors.New("--environments and --pipelines must be at least 1")
	}
	key, err := os.ReadFile(token)
	if err != nil {
		return fmt.Errorf("--token: %w", err)
	}
	l.client, l.scope = clienttest.New(l.org, strings.TrimSpace(string(key)), l.address), fmt.Sprintf("load-%d", time.Now().Unix())
	if err := l.prepare(ctx); err != nil {
		return err
	}
	l.work(ctx)
	l.print(os.Stdout)
	if picture == "" {
		return ctx.Err()
	}
	return errors.Join(ctx.Err(), os.WriteFile(picture, l.draw(), 0o644))
}
