package notify_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"attestry/evidence/evidencetest"
	"attestry/notify"
	"attestry/outbound"
	"attestry/outbound/outboundtest"
)

const blocked = "The address is not allowed: its host is unknown or not public. An operator can allow networks with ATTESTRY_OUTBOUND_ALLOW."

// trap listens on loopback and counts connections. There must be none.
type trap struct {
	port    int
	reached atomic.Int32
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	trap := &trap{}
	v4, err := net.Listen("tcp4", "127.0.0.1:0")
	evidencetest.Must(t, err)
	trap.port = v4.Addr().(*net.TCPAddr).Port
	trap.listen(t, v4)
	// Without IPv6, or if the port is taken, the reason of the attempt must suffice.
	if v6, err := net.Listen("tcp6", net.JoinHostPort("::1", strconv.Itoa(trap.port))); err == nil {
		trap.listen(t, v6)
	}
	return trap
}

func (r *trap) listen(t *testing.T, listener net.Listener) {
	var listening sync.WaitGroup
	listening.Go(func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			r.reached.Add(1)
			if err == nil {
				conn.Close()
			}
		}
	})
	t.Cleanup(func() {
		listener.Close()
		listening.Wait()
	})
}

// hostileZone has names that resolve to addresses that must not be called.
func hostileZone() map[string]outboundtest.Name {
	zone := map[string]outboundtest.Name{
		"a.cname.example":  {Alias: "b.cname.example"},
		"b.cname.example":  {Alias: "c.cname.example"},
		"c.cname.example":  outboundtest.Always("127.0.0.1"),
		"cname.example":    {Alias: "kubernetes.default.svc"},
		"meta.cname.test":  {Alias: "metadata.google.internal"},
		"two.example":      outboundtest.Always("127.0.0.1", "10.0.0.1"),
		"families.example": outboundtest.Always("127.0.0.1", "::1"),
		"several.example":  outboundtest.Always("10.0.0.1", "192.168.0.1", "169.254.169.254", "fd00::1", "fe80::1"),
	}
	for name, address := range map[string]string{
		"kubernetes.default.svc":                     "10.96.0.1",
		"kubernetes.default.svc.cluster.local":       "10.96.0.1",
		"redis.attestry.svc.cluster.local":           "10.244.3.7",
		"mongodb.attestry.svc.cluster.local":         "172.20.0.9",
		"host.docker.internal":                       "172.17.0.1",
		"metadata.google.internal":                   "169.254.169.254",
		"instance-data.ec2.internal":                 "169.254.169.254",
		"metadata6.example":                          "fd00:ec2::254",
		"loopback.example":                           "127.0.0.1",
		"loopback.nip.example":                       "127.8.8.8",
		"loopback6.example":                          "::1",
		"private-a.example":                          "10.1.2.3",
		"private-b.example":                          "172.16.0.1",
		"private-c.example":                          "192.168.1.1",
		"carrier.example":                            "100.64.0.1",
		"unspecified.example":                        "0.0.0.0",
		"unspecified6.example":                       "::",
		"mapped.example":                             "::ffff:127.0.0.1",
		"mapped-private.example":                     "::ffff:10.0.0.1",
		"compatible.example":                         "::127.0.0.1",
		"nat64.example":                              "64:ff9b::7f00:1",
		"sixtofour.example":                          "2002:7f00:1::",
		"teredo.example":                             "2001:0:7f00:1::",
		"unique-local.example":                       "fd12:3456::1",
		"multicast.example":                          "224.0.0.251",
		"1.0.0.127.in-addr.example":                  "127.0.0.1",
		"xn--loopback-9za.example":                   "127.0.0.1",
		strings.Repeat("long.", 40) + "example.test": "127.0.0.1",
	} {
		zone[name] = outboundtest.Always(address)
	}
	return zone
}

