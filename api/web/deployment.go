package web

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"time"

	"attestry/api/web/chart"
	"attestry/api/web/view"
	"attestry/evidence"
)

const (
	// weeksShown is how many weeks the page of deployments reaches back.
	weeksShown = 4
	week       = 7 * 24 * time.Hour
	// weekGap keeps a deployment at the turn of two weeks from being counted in both, in seconds.
	weekGap = 1e-5
	// chartPolicy is what browsers may do with a chart: it has its styles in itself.
	chartPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
)

// deployment is what pages show of a deployment.
type deployment struct {
	At          float64 `json:"deployed_at"`
	Fingerprint string  `json:"fingerprint"`
	Name        string  `json:"artifact_name"`
	Environment string  `json:"env_name"`
	Snapshot    int64   `json:"snapshot_index"`
	Artifact    *struct {
		Flow   string  `json:"flow_name"`
		Trail  string  `json:"trail_name"`
		Commit *string `json:"git_commit"`
	} `json:"artifact"`
	DiffURL  *string  `json:"diff_url"`
	LeadTime *float64 `json:"lead_time_seconds"`
	// Links has addresses of the API; none are there if the environment is archived.
	Links map[string]any `json:"_links"`
}

// Archived tells that the environment is archived, and so has no page.
func (d *deployment) Archived() bool { return len(d.Links) == 0 }

// Lead is the lead time in words.
func (d *deployment) Lead() string { return inHours(d.LeadTime) }

// inHours is a time in words, "" if it is not known.
func inHours(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	return strconv.FormatFloat(*seconds/time.Hour.Seconds(), 'f', 1, 64) + " h"
}

// deploymentList is a page of deployments as the API lists them.
type deploymentList struct {
	listed
	Deployments []deployment `json:"deployments"`
}

// deploymentWeek sums up the deployments of a week.
type deploymentWeek struct {
	From, To float64
	Count    int64
	// Known is how many of the newest deployments of the week have a lead time, and Median the median of these.
	Known  int
	Median *float64
}

// Day is when the week begins.
func (w *deploymentWeek) Day() string { return time.Unix(int64(w.From), 0).UTC().Format("2 Jan") }

// Lead is the median in words.
func (w *deploymentWeek) Lead() string { return inHours(w.Median) }

// deploymentsPage shows deployments.
type deploymentsPage struct {
	Org, Environment string
	Weeks            []deploymentWeek // oldest first
	Found            deploymentList
	Pager            pager
	// Frequency and LeadTime are the addresses of the charts.
	Frequency, LeadTime string
}

func (s *Site) showDeployments(p *page) error {
	shown := deploymentsPage{Org: p.org(), Environment: p.c.Query("environment")}
	end := evidence.Seconds(s.Clock())
	number := p.number("page")
	span := (weeksShown * week).Seconds()
	p.apiPath = p.deploymentsBetween(end-span, end, rowsPerPage) + "&page=" + strconv.Itoa(number)
	err := p.get(p.apiPath, &shown.Found)
	if err != nil {
		return err
	}
	if shown.Weeks, err = p.deploymentWeeks(end); err != nil {
		return err
	}
	shown.Pager = p.pager("page", number, shown.Found.Last)
	query := "?" + url.Values{"environment": {shown.Environment}, "end": {strconv.FormatInt(int64(math.Ceil(end)), 10)}}.Encode()
	shown.Frequency = view.Pages.Deployments(shown.Org) + "/frequency.svg" + query
	shown.LeadTime = view.Pages.Deployments(shown.Org) + "/lead-time.svg" + query
	return p.render("deployments", "Deployments", &shown)
}

// deploymentsBetween asks for the newest deployments between two times, to one environment if the page
// is of one.
func (p *page) deploymentsBetween(from, to float64, most int) string {
	query := url.Values{"start_ts": {fixed(from)}, "end_ts": {fixed(to)}, "per_page": {strconv.Itoa(most)}}
	if environment := p.c.Query("environment"); environment != "" {
		query.Set("env_name", environment)
	}
	return target("/deployments/%s", p.org()) + "?" + query.Encode()
}

func fixed(seconds float64) string { return strconv.FormatFloat(seconds, 'f', 6, 64) }

// deploymentWeeks asks for each week: the API has no statistics of an organization. Their number does not
// depend on how much is deployed.
func (p *page) deploymentWeeks(end float64) ([]deploymentWeek, error) {
	weeks := make([]deploymentWeek, 0, weeksShown)
	for back := weeksShown; back > 0; back-- {
		from := end - float64(back)*week.Seconds()
		one := deploymentWeek{From: from, To: from + week.Seconds()}
		var found deploymentList
		if err := p.get(p.deploymentsBetween(one.From+weekGap, one.To, rowsPerPage), &found); err != nil {
			return nil, err
		}
		one.Count = found.Total
		one.Known, one.Median = medianLead(found.Deployments)
		weeks = append(weeks, one)
	}
	return weeks, nil
}

// medianLead is the median of the lead times that are known, and how many there are.
func medianLead(deployments []deployment) (int, *float64) {
	var known []float64
	for _, one := range deployments {
		if one.LeadTime != nil {
			known = append(known, *one.LeadTime)
		}
	}
	if len(known) == 0 {
		return 0, nil
	}
	slices.Sort(known)
	middle := len(known) / 2
	if len(known)%2 == 1 {
		return len(known), &known[middle]
	}
	return len(known), new((known[middle-1] + known[middle]) / 2)
}

func (s *Site) showFrequency(p *page) error {
	return s.showChart(p, func(w *deploymentWeek) float64 { return float64(w.Count) })
}

func (s *Site) showLeadTime(p *page) error {
	return s.showChart(p, func(w *deploymentWeek) float64 {
		if w.Median == nil {
			return 0
		}
		return max(0, *w.Median/time.Hour.Seconds())
	})
}

// showChart draws a number of each week, up to the time that the page names so that both show the same.
func (s *Site) showChart(p *page, number func(*deploymentWeek) float64) error {
	now := evidence.Seconds(s.Clock())
	end, err := strconv.ParseFloat(p.c.Query("end"), 64)
	if err != nil || !(end > 0 && end < now) {
		end = now
	}
	weeks, err := p.deploymentWeeks(end)
	if err != nil {
		return err
	}
	bars := make([]chart.Bar, 0, len(weeks))
	for i := range weeks {
		bars = append(bars, chart.Bar{Day: time.Unix(int64(weeks[i].From), 0).UTC(), Value: number(&weeks[i])})
	}
	content, err := chart.Bars(bars)
	if err != nil {
		return err
	}
	return p.sendDrawing(content, chartPolicy)
}
