package service

import (
	"attestry/api/access"
	"attestry/api/web"
	"attestry/links"
	"attestry/process"
)

// newSite makes the pages for people, nil if the settings have none.
func newSite(p *process.Process, gate *access.Gate, addresses links.Links) (*web.Site, error) {
	if !p.Settings.HTTP.Web {
		return nil, nil
	}
	return web.New(web.Options{
		Links: addresses, Identities: p.Store.Tenancy, Storage: p.Store.Sessions, Attempts: gate.Attempts, Clock: p.Clock, Log: p.Log,
	})
}
