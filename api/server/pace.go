package server

import (
	"fmt"
	"io"
	"net"
	"time"
)

// readRate is how fast a client has to take an answer that is streamed. So clients that do
// not read cannot keep memory from others.
type readRate struct {
	// grace is how long a client may take for the beginning.
	grace time.Duration
	// bytesPerSecond is how fast it has to take the rest on average.
	bytesPerSecond int
}

// defaultReadRate lets a client take the beginning for a minute and the rest at 64 KiB a second.
func defaultReadRate() readRate { return readRate{grace: time.Minute, bytesPerSecond: 64 << 10} }

// minRateReader is content that is being sent on a connection. The write deadline of the
// connection is the time by which the client must have taken what was read.
type minRateReader struct {
	io.Closer
	content io.Reader
	conn    net.Conn
	pace    readRate
	due     time.Time
}

func newMinRateReader(content io.Reader, closer io.Closer, conn net.Conn, p readRate) *minRateReader {
	return &minRateReader{Closer: closer, content: content, conn: conn, pace: p, due: time.Now().Add(p.grace)}
}

// Read reads content. The time that this takes is not counted against the client.
func (p *minRateReader) Read(b []byte) (int, error) {
	began := time.Now()
	n, err := p.content.Read(b)
	p.due = p.due.Add(time.Since(began) + time.Duration(n)*time.Second/time.Duration(p.pace.bytesPerSecond))
	if deadlineErr := p.conn.SetWriteDeadline(p.due); deadlineErr != nil && err == nil {
		return 0, fmt.Errorf("set the write deadline: %w", deadlineErr)
	}
	return n, err
}
