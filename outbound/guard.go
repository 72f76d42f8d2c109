package outbound

import (
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

// metadata are the addresses of cloud metadata services that, unlike 169.254.169.254, are not link-local.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),      // AWS
	netip.MustParseAddr("fd20:ce::254"),       // Google
	netip.MustParseAddr("fd00:c1::a9fe:a9fe"), // Oracle
	netip.MustParseAddr("192.0.0.192"),        // Oracle
	netip.MustParseAddr("100.100.100.200"),    // Alibaba
	netip.MustParseAddr("168.63.129.16"),      // Azure, a public address
}

// newDialer makes a dialer that connects only to public or allowed addresses, and never to metadata.
func newDialer(options Options) dialer {
	var v4, v6 []netip.Prefix
	for _, prefix := range options.Allowed {
		if prefix.Addr().Is4() {
			v4 = append(v4, prefix)
		} else {
			v6 = append(v6, prefix)
		}
	}
	// Identity providers and webhooks in an operator's network may have any port.
	guard := ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
	return dialer{guard: guard, resolver: options.Resolver}
}

// check is the Control function of a net.Dialer, which calls it with the resolved address before it connects. It
// refuses addresses that are not allowed.
func (d dialer) check(network, address string, conn syscall.RawConn) error {
	destination, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q", ssrf.ErrInvalidHostPort, address)
	}
	addr := destination.Addr().Unmap()
	if actual := unwrapNAT64(addr); actual.IsLinkLocalUnicast() || slices.Contains(metadata, actual) {
		return fmt.Errorf("%w: link-local addresses and those of cloud metadata, such as %s, are never called", ssrf.ErrProhibitedIP, addr)
	}
	unmapped := netip.AddrPortFrom(addr, destination.Port())
	if err := d.guard.Safe(network, unmapped.String(), conn); err != nil {
		return fmt.Errorf("%w; ATTESTRY_OUTBOUND_ALLOW does not allow it", err)
	}
	return nil
}

// unwrapNAT64 returns the IPv4 address in a NAT64 address, and other addresses unchanged. An operator with a NAT64
// gateway allows its whole prefix.
func unwrapNAT64(addr netip.Addr) netip.Addr {
	if !ssrf.IPv6NAT64Prefix.Contains(addr) {
		return addr
	}
	bytes := addr.As16()
	return netip.AddrFrom4([4]byte(bytes[12:]))
}
