package web

import (
	"net/url"
	"strconv"
	"time"

	"attestry/api/deployments"
	"attestry/api/web/request"
	"attestry/api/web/view"
	"attestry/app/population"
	"attestry/evidence"
)

const (
	// weeksShown is how many weeks the page of deployments shows.
	weeksShown = 4
	week       = 7 * 24 * time.Hour
	// weekGap, in seconds, prevents a deployment at the boundary of two weeks from being counted in both.
	weekGap = 1e-5
)

// deploymentWeek sums up the deployments of a week.
type deploymentWeek struct {
	From  float64
	Count int64
	// Durations are the lead times of the newest deployments of the week.
	population.Durations
	// RolledBack is how many of the newest deployments were rollbacks, and Changes how many were not.
	RolledBack, Changes int
}

// newWeek sums up the newest deployments since a time, and has the total number of deployments.
func newWeek(from float64, found *deployments.DeploymentListResponse) deploymentWeek {
	week := deploymentWeek{From: from, Count: found.TotalCount}
	var leads []float64
	for _, one := range found.Deployments {
		if one.IsRollback {
			week.RolledBack++
		}
		if one.LeadTimeSeconds != nil {
			leads = append(leads, *one.LeadTimeSeconds)
		}
	}
	week.Durations = population.DurationsOf(leads)
	week.Changes = len(found.Deployments) - week.RolledBack
	return week
}

// FailureRate is the share of changes that were rolled back in percent, "" if there were none.
func (w *deploymentWeek) FailureRate() string {
	if w.Changes == 0 {
		return ""
	}
	return strconv.Itoa(100*min(w.RolledBack, w.Changes)/w.Changes) + " %"
}

type deploymentsPage struct {
	Org, Environment string
	Weeks            []deploymentWeek // oldest first
	Found            deployments.DeploymentListResponse
	Pager            request.Pager
	// MostCount and LongestLead are the maximum of a week, at least 1.
	MostCount   int64
	LongestLead float64
}

func (s *Site) showDeployments(p *page) error {
	shown := deploymentsPage{Org: p.Org(), Environment: p.C.Query("environment")}
	end := evidence.Seconds(s.Clock())
	number := p.Number("page")
	span := (weeksShown * week).Seconds()
	p.APIPath = p.deploymentsBetween(end-span, end) + "&page=" + strconv.Itoa(number)
	err := p.Get(p.APIPath, &shown.Found)
	if err != nil {
		return err
	}
	if shown.Weeks, err = p.deploymentWeeks(end); err != nil {
		return err
	}
	shown.Pager = p.Pager("page", number, shown.Found.TotalPages)
	shown.MostCount, shown.LongestLead = 1, 1
	for _, one := range shown.Weeks {
		shown.MostCount = max(shown.MostCount, one.Count)
		if one.Median != nil {
			shown.LongestLead = max(shown.LongestLead, *one.Median)
		}
	}
	return p.Render("deployments", "Deployments", &shown)
}

// deploymentsBetween is the target for the newest deployments between two times, to the environment of the query.
func (p *page) deploymentsBetween(from, to float64) string {
	query := url.Values{"start_ts": {formatSeconds(from)}, "end_ts": {formatSeconds(to)}, "per_page": {strconv.Itoa(view.RowsPerPage)}}
	if environment := p.C.Query("environment"); environment != "" {
		query.Set("env_name", environment)
	}
	return request.Target("/deployments/%s", p.Org()) + "?" + query.Encode()
}

func formatSeconds(seconds float64) string { return strconv.FormatFloat(seconds, 'f', 6, 64) }

// deploymentWeeks sends one query for each week, as the API has no statistics of an organization.
func (p *page) deploymentWeeks(end float64) ([]deploymentWeek, error) {
	weeks := make([]deploymentWeek, 0, weeksShown)
	for back := weeksShown; back > 0; back-- {
		from := end - float64(back)*week.Seconds()
		var found deployments.DeploymentListResponse
		if err := p.Get(p.deploymentsBetween(from+weekGap, from+week.Seconds()), &found); err != nil {
			return nil, err
		}
		weeks = append(weeks, newWeek(from, &found))
	}
	return weeks, nil
}