// hostileHosts returns hosts that must not be called, as they are written in a URL.
func hostileHosts() []string {
	hosts := []string{
		// loopback
		"127.0.0.1", "127.0.0.1.", "127.1.2.3", "127.255.255.254", "localhost", "LOCALHOST", "[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::1%25lo]",
		// forms that systems read as loopback
		"2130706433", "2130706433.", "017700000001", "0x7f000001", "0X7F000001", "0177.0.0.1", "0x7f.0.0.1", "0x7f.1", "127.1", "127.0.1", "127.0.0.01", "127.0.0.0x1", "6425673729", "1", "00000000000000000000177.0.0.1",
		"\u2460\u2461\u2466.\u24EA.\u24EA.\u2460", "127\u30020\u30020\u30021", "\uFF11\uFF12\uFF17.0.0.1",
		// unspecified
		"0.0.0.0", "0.0.0.0.", "0", "0x0", "0.1.2.3", "[::]", "[0:0:0:0:0:0:0:0]",
		// private
		"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255", "100.64.0.1", "100.127.255.255", "167772161", "0xa000001", "012.0.0.1",
		// link-local, and where clouds hand out credentials
		"169.254.169.254", "169.254.169.254.", "169.254.0.1", "169.254.170.2", "2852039166", "0xa9fea9fe", "0xa9.0xfe.0xa9.0xfe", "0251.0376.0251.0376", "025177524776", "169.254.43518",
		"[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[::169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "[fe80::1]", "[fe80::1%25eth0]", "[febf::1]", "[fe80::a9fe:a9fe]",
		"[fd00:ec2::254]", "[fd20:ce::254]", "[fd00:c1::a9fe:a9fe]", "192.0.0.192", "100.100.100.200", "168.63.129.16", "[::ffff:168.63.129.16]",
		// IPv4 in IPv6
		"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]", "[::ffff:192.168.0.1]", "[::ffff:0.0.0.0]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::ffff:127.0.0.1%25lo]", "[::127.0.0.1]", "[::10.0.0.1]", "[::ffff:0:127.0.0.1]",
		"[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::7f00:1]", "[64:ff9b:1:7f00:0:100::]", "[2002:7f00:1::]", "[2002:a00:1::1]", "[2001:0:7f00:1::]", "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
		// reserved
		"224.0.0.1", "239.255.255.250", "255.255.255.255", "240.0.0.1", "[ff02::1]", "[ff0e::1]",
		"192.0.2.1", "198.51.100.1", "203.0.113.1", "[2001:db8::1]", "[3fff::1]", "198.18.0.1", "198.19.255.255", "192.0.0.1", "192.88.99.1", "[100::1]", "[2001:2::1]", "[5f00::1]",
		"[fc00::1]", "[fd12:3456:789a::1]", "[fdff:ffff::1]", "[fec0::1]",
	}
	for name := range hostileZone() {
		hosts = append(hosts, name, name+".")
	}
	return hosts
}

func TestAddressesThatAreNotPublicAreNotCalled(t *testing.T) {
	resolver := outboundtest.NewResolver(t, hostileZone())
	sender := newSender(notify.Sender{HTTP: outbound.NewClient(outbound.Options{Resolver: resolver})})
	trap := newTrap(t)
	for _, host := range hostileHosts() {
		for _, scheme := range []string{"http", "https"} {
			address := fmt.Sprintf("%s://%s:%d/", scheme, host, trap.port)
			t.Run(address[:min(len(address), 60)], func(t *testing.T) {
				if got := call(t, sender, address); got.Reason != blocked || got.Status != 0 || got.Answer != "" {
					t.Errorf("got %+v", got)
				}
				if trap.reached.Swap(0) != 0 {
					t.Error("a connection was made")
				}
			})
		}
	}
}

// allowedOnly returns a sender that may call 127.0.0.2, in place of public addresses, but not the address of the trap.
func allowedOnly(t *testing.T, zone map[string]outboundtest.Name) *notify.Sender {
	t.Helper()
	return newSender(notify.Sender{HTTP: outbound.NewClient(outbound.Options{
		Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, Resolver: outboundtest.NewResolver(t, zone),
	})})
}

