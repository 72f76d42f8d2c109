package main

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
)

// costs is written by TestCostsOfOperationsAreThoseOfTheModel of api/e2e, but for the last column: milliseconds of a
// processor as scripts/bench measures them, clients and embedded engines counted.
//
//go:embed costs.tsv
var costs string

// podsMeasured is how many pods the reports of costs.tsv have.
const podsMeasured = 100

type cost struct {
	Operation                             string
	Commands, Writes, Bytes, Milliseconds float64
}

// need is what operations need in a second.
type need struct{ Commands, Writes, Bytes, Processors float64 }

func (n need) plus(other need) need {
	return need{n.Commands + other.Commands, n.Writes + other.Writes, n.Bytes + other.Bytes, n.Processors + other.Processors}
}

// at is what so many operations in a second need. Processor time of a report grows with its pods; commands and bytes do not
// (docs/benchmarks.md).
func (c cost) at(rate, pods float64) need {
	size := 1.0
	if strings.HasSuffix(c.Operation, "changed report") {
		size = max(1, pods/podsMeasured)
	}
	return need{rate * c.Commands, rate * c.Writes, rate * c.Bytes, rate * c.Milliseconds * size / 1000}
}

func readCosts(content string) ([]cost, error) {
	reader := csv.NewReader(strings.NewReader(content))
	reader.Comma = '\t'
	rows, err := reader.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("costs.tsv: %w", err)
	}
	var table []cost
	for _, row := range rows[1:] {
		c := cost{Operation: row[0]}
		for i, to := range []*float64{&c.Commands, &c.Writes, &c.Bytes, &c.Milliseconds} {
			if *to, err = strconv.ParseFloat(row[1+i], 64); err != nil {
				return nil, fmt.Errorf("costs.tsv: %w", err)
			}
		}
		table = append(table, c)
	}
	return table, nil
}
