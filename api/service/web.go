package service

import (
	"attestry/api/access"
	"attestry/api/oidc"
	"attestry/api/web"
	"attestry/links"
	"attestry/outbound"
	"attestry/process"
)

// newSite makes the pages for people, nil if the settings have none.
func newSite(p *process.Process, gate *access.Gate, addresses links.Links) (*web.Site, error) {
	if !p.Settings.HTTP.Web {
		return nil, nil
	}
	options := web.Options{
		Links: addresses, Identities: p.Store.Tenancy, Storage: p.Store.Sessions, Attempts: gate.Attempts, Clock: p.Clock, Log: p.Log,
	}
	if issuer := p.Settings.SignIn; issuer.Issuer != "" {
		options.Login = oidc.NewLogin(oidc.LoginOptions{
			Issuer: string(issuer.Issuer), ClientID: issuer.ClientID, ClientSecret: issuer.ClientSecret, UserClaim: issuer.UserClaim,
			Redirect: addresses.Base + web.CallbackPath, Client: outbound.NewClient(outbound.Options{Allowed: p.Settings.Outbound.Allow}),
			Clock: p.Clock, Log: p.Log,
		})
	}
	return web.New(options)
}
