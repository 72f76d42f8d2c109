package outbound_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"attestry/outbound"
	"attestry/outbound/outboundtest"
)

func TestTheResolverOfTheOptionsIsUsed(t *testing.T) {
	server, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
	resolver := outboundtest.NewResolver(t, map[string]outboundtest.Name{"receiver.example": outboundtest.Always("127.0.0.1")})
	client := outbound.NewClient(outbound.Options{Allowed: loopback(), Resolver: resolver})

	named := strings.Replace(server.URL, "127.0.0.1", "receiver.example", 1)
	if _, body, err := read(t, client, named); err != nil || body != "hello" {
		t.Errorf("got %q, %v", body, err)
	}
	var unknown *net.DNSError
	if _, _, err := read(t, client, "http://other.example"); !errors.As(err, &unknown) || outbound.Prohibited(err) {
		t.Errorf("a name that does not exist: %v", err)
	}
}

func TestRefusedAddressIsTheErrorThoughAnotherFailedFirst(t *testing.T) {
	server, requests := serve(t, func(http.ResponseWriter, *http.Request) {})
	port := strconv.Itoa(server.Listener.Addr().(*net.TCPAddr).Port)
	// Nothing listens at the first address.
	resolver := outboundtest.NewResolver(t, map[string]outboundtest.Name{
		"both.example":  outboundtest.Always("127.0.0.2", "127.0.0.1"),
		"first.example": outboundtest.Always("127.0.0.2"),
	})
	client := outbound.NewClient(outbound.Options{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, Resolver: resolver})

	if _, _, err := read(t, client, "http://both.example:"+port); !outbound.Prohibited(err) {
		t.Errorf("got %v", err)
	}
	if _, _, err := read(t, client, "http://first.example:"+port); !errors.Is(err, syscall.ECONNREFUSED) || outbound.Prohibited(err) {
		t.Errorf("without an address that is refused: %v", err)
	}
	if requests.Load() != 0 {
		t.Error("an address that is refused was called")
	}
}

func TestHostsThatAreNumbersAreNotLookedUp(t *testing.T) {
	resolver := outboundtest.NewResolver(t, map[string]outboundtest.Name{
		"2130706433": outboundtest.Always("127.0.0.1"), "0x7f.1": outboundtest.Always("127.0.0.1"), "127.1": outboundtest.Always("127.0.0.1"),
	})
	server, requests := serve(t, func(http.ResponseWriter, *http.Request) {})
	client := outbound.NewClient(outbound.Options{Allowed: loopback(), Resolver: resolver})
	for _, host := range []string{"2130706433", "0x7f.1", "127.1"} {
		address := strings.Replace(server.URL, "127.0.0.1", host, 1)
		if _, _, err := read(t, client, address); !outbound.Prohibited(err) || !strings.Contains(err.Error(), "is a number that is not in the form of an address") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if requests.Load() != 0 {
		t.Error("the number was looked up")
	}
}
