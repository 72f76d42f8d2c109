package framing

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"time"
)

// lingerTimeout bounds how long a closing connection still reads.
const lingerTimeout = 2 * time.Second

// Listener accepts connections that can linger.
type Listener struct {
	net.Listener
	// FirstRead is how long a new connection may take for its first byte.
	FirstRead time.Duration
}

// Accept waits for a connection.
func (l Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if err := conn.SetReadDeadline(time.Now().Add(l.FirstRead)); err != nil {
		return conn, nil // The reader of the connection gets the error.
	}
	return &lingeringConn{Conn: conn}, nil
}

// lingeringConn is a connection whose Close first reads what the client still sends. Otherwise the kernel would reset
// the connection, and the client could lose the answer before it reads it.
type lingeringConn struct {
	net.Conn
	// maxDiscarded bounds what Close still reads, in bytes. If it is 0, Close does not wait for the client.
	maxDiscarded int64
}

// LingerBriefly makes a connection linger after a request that could not be parsed.
func LingerBriefly(conn net.Conn) { linger(conn, anonymousLingered) }

// ClientCertificate is the verified certificate of the client of a connection, nil without one.
func ClientCertificate(conn net.Conn) *x509.Certificate {
	if lingering, ok := conn.(*lingeringConn); ok {
		conn = lingering.Conn
	}
	encrypted, ok := conn.(*tls.Conn)
	if !ok {
		return nil
	}
	if chains := encrypted.ConnectionState().VerifiedChains; len(chains) > 0 {
		return chains[0][0]
	}
	return nil
}

// linger makes Close read at most limit bytes. If the client sends more, Close waits until lingerTimeout has passed, so
// that the client can read its answer meanwhile.
func linger(conn net.Conn, limit int64) {
	if conn, ok := conn.(*lingeringConn); ok {
		conn.maxDiscarded = limit
	}
}

// Close closes the connection.
func (c *lingeringConn) Close() error {
	limit, end := c.maxDiscarded, time.Now().Add(lingerTimeout)
	c.maxDiscarded = 0
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if limit > 0 && ok && half.CloseWrite() == nil && c.SetReadDeadline(end) == nil {
		if discarded, _ := io.CopyN(io.Discard, c.Conn, limit); discarded == limit {
			time.Sleep(time.Until(end))
		}
	}
	return c.Conn.Close()
}
