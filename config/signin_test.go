package config_test

import (
	"fmt"
	"strings"
	"testing"

	"attestry/config"
)

func TestSettingsOfIssuersRequireEachOther(t *testing.T) {
	const issuer = "https://login.example.com"
	for name, c := range map[string]struct {
		given map[string]string
		want  string
	}{
		"no client":             {map[string]string{"ISSUER": issuer}, "ATTESTRY_OIDC_CLIENT_ID: is required with ATTESTRY_OIDC_ISSUER"},
		"no client, a secret":   {map[string]string{"ISSUER": issuer, "CLIENT_SECRET": "sesame"}, "ATTESTRY_OIDC_CLIENT_ID: is required with ATTESTRY_OIDC_ISSUER"},
		"no issuer":             {map[string]string{"CLIENT_ID": "c"}, "ATTESTRY_OIDC_ISSUER: is required with ATTESTRY_OIDC_CLIENT_ID"},
		"no issuer, a secret":   {map[string]string{"CLIENT_ID": "c", "CLIENT_SECRET": "sesame"}, "ATTESTRY_OIDC_ISSUER: is required with ATTESTRY_OIDC_CLIENT_ID"},
		"a secret alone":        {map[string]string{"CLIENT_SECRET": "sesame"}, "ATTESTRY_OIDC_ISSUER: is required with ATTESTRY_OIDC_CLIENT_SECRET"},
		"an issuer with faults": {map[string]string{"ISSUER": "http://login", "CLIENT_ID": "c"}, "ATTESTRY_OIDC_ISSUER: is not of the form https://host or https://host/path"},
		"a public client":       {map[string]string{"ISSUER": issuer, "CLIENT_ID": "c"}, "<nil>"},
		"a client with a secret": {
			map[string]string{"ISSUER": issuer, "CLIENT_ID": "c", "CLIENT_SECRET": "sesame"}, "<nil>",
		},
		"all are empty": {map[string]string{"ISSUER": "", "CLIENT_ID": "", "CLIENT_SECRET": ""}, "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			changes := map[string]string{}
			for key, value := range c.given {
				changes["ATTESTRY_OIDC_"+key] = value
			}
			settings, err := config.Load(environ(changes))
			if fmt.Sprint(err) != c.want {
				t.Errorf("got %v", err)
			}
			if strings.Contains(fmt.Sprintf("%+v %v", settings, err), "sesame") {
				t.Error("the secret is printed")
			}
		})
	}
}
