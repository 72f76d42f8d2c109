package web

import (
	"strconv"
)

// event is an entry of the log of an environment.
type event struct {
	Environment string  `json:"environment_name"`
	Snapshot    int64   `json:"snapshot_index"`
	Artifact    string  `json:"artifact_name"`
	Fingerprint string  `json:"sha256"`
	Description string  `json:"description"`
	At          float64 `json:"reported_at"`
	Flow        string  `json:"pipeline"`
	Compliant   *bool   `json:"artifact_compliance"`
	CodeDiff    *string `json:"code_diff"`
}

type eventsPage struct {
	Org, Environment string
	Events           []event
	Pager            pager
}

func (s *Site) showEvents(p *page) error {
	shown := eventsPage{Org: p.org()}
	moved, err := p.findEnvironment(&shown.Environment)
	if err != nil || moved {
		return err
	}
	number := p.number("page")
	p.apiPath = target("/environments/%s/%s/events", shown.Org, shown.Environment) +
		"?per_page=" + strconv.Itoa(rowsPerPage) + "&page=" + strconv.Itoa(number)
	last, err := p.list(p.apiPath, &shown.Events)
	if err != nil {
		return err
	}
	shown.Pager = p.pager("page", number, last)
	return p.render("events", "Events of "+shown.Environment, shown)
}
