package web

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"attestry/api/jsonstream"
	"attestry/api/web/request"
	"attestry/api/web/view"
)

const (
	// failedSpan is how far back the home page looks for what failed, and maxFailed how much of that it names.
	failedSpan = week
	maxFailed  = 10
	// newestTrails is how many trails the home page lists.
	newestTrails = 5
	// expirySpan is how long before a key expires the home page says so.
	expirySpan = 14 * 24 * time.Hour
)

// attention is what needs attention in an organization beside its environments.
type attention struct {
	// Failed are the newest attestations that are not compliant. MoreFailed is set if there are others.
	Failed     []attestation
	MoreFailed bool
	// Actions are those of which a target cannot be told.
	Actions []failingAction
	// Keys are those of the viewer that expire soon.
	Keys []expiringKey
	// Accounts are the service accounts of which a key expires soon, at most maxFailed of them.
	Accounts []expiringAccount
	// Trails are the newest.
	Trails []trail
	// Week sums up the deployments of the last seven days.
	Week deploymentWeek
}

// Nothing reports whether neither notifications nor keys need attention.
func (a *attention) Nothing() bool { return len(a.Actions)+len(a.Keys)+len(a.Accounts) == 0 }

type failingAction struct {
	Number  int64  `json:"number"`
	Name    string `json:"name"`
	Failing bool   `json:"is_failing"`
}

type expiringKey struct {
	Description string  `json:"description"`
	ExpiresAt   float64 `json:"expires_at"`
}

type expiringAccount struct {
	Name      string  `json:"name"`
	ExpiresAt float64 `json:"key_expires_at"`
}

// load asks the API for each kind once. What the viewer may not see does not need their attention.
func (a *attention) load(p *page, now float64) error {
	for _, read := range []func() error{
		func() error { return a.loadFailed(p, now) },
		func() error { return a.loadActions(p) },
		func() error { return a.loadKeys(p, now) },
		func() error { return a.loadAccounts(p, now) },
		func() error { return a.loadTrails(p) },
	} {
		if err := read(); err != nil && !request.IsRefused(err, http.StatusForbidden) {
			return err
		}
	}
	var found deploymentList
	err := p.Get(p.deploymentsBetween(now-week.Seconds(), now, view.RowsPerPage), &found)
	a.Week = newWeek(now-week.Seconds(), now, &found)
	return err
}

func (a *attention) loadFailed(p *page, now float64) error {
	query := url.Values{
		"is_compliant": {"false"}, "from_timestamp": {strconv.FormatInt(int64(now-failedSpan.Seconds()), 10)}, "per_page": {strconv.Itoa(maxFailed + 1)},
	}
	return p.Read(request.Target("/attestations/%s", p.Org())+"?"+query.Encode(), func(content io.Reader) error {
		decoder := jsonstream.NewDecoder(content)
		return decoder.Object(map[string]any{"data": func() error {
			var one attestation
			err := decoder.Decode(&one)
			if a.MoreFailed = len(a.Failed) == maxFailed; !a.MoreFailed {
				a.Failed = append(a.Failed, one)
			}
			return err
		}})
	})
}

func (a *attention) loadActions(p *page) error {
	var all []failingAction
	err := p.Get(request.Target("/actions/%s", p.Org()), &all)
	for _, one := range all {
		if one.Failing {
			a.Actions = append(a.Actions, one)
		}
	}
	return err
}

func (a *attention) loadKeys(p *page, now float64) error {
	var all []expiringKey
	err := p.Get("/user/api-keys", &all)
	for _, one := range all {
		if one.ExpiresAt > now && one.ExpiresAt < now+expirySpan.Seconds() {
			a.Keys = append(a.Keys, one)
		}
	}
	return err
}

func (a *attention) loadAccounts(p *page, now float64) error {
	var all []expiringAccount
	err := p.Get(request.Target("/service-accounts/%s", p.Org()), &all)
	for _, one := range all {
		if one.ExpiresAt > now && one.ExpiresAt < now+expirySpan.Seconds() && len(a.Accounts) < maxFailed {
			a.Accounts = append(a.Accounts, one)
		}
	}
	return err
}

func (a *attention) loadTrails(p *page) error {
	var found struct {
		Trails []trail `json:"data"`
	}
	err := p.Get(request.Target("/trails/%s", p.Org())+"?per_page="+strconv.Itoa(newestTrails), &found)
	a.Trails = found.Trails
	return err
}
