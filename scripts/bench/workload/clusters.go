package workload

import (
	"errors"
	"net/http"
	"strconv"

	"attestry/scripts/bench/baseline"
	"attestry/scripts/bench/measure"
)

// reportKind is what a report does to its cluster.
type reportKind struct {
	// name is that of its rows, with %d where the size stands.
	name string
	// known tells that two flows know all that runs.
	known  bool
	change func(*report)
	want   answer
}

var (
	created   = answer{http.StatusCreated, `"OK"`}
	accepted  = answer{http.StatusOK, `"report accepted, it will be processed"`}
	unchanged = answer{http.StatusOK, `"report processed, no new snapshots to create"`}
)

// Reports that change nothing, and reports in which one image is replaced each time.
var (
	unchangedReport = reportKind{name: "report unchanged, %d artifacts, ", change: func(*report) {}, want: unchanged}
	changedReport   = reportKind{name: "report changed, %d artifacts known to two flows, ", known: true, change: (*report).roll, want: created}
)

// reportRows are the rows about clusters of one size. Each client is a cluster of its
// own, since the reports of one are processed one by one; all of them run the same
// images if flows know them.
func reportRows(kind reportKind, pods int, clients ...int) []Row {
	var rows []Row
	for _, n := range clients {
		rows = append(rows, grown(kind.name+counted(n, "client"), pods, n, func(s *stage, i int) (measure.Client, error) {
			seed := s.scope + strconv.Itoa(i)
			if kind.known {
				seed = s.scope
			}
			if kind.known && i == 0 {
				if err := s.know(seed, pods); err != nil {
					return measure.Client{}, err
				}
			}
			sent, err := newReport(seed, pods)
			if err != nil {
				return measure.Client{}, err
			}
			// The clusters do not replace the same image at the same time.
			sent.offset = i * rolled(pods) / n
			return prepareCluster(s, "cluster-"+strconv.Itoa(i), sent, kind.change, kind.want)
		}))
	}
	return rows
}

// prepareCluster makes an environment with its first snapshot. What is repeated
// is: change the report, send it, and insist on the wanted answer.
func prepareCluster(s *stage, name string, sent *report, change func(*report), want answer) (measure.Client, error) {
	return prepareClusterBy(s.client(), newClient(s.bare.Address, s.key), s, name, sent, change, want)
}

// prepareClusterBy is prepareCluster by clients that do more than this.
func prepareClusterBy(service, bare *client, s *stage, name string, sent *report, change func(*report), want answer) (measure.Client, error) {
	environment, err := s.environment(service, name)
	if err != nil {
		return measure.Client{}, err
	}
	send := func(to *client, path string, sent *report, want answer) measure.Operation {
		return func() error {
			change(sent)
			return to.put(path, sent.body, want)
		}
	}
	path := reportPath(environment)
	prepared := measure.Client{
		Service: send(service, path, sent, want),
		// The service must not miss the changes that the bare handler is sent.
		Baseline: send(bare, baseline.ReportPath, sent.clone(), answer{http.StatusOK, `"OK"`}),
	}
	// The first report makes the first snapshot; the others warm up both sides.
	if err := service.putUntil(path, sent.body, unchanged, created, accepted); err != nil {
		return measure.Client{}, err
	}
	return prepared, errors.Join(prepared.Service(), prepared.Baseline())
}

func reportPath(environment string) string {
	return pathPrefix + "/environments/" + organization + "/" + environment + "/report/K8S"
}

// fleetRows are the rows about many small clusters that report in turn, shared out
// among clients.
func fleetRows(clusters, pods, clients int) []Row {
	kinds := []struct {
		name   string
		change func(*report)
		want   answer
	}{
		{"unchanged", func(*report) {}, unchanged},
		{"changed", (*report).replace, created},
	}
	var rows []Row
	for _, kind := range kinds {
		rows = append(rows, Row{
			Name: strconv.Itoa(clusters) + " environments in turn, report " + kind.name + ", " +
				counted(pods, "artifact") + ", " + counted(clients, "client"),
			clients: clients,
			prepare: func(s *stage, i int) (measure.Client, error) {
				return prepareFleet(s, "client-"+strconv.Itoa(i), clusters/clients, pods, kind.change, kind.want)
			},
		})
	}
	return rows
}

// prepareFleet makes as many clusters. What is repeated is that the next one of them
// reports.
func prepareFleet(s *stage, name string, clusters, pods int, change func(*report), want answer) (measure.Client, error) {
	pairs := make([]measure.Client, clusters)
	var services, bares [seeders]*client
	for i := range seeders {
		services[i], bares[i] = s.client(), newClient(s.bare.Address, s.key)
	}
	err := together(clusters, func(seeder, i int) error {
		sent, err := newReport(s.scope+name+strconv.Itoa(i), pods)
		if err == nil {
			pairs[i], err = prepareClusterBy(services[seeder], bares[seeder], s, name+"-"+strconv.Itoa(i), sent, change, want)
		}
		return err
	})
	service, bare := 0, 0
	return measure.Client{
		Service:  func() error { service++; return pairs[service%clusters].Service() },
		Baseline: func() error { bare++; return pairs[bare%clusters].Baseline() },
	}, err
}
