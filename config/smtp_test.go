package config_test

import (
	"fmt"
	"strings"
	"testing"

	"attestry/config"
)

func TestMailServersHaveThePortOfTheirEncryption(t *testing.T) {
	for _, c := range []struct {
		host, tls string
		want      config.MailHost
	}{
		{"mail.example.com", "", "mail.example.com:587"},
		{"mail.example.com", "starttls", "mail.example.com:587"},
		{"mail.example.com", "tls", "mail.example.com:465"},
		{"mail.example.com", "none", "mail.example.com:25"},
		{"mail.example.com:2525", "tls", "mail.example.com:2525"},
		{"10.0.0.7", "none", "10.0.0.7:25"},
		{"fd12::7", "", "[fd12::7]:587"},
		{"[fd12::7]", "", "[fd12::7]:587"},
		{"[fd12::7]:25", "", "[fd12::7]:25"},
	} {
		got, err := config.Load(environ(map[string]string{
			"ATTESTRY_SMTP_HOST": c.host, "ATTESTRY_SMTP_TLS": c.tls, "ATTESTRY_SMTP_FROM": "attestry@example.com",
		}))
		if err != nil || got.SMTP.Host != c.want {
			t.Errorf("%s with %q: got %q, %v", c.host, c.tls, got.SMTP.Host, err)
		}
	}
}

func TestSettingsOfMailServersRequireEachOther(t *testing.T) {
	for name, c := range map[string]struct {
		given map[string]string
		want  string
	}{
		"no sender":    {map[string]string{"HOST": "mail"}, "ATTESTRY_SMTP_FROM: is required with ATTESTRY_SMTP_HOST"},
		"no password":  {map[string]string{"HOST": "mail", "FROM": "a@b", "USERNAME": "u"}, "ATTESTRY_SMTP_PASSWORD: is required with ATTESTRY_SMTP_USERNAME"},
		"no user name": {map[string]string{"HOST": "mail", "FROM": "a@b", "PASSWORD": "sesame"}, "ATTESTRY_SMTP_USERNAME: is required with ATTESTRY_SMTP_PASSWORD"},
		"a password that can be read": {
			map[string]string{"HOST": "mail", "FROM": "a@b", "USERNAME": "u", "PASSWORD": "sesame", "TLS": "none"},
			"ATTESTRY_SMTP_TLS: must not be none with ATTESTRY_SMTP_USERNAME: the password could be read on its way",
		},
		"all are empty": {map[string]string{"HOST": "", "FROM": "", "USERNAME": "", "PASSWORD": "", "TLS": ""}, "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			changes := map[string]string{}
			for key, value := range c.given {
				changes["ATTESTRY_SMTP_"+key] = value
			}
			settings, err := config.Load(environ(changes))
			if fmt.Sprint(err) != c.want {
				t.Errorf("got %v", err)
			}
			if strings.Contains(fmt.Sprintf("%+v %v", settings, err), "sesame") {
				t.Error("the password is printed")
			}
		})
	}
}