// servePublic starts a server on 127.0.0.2, in place of a public address.
func servePublic(t *testing.T, port int, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	listener, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.2", strconv.Itoa(port)))
	evidencetest.Must(t, err)
	server := httptest.NewUnstartedServer(handler)
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return server
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	trap := newTrap(t)
	sender := allowedOnly(t, hostileZone())
	for status, host := range map[int]string{301: "127.0.0.1", 302: "[::1]", 303: "localhost", 307: "loopback.example", 308: "0x7f.1"} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			server := servePublic(t, 0, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", fmt.Sprintf("http://%s:%d/", host, trap.port))
				w.WriteHeader(status)
			})
			got := call(t, sender, server.URL)
			if want := fmt.Sprintf("The answer is a redirect (%d), which is not followed.", status); got.Reason != want || got.Status != status {
				t.Errorf("got %+v", got)
			}
			if trap.reached.Load() != 0 {
				t.Error("the redirect was followed")
			}
		})
	}
}

func TestANameThatIsRebound(t *testing.T) {
	trap := newTrap(t)
	server := servePublic(t, trap.port, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // each attempt looks the name up
		ok(w, r)
	})
	port := server.Listener.Addr().(*net.TCPAddr).Port
	sender := allowedOnly(t, map[string]outboundtest.Name{
		"rebound.example": {Addresses: [][]string{{"127.0.0.2"}, {"127.0.0.1"}}},
		"mixed.example":   outboundtest.Always("127.0.0.1", "127.0.0.2"),
		"closed.example":  {Addresses: [][]string{{"127.0.0.3", "127.0.0.1"}}},
	})
	address := func(name string) string { return fmt.Sprintf("http://%s:%d/", name, port) }

	t.Run("is called at the address that was checked", func(t *testing.T) {
		if got := call(t, sender, address("rebound.example")); got.Reason != "" || got.Status != 200 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("is not called at the other", func(t *testing.T) {
		if got := call(t, sender, address("rebound.example")); got.Reason != blocked {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("has a public address beside the other", func(t *testing.T) {
		if got := call(t, sender, address("mixed.example")); got.Reason != "" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("has only others", func(t *testing.T) {
		if got := call(t, sender, address("closed.example")); got.Reason != blocked {
			t.Errorf("got %+v", got)
		}
	})
	if trap.reached.Load() != 0 {
		t.Error("a connection to the address that is not public was made")
	}
}

func TestReasonsDoNotRevealWhichNamesExist(t *testing.T) {
	var log bytes.Buffer
	sender := newSender(notify.Sender{
		HTTP: outbound.NewClient(outbound.Options{Resolver: outboundtest.NewResolver(t, hostileZone())}),
		Log:  slog.New(slog.NewTextHandler(&log, nil)),
	})
	known, unknown := call(t, sender, "http://redis.attestry.svc.cluster.local/"), call(t, sender, "http://unknown.attestry.svc.cluster.local/")
	known.At, unknown.At = 0, 0
	if !reflect.DeepEqual(known, unknown) || known.Reason != blocked || known.Duration != 0 {
		t.Errorf("known %+v, unknown %+v", known, unknown)
	}
	evidencetest.Contains(t, log.String(), "10.244.3.7", "no such host")
}

func TestTheTrapIsReachedIfItsAddressIsAllowed(t *testing.T) {
	trap := newTrap(t)
	sender := newSender(notify.Sender{HTTP: outbound.NewClient(outbound.Options{
		Allowed: loopback(), Resolver: outboundtest.NewResolver(t, hostileZone()),
	})})
	for _, host := range []string{"127.0.0.1", "loopback.example", "a.cname.example"} {
		if got := call(t, sender, fmt.Sprintf("http://%s:%d/", host, trap.port)); got.Reason == blocked || trap.reached.Swap(0) == 0 {
			t.Errorf("%s: got %+v", host, got)
		}
	}
}
