package storagetest

import (
	"encoding/json"
	"maps"
	"sync"

	"attestry/storage"
)

// CountingDocuments counts the commands to an engine, for tests that bound the costs of an operation.
type CountingDocuments struct {
	Interceptor
	mu    sync.Mutex
	costs Costs
}

// Costs are numbers of commands, whether or not they succeeded.
type Costs struct {
	// Methods has the number of commands of each method.
	Methods map[string]int
	// Writes is how many of them write.
	Writes int
	// Bytes is the size of all ids, fields (as JSON) and bodies sent in writes.
	Bytes int64
}

// Commands is the number of commands of all methods.
func (c Costs) Commands() int {
	commands := 0
	for _, n := range c.Methods {
		commands += n
	}
	return commands
}

// NewCountingDocuments counts the commands to docs.
func NewCountingDocuments(docs storage.Documents) *CountingDocuments {
	c := &CountingDocuments{}
	c.Interceptor = Interceptor{Documents: docs, Around: c.count}
	c.Reset()
	return c
}

// Snapshot returns the costs since the last Reset.
func (c *CountingDocuments) Snapshot() Costs {
	c.mu.Lock()
	defer c.mu.Unlock()
	costs := c.costs
	costs.Methods = maps.Clone(costs.Methods)
	return costs
}

// Reset sets all counts to zero.
func (c *CountingDocuments) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.costs = Costs{Methods: map[string]int{}}
}

func (c *CountingDocuments) count(command Command, run func() error) error {
	c.add(command)
	return run()
}

func (c *CountingDocuments) add(command Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.costs.Methods[command.Method]++
	if len(command.Writes) > 0 {
		c.costs.Writes++
	}
	for _, write := range command.Writes {
		c.costs.Bytes += int64(Size(&write.Record))
	}
}

// Size is the size of a record in bytes, with its fields as JSON.
func Size(record *storage.Record) int {
	fields, err := json.Marshal(record.Fields)
	if err != nil {
		panic(err) // the fields of a record always encode
	}
	return len(record.ID) + len(fields) + len(record.Body)
}
