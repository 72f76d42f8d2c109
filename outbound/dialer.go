package outbound

import (
	"context"
	"net"
	"syscall"
)

// dialer opens connections to addresses that its guard permits.
type dialer struct {
	guard    *guard
	resolver *net.Resolver
}

// dial connects to host:port. If it fails and an address of the host was refused, the refusal is
// the error, also where another address of the host failed first.
func (d dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := checkHost(address); err != nil {
		return nil, err
	}
	refused := make(chan error, 1)
	check := func(network, address string, conn syscall.RawConn) error {
		err := d.guard.check(network, address, conn)
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
