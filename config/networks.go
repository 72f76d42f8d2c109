package config

import (
	"fmt"
	"net/netip"
	"strings"
)

// Networks is a list of prefixes. A single address is a prefix of full length.
type Networks []netip.Prefix

// UnmarshalText reads a list such as "10.0.0.0/8,fd12::1".
func (n *Networks) UnmarshalText(text []byte) error {
	var networks Networks
	for entry := range strings.SplitSeq(string(text), ",") {
		network, err := parseNetwork(strings.TrimSpace(entry))
		if err != nil {
			return err
		}
		networks = append(networks, network)
	}
	*n = networks
	return nil
}

// parseNetwork parses one entry. It refuses an IPv4 network in the form of IPv6, which would match no address.
func parseNetwork(entry string) (netip.Prefix, error) {
	network, err := netip.ParsePrefix(entry)
	if addr, addrErr := netip.ParseAddr(entry); addrErr == nil && addr.Zone() == "" {
		network, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	addr := network.Addr()
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("%q is neither a network such as 10.0.0.0/8 nor an address", entry)
	case addr.Is4In6():
		return netip.Prefix{}, fmt.Errorf("%q must be written as an IPv4 network", entry)
	case network != network.Masked():
		return netip.Prefix{}, fmt.Errorf("%q has bits behind its prefix: is %s meant?", entry, network.Masked())
	}
	return network, nil
}

// OutboundNetworks are Networks that may be called.
type OutboundNetworks Networks

// UnmarshalText reads the same lists as Networks, but refuses link-local networks.
func (n *OutboundNetworks) UnmarshalText(text []byte) error {
	if err := (*Networks)(n).UnmarshalText(text); err != nil {
		return err
	}
	for _, network := range *n {
		if addr := network.Addr(); addr.IsLinkLocalUnicast() && network.Bits() >= linkLocalBits(addr) {
			return fmt.Errorf("%q is link-local, which is never called: machines get their credentials from such addresses", network)
		}
	}
	return nil
}

func linkLocalBits(addr netip.Addr) int {
	if addr.Is4() {
		return 16
	}
	return 10
}
