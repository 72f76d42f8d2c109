package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// dialer opens connections to addresses that its guard permits.
type dialer struct {
	guard    *ssrf.Guardian
	resolver *net.Resolver
}

// dial connects to host:port. If it fails and one of the host's addresses was refused, it returns the refusal, even if
// another address failed first.
func (d dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := checkHost(address); err != nil {
		return nil, err
	}
	refused := make(chan error, 1)
	check := func(network, address string, conn syscall.RawConn) error {
		err := d.check(network, address, conn)
		if err != nil {
			select {
			case refused <- err:
			default:
			}
		}
		return err
	}
	dialer := net.Dialer{Resolver: d.resolver, Control: check}
	conn, err := dialer.DialContext(ctx, network, address)
	if err == nil {
		return conn, nil
	}
	select {
	case refusal := <-refused:
		return nil, refusal
	default:
		return nil, err
	}
}

// Prohibited reports whether a call failed because its address is not allowed.
func Prohibited(err error) bool { return errors.Is(err, ssrf.ErrProhibitedIP) }

// checkHost refuses hosts that end in a number and are not in the form of an address. Depending on the system, a
// resolver parses 2130706433, 127.1, 0177.0.0.1 and 0x7f.1 as 127.0.0.1. It also refuses an empty host, which means
// this machine, and addresses with a zone, which are link-local.
func checkHost(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q", ssrf.ErrInvalidHostPort, address)
	}
	if host == "" {
		return fmt.Errorf("%w: %q has no host", ssrf.ErrProhibitedIP, address)
	}
	if strings.Contains(host, "%") {
		return fmt.Errorf("%w: %q has a zone", ssrf.ErrProhibitedIP, address)
	}
	if _, err := netip.ParseAddr(host); err == nil || !endsInNumber.MatchString(host) {
		return nil
	}
	return fmt.Errorf("%w: the host %q is a number that is not in the form of an address", ssrf.ErrProhibitedIP, host)
}

// endsInNumber matches hosts whose last label is a decimal, octal or hexadecimal number. No domain name ends so.
var endsInNumber = regexp.MustCompile(`(?i)(?:^|\.)(?:0x[0-9a-f]*|[0-9]+)\.*$`)
