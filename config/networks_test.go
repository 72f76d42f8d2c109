package config_test

import (
	"testing"

	"attestry/config"
)

func TestInvalidAndLinkLocalNetworksAreRefused(t *testing.T) {
	const (
		neither   = " is neither a network such as 10.0.0.0/8 nor an address"
		linkLocal = " is link-local, which is never called: machines get their credentials from such addresses"
		mapped    = " must be written as an IPv4 network"
	)
	for text, want := range map[string]string{
		"10.0.0.0":                  "",
		"10.0.0.0/8":                "",
		"0.0.0.0/0,::/0":            "",
		"fe00::/8":                  "",
		"169.0.0.0/8":               "",
		"example.com":               `"example.com"` + neither,
		"10.0.0.0/33":               `"10.0.0.0/33"` + neither,
		"10.0.0.0/8,":               `""` + neither,
		"10.0.0.0/8;fd12::/16":      `"10.0.0.0/8;fd12::/16"` + neither,
		"127.0.0.1:443":             `"127.0.0.1:443"` + neither,
		"fd12::1%eth0":              `"fd12::1%eth0"` + neither,
		"10.1.2.3/8":                `"10.1.2.3/8" has bits behind its prefix: is 10.0.0.0/8 meant?`,
		"::ffff:10.0.0.0/104":       `"::ffff:10.0.0.0/104"` + mapped,
		"::ffff:169.254.169.254":    `"::ffff:169.254.169.254"` + mapped,
		"169.254.169.254":           `"169.254.169.254/32"` + linkLocal,
		"169.254.0.0/16":            `"169.254.0.0/16"` + linkLocal,
		"10.0.0.0/8,169.254.1.0/24": `"169.254.1.0/24"` + linkLocal,
		"fe80::/10":                 `"fe80::/10"` + linkLocal,
		"febf::1":                   `"febf::1/128"` + linkLocal,
	} {
		t.Run(text, func(t *testing.T) {
			_, err := config.Load(environ(map[string]string{"ATTESTRY_OUTBOUND_ALLOW": text}))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if want != "" {
				want = "ATTESTRY_OUTBOUND_ALLOW: " + want
			}
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}
