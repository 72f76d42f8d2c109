package limits

import (
	"net/netip"
	"strings"
	"testing"
)

func proxies(networks ...string) Proxies {
	var trusted Proxies
	for _, network := range networks {
		trusted = append(trusted, netip.MustParsePrefix(network))
	}
	return trusted
}

func TestClientIsTheLastAddressThatIsNoTrustedProxy(t *testing.T) {
	trusted := proxies("10.0.0.0/8", "192.168.1.1/32", "fd00::/8")
	for name, row := range map[string]struct {
		peer      string
		forwarded []string
		want      string
	}{
		"no proxy":                             {"203.0.113.5", nil, "203.0.113.5"},
		"peer that is not trusted":             {"203.0.113.5", []string{"198.51.100.7"}, "203.0.113.5"},
		"neighbor of a trusted address":        {"192.168.1.2", []string{"198.51.100.7"}, "192.168.1.2"},
		"trusted proxy":                        {"10.1.2.3", []string{"198.51.100.7"}, "198.51.100.7"},
		"trusted proxy without a header":       {"10.1.2.3", nil, "10.1.2.3"},
		"forged entry before the client":       {"10.1.2.3", []string{"8.8.8.8, 198.51.100.7"}, "198.51.100.7"},
		"forged trusted entry":                 {"10.1.2.3", []string{"10.9.9.9, 198.51.100.7"}, "198.51.100.7"},
		"two trusted proxies":                  {"10.1.2.3", []string{"198.51.100.7, 192.168.1.1"}, "198.51.100.7"},
		"trusted proxies alone":                {"10.1.2.3", []string{"10.0.0.9, 192.168.1.1"}, "10.0.0.9"},
		"several headers":                      {"10.1.2.3", []string{"8.8.8.8", "198.51.100.7, 10.0.0.9", "192.168.1.1"}, "198.51.100.7"},
		"forged header before that of a proxy": {"10.1.2.3", []string{"10.0.0.9", "198.51.100.7"}, "198.51.100.7"},
		"malformed entry":                      {"10.1.2.3", []string{"198.51.100.7, unknown"}, "10.1.2.3"},
		"malformed entry behind a proxy":       {"10.1.2.3", []string{"198.51.100.7, nonsense, 10.0.0.9"}, "10.0.0.9"},
		"malformed entry before the client":    {"10.1.2.3", []string{"nonsense, 198.51.100.7"}, "198.51.100.7"},
		"empty entry":                          {"10.1.2.3", []string{"198.51.100.7,"}, "10.1.2.3"},
		"empty header":                         {"10.1.2.3", []string{""}, "10.1.2.3"},
		"empty header behind the client":       {"10.1.2.3", []string{"198.51.100.7", ""}, "10.1.2.3"},
		"port":                                 {"10.1.2.3", []string{"198.51.100.7:4711"}, "198.51.100.7"},
		"trusted proxy with a port":            {"10.1.2.3", []string{"198.51.100.7,10.0.0.9:80"}, "198.51.100.7"},
		"port that is none":                    {"10.1.2.3", []string{"198.51.100.7:99999"}, "10.1.2.3"},
		"IPv6":                                 {"10.1.2.3", []string{"2001:db8::1"}, "2001:db8::1"},
		"IPv6 in brackets":                     {"10.1.2.3", []string{"[2001:db8::1]"}, "2001:db8::1"},
		"IPv6 in brackets with a port":         {"10.1.2.3", []string{"[2001:db8::1]:4711"}, "2001:db8::1"},
		"bracket that does not end":            {"10.1.2.3", []string{"[2001:db8::1"}, "10.1.2.3"},
		"IPv6 with a zone":                     {"10.1.2.3", []string{"fe80::1%eth0"}, "fe80::1"},
		"IPv4 as IPv6":                         {"10.1.2.3", []string{"::ffff:198.51.100.7"}, "198.51.100.7"},
		"trusted peer as IPv6":                 {"::ffff:10.1.2.3", []string{"198.51.100.7"}, "198.51.100.7"},
		"trusted IPv6 peer with a zone":        {"fd00::1%eth0", []string{"198.51.100.7"}, "198.51.100.7"},
		"name":                                 {"10.1.2.3", []string{"client.example.com"}, "10.1.2.3"},
		"network":                              {"10.1.2.3", []string{"198.51.100.0/24"}, "10.1.2.3"},
		"tab around it":                        {"10.1.2.3", []string{"8.8.8.8,\t198.51.100.7 "}, "198.51.100.7"},
	} {
		t.Run(name, func(t *testing.T) {
			got := trusted.Client(Origin{Peer: netip.MustParseAddr(row.peer), ForwardedFor: row.forwarded})
			if got.String() != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

func TestNoProxyIsTrustedByDefault(t *testing.T) {
	got := Proxies(nil).Client(Origin{Peer: netip.MustParseAddr("127.0.0.1"), ForwardedFor: []string{"198.51.100.7"}})
	if got.String() != "127.0.0.1" {
		t.Errorf("got %s", got)
	}
}

func TestAddressesOfAnIPv6NetworkAreOneClient(t *testing.T) {
	for name, row := range map[string]struct {
		one, other string
		same       bool
	}{
		"addresses of a network":  {"2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true},
		"neighboring networks":    {"2001:db8:1:2::1", "2001:db8:1:3::1", false},
		"neighboring IPv4":        {"198.51.100.7", "198.51.100.8", false},
		"IPv4 and the same as v6": {"198.51.100.7", "::ffff:198.51.100.7", true},
		"IPv4 as IPv6":            {"::ffff:198.51.100.7", "::ffff:198.51.100.8", false},
	} {
		t.Run(name, func(t *testing.T) {
			bucket := func(address string) string {
				return addressOf(Proxies(nil).Client(Origin{Peer: netip.MustParseAddr(address)}))
			}
			if one, other := bucket(row.one), bucket(row.other); (one == other) != row.same {
				t.Errorf("%s and %s", one, other)
			}
		})
	}
}

// FuzzClient checks that only a trusted proxy can change the client's address with its headers.
func FuzzClient(f *testing.F) {
	for _, header := range []string{"", "198.51.100.7, 10.0.0.1", "[::1]:80", "::ffff:10.0.0.1,", "unknown, 10.0.0.2"} {
		f.Add(header, "10.0.0.1")
	}
	trusted := proxies("10.0.0.0/8")
	f.Fuzz(func(t *testing.T, first, second string) {
		peer := netip.MustParseAddr("10.1.2.3")
		got := trusted.Client(Origin{Peer: peer, ForwardedFor: []string{first, second}})
		if !got.IsValid() || got.Zone() != "" || got.Is4In6() {
			t.Errorf("got %v", got)
		}
		entries := strings.Split(first+","+second, ",")
		if last, ok := addressIn(entries[len(entries)-1]); !ok && got != peer {
			t.Errorf("behind an entry that cannot be read comes %v", got)
		} else if ok && !trusted.trusts(last) && got != last {
			t.Errorf("got %v, want %v", got, last)
		}
		stranger := netip.MustParseAddr("203.0.113.5")
		if got := trusted.Client(Origin{Peer: stranger, ForwardedFor: []string{first, second}}); got != stranger {
			t.Errorf("a peer that is not trusted becomes %v", got)
		}
	})
}
