package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"attestry/api/deployments"
	"attestry/api/jsonstream"
	"attestry/api/organizations"
	"attestry/api/web/request"
	"attestry/evidence"
)

const (
	// failedSpan is how far back the home page lists failed attestations, and maxFailed how many.
	failedSpan = week
	maxFailed  = 10
	// newestTrails is how many trails the home page lists.
	newestTrails = 5
	// expirySpan is how long before its expiry the home page shows a key.
	expirySpan = 14 * 24 * time.Hour
)

// attention is the part of an organization's home page about everything but its environments.
type attention struct {
	// Failed are the newest attestations that are not compliant. MoreFailed is set if there are others.
	Failed     []*attestation
	MoreFailed bool
	// Actions are those with a target that cannot be notified.
	Actions []organizations.ActionResponse
	// Keys are those of the viewer that expire soon.
	Keys []organizations.ApiKeyListItemResponse
	// Accounts are the service accounts with a key that expires soon, at most maxFailed of them.
	Accounts []organizations.ServiceAccount
	// Trails are the newest.
	Trails []trail
	// Week sums up the deployments of the last seven days.
	Week deploymentWeek
}

// Nothing reports whether neither notifications nor keys need attention.
func (a *attention) Nothing() bool { return len(a.Actions)+len(a.Keys)+len(a.Accounts) == 0 }

// load sends one query for each kind. It skips kinds that the viewer may not see.
func (a *attention) load(p *page, now float64) error {
	if err := a.loadFailed(p, now); err != nil && !request.IsRefused(err, http.StatusForbidden) {
		return err
	}
	var newest struct {
		Trails []trail `json:"data"`
	}
	for _, read := range []struct {
		target string
		into   any
	}{
		{request.Target("/actions/%s", p.Org()), &a.Actions},
		{"/user/api-keys", &a.Keys},
		{request.Target("/service-accounts/%s", p.Org()), &a.Accounts},
		{request.Target("/trails/%s", p.Org()) + "?per_page=" + strconv.Itoa(newestTrails), &newest},
	} {
		if err := p.Get(read.target, read.into); err != nil && !request.IsRefused(err, http.StatusForbidden) {
			return err
		}
	}
	a.Trails = newest.Trails
	a.Actions = slices.DeleteFunc(a.Actions, func(one organizations.ActionResponse) bool { return !evidence.ZeroIfNil(one.IsFailing) })
	a.Keys = slices.DeleteFunc(a.Keys, func(one organizations.ApiKeyListItemResponse) bool { return !expiresSoon(one.ExpiresAt, now) })
	a.Accounts = slices.DeleteFunc(a.Accounts, func(one organizations.ServiceAccount) bool { return !expiresSoon(one.KeyExpiresAt, now) })
	a.Accounts, _ = first(a.Accounts, maxFailed)
	var found deployments.DeploymentListResponse
	err := p.Get(p.deploymentsBetween(now-week.Seconds(), now), &found)
	a.Week = newWeek(now-week.Seconds(), &found)
	return err
}

func (a *attention) loadFailed(p *page, now float64) error {
	query := url.Values{
		"is_compliant": {"false"}, "from_timestamp": {strconv.FormatInt(int64(now-failedSpan.Seconds()), 10)}, "per_page": {strconv.Itoa(maxFailed + 1)},
	}
	return p.Read(request.Target("/attestations/%s", p.Org())+"?"+query.Encode(), func(decoder *jsonstream.Decoder) error {
		return decoder.Object(map[string]any{"data": jsonstream.Elements(decoder, func(one attestation) error {
			if a.MoreFailed = len(a.Failed) == maxFailed; !a.MoreFailed {
				a.Failed = append(a.Failed, one.brief())
			}
			return nil
		})})
	})
}

func expiresSoon(at int64, now float64) bool {
	return float64(at) > now && float64(at) < now+expirySpan.Seconds()
}
