package config

import (
	"errors"
	"net/url"
)

const (
	oidcIssuer       = prefix + "OIDC_ISSUER"
	oidcClientID     = prefix + "OIDC_CLIENT_ID"
	oidcClientSecret = prefix + "OIDC_CLIENT_SECRET"
)

// Issuer is the https address of an OpenID Connect issuer, "" for none.
type Issuer string

// UnmarshalText reads an address.
func (i *Issuer) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("is not of the form https://host or https://host/path")
	}
	*i = Issuer(text)
	return nil
}

// checkSignIn finds an issuer without a client, and a client or its secret without an issuer.
func (l *loader) checkSignIn(s SignIn) {
	switch {
	case s.Issuer != "" && s.ClientID == "" && !l.faulty(oidcClientID):
		l.fault(oidcClientID, "is required with %s", oidcIssuer)
	case s.Issuer == "" && s.ClientID != "" && !l.faulty(oidcIssuer):
		l.fault(oidcIssuer, "is required with %s", oidcClientID)
	case s.Issuer == "" && s.ClientSecret != "" && !l.faulty(oidcIssuer):
		l.fault(oidcIssuer, "is required with %s", oidcClientSecret)
	}
}
