package limits

import (
	"net/netip"
	"slices"
	"strings"
)

// Origin is where a request comes from, by its connection and its headers.
type Origin struct {
	// Peer is the address at the other end of the connection.
	Peer netip.Addr
	// ForwardedFor are the values of the headers X-Forwarded-For, in their order. Whoever
	// sends a request can write anything into them.
	ForwardedFor []string
}

// Proxies are the addresses of the proxies whose X-Forwarded-For is believed.
type Proxies []netip.Prefix

// Client returns the address of the client. It is the peer, unless that is a trusted proxy.
// Then it is the last address in X-Forwarded-For that is not a trusted proxy's, since each
// proxy appends the address that it was called from. Entries before one that cannot be
// parsed may be forged. If the trusted proxies name no client, the farthest of them counts as the client.
func (p Proxies) Client(from Origin) netip.Addr {
	client := plain(from.Peer)
	for _, header := range slices.Backward(from.ForwardedFor) {
		entries := strings.Split(header, ",")
		for _, entry := range slices.Backward(entries) {
			if !p.trusts(client) {
				return client
			}
			next, ok := addressIn(entry)
			if !ok {
				return client
			}
			client = next
		}
	}
	return client
}

func (p Proxies) trusts(address netip.Addr) bool {
	return slices.ContainsFunc(p, func(trusted netip.Prefix) bool { return trusted.Contains(address) })
}

// addressIn reads an entry of X-Forwarded-For: an address, with a port or without, and in brackets or not.
func addressIn(entry string) (address netip.Addr, ok bool) {
	entry = strings.TrimSpace(entry)
	if withPort, err := netip.ParseAddrPort(entry); err == nil {
		return plain(withPort.Addr()), true
	}
	if inner, bracket := strings.CutPrefix(entry, "["); bracket {
		if entry, ok = strings.CutSuffix(inner, "]"); !ok {
			return netip.Addr{}, false
		}
	}
	address, err := netip.ParseAddr(entry)
	return plain(address), err == nil
}

// plain returns an address in the form in which it is compared: without a zone, and an IPv4 address as one.
func plain(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }
