package workload

import (
	"net/http"
	"strconv"
)

// Answers to reports.
var (
	created   = answer{http.StatusCreated, `"OK"`}
	accepted  = answer{http.StatusOK, `"report accepted, it will be processed"`}
	unchanged = answer{http.StatusOK, `"report processed, no new snapshots to create"`}
)

// change is how a report differs from the previous one, and the answer that it must get.
type change struct {
	apply func(*report)
	want  answer
}

var (
	noChange = change{(*report).nextOrder, unchanged}
	newImage = change{(*report).replaceByNew, created}
)

// reportUnchanged makes each client a cluster with its own images.
func reportUnchanged(c *client) (service, baseline requests, err error) {
	number := strconv.Itoa(c.number)
	return c.reports("cluster-"+number, c.scope+number, c.size, noChange)
}

// reportChanged makes each client a cluster. All run the same images, and replace different ones at a time.
func reportChanged(c *client) (service, baseline requests, err error) {
	first := c.number * replaceable(c.size) / c.clients
	return c.reports("cluster-"+strconv.Itoa(c.number), c.scope, c.size, change{
		apply: func(r *report) { r.replaceByOtherVersion(first) },
		want:  created,
	})
}

// reportFirst creates a new environment for each report. All run the same images.
func reportFirst(c *client) (service, baseline requests, err error) {
	sent, err := newReport(c.scope, c.size)
	if err != nil {
		return nil, nil, err
	}
	environments := 0
	service = func() request {
		environments++
		name, err := c.createEnvironment(c.connection, "new-"+strconv.Itoa(environments))
		if err != nil {
			name = "which-is-missing" // the answer to its report is 404, which ends the run
		}
		path := c.path("/environments/{org}/" + name + "/report/K8S")
		return request{method: http.MethodPut, path: path, body: sent.body, want: created}
	}
	return service, func() request { return request{method: http.MethodPut, body: sent.body} }, nil
}

// reportInTurn divides size clusters among the clients, each of which reports for its clusters in turn.
func reportInTurn(pods int, change change) setup {
	return func(c *client) (service, baseline requests, err error) {
		var services, baselines []requests
		for i := range c.size / c.clients {
			name := "client-" + strconv.Itoa(c.number) + "-" + strconv.Itoa(i)
			service, baseline, err := c.reports(name, c.scope+name, pods, change)
			if err != nil {
				return nil, nil, err
			}
			services, baselines = append(services, service), append(baselines, baseline)
		}
		return inTurn(services), inTurn(baselines), nil
	}
}

func inTurn(all []requests) requests {
	next := 0
	return func() request {
		next++
		return all[next%len(all)]()
	}
}

// reports creates an environment with a snapshot. Each request changes the report and sends it.
func (c *client) reports(name, seed string, pods int, change change) (service, baseline requests, err error) {
	environment, err := c.createEnvironment(c.connection, name)
	if err != nil {
		return nil, nil, err
	}
	sent, err := newReport(seed, pods)
	if err != nil {
		return nil, nil, err
	}
	if err := sent.prepareOrders(pods); err != nil {
		return nil, nil, err
	}
	first := request{method: http.MethodPut, path: c.path("/environments/{org}/" + environment + "/report/K8S"), body: sent.body, want: unchanged}
	if err := c.connection.sendUntil(first, created, accepted); err != nil {
		return nil, nil, err
	}
	of := func(sent *report) requests {
		return func() request {
			change.apply(sent)
			return request{method: http.MethodPut, path: first.path, body: sent.body, want: change.want}
		}
	}
	// The service and the baseline get their own sequence of changes.
	service, baseline = of(sent), of(sent.clone())
	_, err = c.connection.send(service())
	return service, baseline, err
}
