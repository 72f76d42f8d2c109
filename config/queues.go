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
	queues, err := readNumbers(string(text), "queue", func(name string) error {
		if !slices.Contains(QueueNames, name) {
			return fmt.Errorf("%q is not a queue: there are %s", name, strings.Join(QueueNames, ", "))
		}
		return nil
	}, "weight", 1, maxQueueWeight)
	*q = queues
	return err
}

// readNumbers reads a list such as "acme=3650,demo=0" of things of a kind, each with a number within bounds.
func readNumbers(list, kind string, check func(name string) error, number string, least, most int) (map[string]int, error) {
	numbers := map[string]int{}
	for entry := range strings.SplitSeq(list, ",") {
		name, digits, _ := strings.Cut(strings.TrimSpace(entry), "=")
		if err := check(name); err != nil {
			return nil, err
		}
		if _, twice := numbers[name]; twice {
			return nil, fmt.Errorf("names the %s %s twice", kind, name)
		}
		n, err := strconv.Atoi(digits)
		if err != nil || n < least || n > most {
			return nil, fmt.Errorf("must give the %s %s a %s between %d and %d", kind, name, number, least, most)
		}
		numbers[name] = n
	}
	return numbers, nil
}
