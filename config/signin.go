package config

import (
	"errors"
	"net/url"
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
