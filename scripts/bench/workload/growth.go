package workload

import (
	"fmt"

	"attestry/scripts/bench/measure"
)

// Growth is what a row took over what the same took at a smaller size, in the same
// run.
type Growth struct {
	Of   string `json:"of"`
	From int    `json:"from"`
	To   int    `json:"to"`
	// Time is the median latency over the other's, Processor the processor time.
	Time      float64 `json:"time"`
	Processor float64 `json:"processor"`
}

// grown makes a row that is measured at several sizes; subject is its name with %d
// where the size stands.
func grown(subject string, size, clients int, prepare func(*stage, int) (measure.Pair, error)) Row {
	return Row{Name: fmt.Sprintf(subject, size), subject: subject, size: size, clients: clients, prepare: prepare}
}

// Growths compares the rows of one subject, each with the next larger one. Rows come
// in order of their size.
func Growths(rows []Row, results []measure.Result) []Growth {
	var found []Growth
	for i, larger := range rows {
		for j := i - 1; j >= 0 && larger.subject != ""; j-- {
			if rows[j].subject != larger.subject {
				continue
			}
			found = append(found, Growth{
				Of: fmt.Sprintf(larger.subject, larger.size), From: rows[j].size, To: larger.size,
				Time:      results[i].Service.P50 / results[j].Service.P50,
				Processor: results[i].Service.Processor / results[j].Service.Processor,
			})
			break
		}
	}
	return found
}
