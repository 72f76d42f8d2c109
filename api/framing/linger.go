package framing

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"time"
)

// lingerTimeout bounds how long a closing connection still takes what the client sends.
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
		// Whatever is wrong with the connection, its reader finds out.
		return conn, nil
	}
	return &lingeringConn{Conn: conn}, nil
}

// lingeringConn takes what the client still sends before it closes. Closed at once, the kernel would answer such bytes
// with a reset, and the client could lose our answer before reading it.
type lingeringConn struct {
	net.Conn
	// takes is how much it still takes, in bytes.
	takes int64
}

// LingerBriefly has a connection linger after a request that could not be read.
func LingerBriefly(conn net.Conn) { linger(conn, strangerLingered) }

// ClientCertificate is the certificate that the client of a connection has shown and that was verified, nil without one.
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

// linger has a connection take so many bytes before it closes. What is beyond stays unread for as
// long, so that the client cannot send it, but can still read its answer.
func linger(conn net.Conn, most int64) {
	if conn, ok := conn.(*lingeringConn); ok {
		conn.takes = most
	}
}

// Close closes the connection.
func (c *lingeringConn) Close() error {
	takes, end := c.takes, time.Now().Add(lingerTimeout)
	c.takes = 0
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if takes > 0 && ok && half.CloseWrite() == nil && c.SetReadDeadline(end) == nil {
		// Whether the client stops or time is up, the connection ends.
		if taken, _ := io.CopyN(io.Discard, c.Conn, takes); taken == takes {
			time.Sleep(time.Until(end))
		}
	}
	return c.Conn.Close()
}
