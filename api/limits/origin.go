package limits

import (
	"net/netip"
	"slices"
	"strings"
)

// Origin is the origin of a request, by its connection and its headers.
type Origin struct {
	// Peer is the remote address of the connection.
	Peer netip.Addr
	// ForwardedFor are the values of the headers X-Forwarded-For, in their order. Clients can forge them.
	ForwardedFor []string
}

// Proxies are the addresses of the trusted proxies, whose X-Forwarded-For is used.
type Proxies []netip.Prefix

// Client returns the address of the client: the peer or, if the peer is a trusted proxy, the last address in
// X-Forwarded-For that is not a trusted proxy's. Each proxy appends the address of its peer. Entries before one that
// cannot be parsed are ignored. Without such an address, the farthest trusted proxy counts as the client.
func (p Proxies) Client(from Origin) netip.Addr {
	client := canonical(from.Peer)
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

// addressIn parses an entry of X-Forwarded-For: an address, with or without port and brackets.
func addressIn(entry string) (address netip.Addr, ok bool) {
	entry = strings.TrimSpace(entry)
	if withPort, err := netip.ParseAddrPort(entry); err == nil {
		return canonical(withPort.Addr()), true
	}
	if inner, bracket := strings.CutPrefix(entry, "["); bracket {
		if entry, ok = strings.CutSuffix(inner, "]"); !ok {
			return netip.Addr{}, false
		}
	}
	address, err := netip.ParseAddr(entry)
	return canonical(address), err == nil
}

// canonical returns an address in its form for comparisons: without a zone, and not IPv4-mapped.
func canonical(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }
