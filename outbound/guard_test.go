package outbound

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"code.dny.dev/ssrf"

	"attestry/evidence"
)

func prefixes(texts ...string) []netip.Prefix {
	return evidence.Map(texts, netip.MustParsePrefix)
}

func TestAddressesAreRefusedUnlessTheyArePublicOrAllowed(t *testing.T) {
	everything := prefixes("0.0.0.0/0", "::/0")
	for name, c := range map[string]struct {
		allowed []netip.Prefix
		address string
		want    bool
	}{
		"public":                      {nil, "8.8.8.8:443", true},
		"public, IPv6":                {nil, "[2606:4700::1111]:443", true},
		"any port":                    {nil, "8.8.8.8:8443", true},
		"public, mapped":              {nil, "[::ffff:8.8.8.8]:443", true},
		"loopback":                    {nil, "127.0.0.1:443", false},
		"another of loopback":         {nil, "127.1.2.3:443", false},
		"loopback, IPv6":              {nil, "[::1]:443", false},
		"loopback, mapped":            {nil, "[::ffff:127.0.0.1]:443", false},
		"unspecified":                 {nil, "0.0.0.0:443", false},
		"unspecified, IPv6":           {nil, "[::]:443", false},
		"private, class A":            {nil, "10.1.2.3:443", false},
		"private, class B":            {nil, "172.31.0.1:443", false},
		"private, class C":            {nil, "192.168.0.1:443", false},
		"private, mapped":             {nil, "[::ffff:10.1.2.3]:443", false},
		"unique local":                {nil, "[fd12::1]:443", false},
		"shared by a carrier":         {nil, "100.64.0.1:443", false},
		"multicast":                   {nil, "224.0.0.1:443", false},
		"multicast, IPv6":             {nil, "[ff02::1]:443", false},
		"broadcast":                   {nil, "255.255.255.255:443", false},
		"documentation":               {nil, "192.0.2.1:443", false},
		"6to4 of loopback":            {nil, "[2002:7f00:1::]:443", false},
		"NAT64":                       {nil, "[64:ff9b::808:808]:443", false},
		"link-local":                  {nil, "169.254.169.254:80", false},
		"allowed network":             {prefixes("10.0.0.0/8"), "10.1.2.3:443", true},
		"allowed network, mapped":     {prefixes("10.0.0.0/8"), "[::ffff:10.1.2.3]:443", true},
		"allowed network, IPv6":       {prefixes("fd12::/16"), "[fd12::1]:443", true},
		"allowed loopback":            {prefixes("127.0.0.0/8", "::1/128"), "[::1]:443", true},
		"beside an allowed network":   {prefixes("10.0.0.0/16"), "10.1.2.3:443", false},
		"allowed NAT64":               {prefixes("64:ff9b::/96"), "[64:ff9b::808:808]:443", true},
		"everything allowed":          {everything, "10.1.2.3:443", true},
		"allowed link-local":          {prefixes("169.254.0.0/16"), "169.254.169.254:80", false},
		"link-local in everything":    {everything, "169.254.0.1:443", false},
		"link-local, mapped":          {everything, "[::ffff:169.254.169.254]:80", false},
		"link-local, mapped in hex":   {everything, "[::ffff:a9fe:a9fe]:80", false},
		"link-local behind NAT64":     {everything, "[64:ff9b::a9fe:a9fe]:80", false},
		"link-local, IPv6":            {everything, "[fe80::1]:443", false},
		"link-local with a zone":      {everything, "[fe80::1%eth0]:443", false},
		"end of link-local, IPv6":     {everything, "[febf::1]:443", false},
		"metadata of AWS over IPv6":   {everything, "[fd00:ec2::254]:80", false},
		"metadata of Google, IPv6":    {everything, "[fd20:ce::254]:80", false},
		"metadata of Oracle, IPv6":    {everything, "[fd00:c1::a9fe:a9fe]:80", false},
		"metadata of Oracle":          {everything, "192.0.0.192:80", false},
		"metadata of Alibaba":         {everything, "100.100.100.200:80", false},
		"metadata of Azure":           {nil, "168.63.129.16:80", false},
		"metadata of Azure, mapped":   {nil, "[::ffff:168.63.129.16]:80", false},
		"metadata of Azure, NAT64":    {everything, "[64:ff9b::a83f:8110]:80", false},
		"beside metadata of AWS":      {everything, "[fd00:ec2::253]:80", true},
		"another network is allowed":  {prefixes("169.254.0.0/16"), "127.0.0.1:443", false},
		"neighbour of the link-local": {nil, "169.253.255.255:443", true},
	} {
		t.Run(name, func(t *testing.T) {
			network := "tcp4"
			if strings.HasPrefix(c.address, "[") {
				network = "tcp6"
			}
			err := newDialer(Options{Allowed: c.allowed}).check(network, c.address, nil)
			if (err == nil) != c.want || err != nil && !errors.Is(err, ssrf.ErrProhibitedIP) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOnlyAddressesReachedByTCPAreAccepted(t *testing.T) {
	for network, address := range map[string]string{"udp4": "8.8.8.8:53", "unix": "/run/socket", "tcp": "example.com:443"} {
		if err := newDialer(Options{Allowed: prefixes("0.0.0.0/0")}).check(network, address, nil); err == nil {
			t.Errorf("%s of %s is accepted", address, network)
		}
	}
}

// Testing these from outside would take long, or need environment variables of the process.
func TestClientsHaveATimeLimitAndNoProxy(t *testing.T) {
	client := NewClient(Options{})
	if client.Timeout != 10*time.Second {
		t.Errorf("the time limit is %v", client.Timeout)
	}
	if client.Transport.(limitedTransport).Proxy != nil {
		t.Error("a proxy is used")
	}
}
