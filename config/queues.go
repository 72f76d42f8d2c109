package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const maxQueueWeight = 100

// QueueNames are the names of all queues.
var QueueNames = []string{"reports", "compliance", "notifications", "packages", "log"}

// Queues maps the queues that a worker serves to their weights, by which reports and compliance share its concurrency.
type Queues map[string]int

// UnmarshalText reads a list such as "reports=6,compliance=3".
func (q *Queues) UnmarshalText(text []byte) error {
	queues := Queues{}
	for entry := range strings.SplitSeq(string(text), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(entry), "=")
		if !slices.Contains(QueueNames, name) {
			return fmt.Errorf("%q is not a queue: there are %s", name, strings.Join(QueueNames, ", "))
		}
		if _, twice := queues[name]; twice {
			return fmt.Errorf("names the queue %s twice", name)
		}
		n, err := strconv.Atoi(weight)
		if err != nil || n < 1 || n > maxQueueWeight {
			return fmt.Errorf("must give the queue %s a weight between 1 and %d", name, maxQueueWeight)
		}
		queues[name] = n
	}
	*q = queues
	return nil
}
