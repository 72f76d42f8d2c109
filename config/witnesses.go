package config

import (
	"fmt"
	"net/url"
	"strings"

	"attestry/evidence"
	"attestry/evidence/translog"
)

// Witness is a witness that cosigns checkpoints.
type Witness struct {
	// Address is the base URL of its API, without a trailing slash.
	Address string
	Key     translog.WitnessKey
}

// Witnesses are witnesses with different names.
type Witnesses []Witness

// UnmarshalText reads a list such as "https://witness.example/=witness.example/w1+5f2c1a09+BAiq…".
func (w *Witnesses) UnmarshalText(text []byte) error {
	var witnesses Witnesses
	named := map[string]bool{}
	for entry := range strings.SplitSeq(string(text), ",") {
		address, encoded, _ := strings.Cut(strings.TrimSpace(entry), "=")
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("has a witness without an address such as https://witness.example before its =, or with a user, a query or a fragment in it")
		}
		key, err := translog.ParseWitnessKey(encoded)
		if err != nil {
			return fmt.Errorf("the verifier key of the witness %s %w", address, err)
		}
		if named[key.Name()] {
			return fmt.Errorf("names the witness %s twice", key.Name())
		}
		named[key.Name()] = true
		witnesses = append(witnesses, Witness{Address: strings.TrimSuffix(address, "/"), Key: key})
	}
	*w = witnesses
	return nil
}

// Names returns the names of the witnesses.
func (w Witnesses) Names() []string {
	return evidence.Map(w, func(one Witness) string { return one.Key.Name() })
}
