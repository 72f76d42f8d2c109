package notify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"slices"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"attestry/config"
	"attestry/evidence/notification"
)

// mailTimeLimit bounds the SMTP session of an e-mail.
const mailTimeLimit = 10 * time.Second

// MailServer is the operator's mail server. It may be in any network.
type MailServer struct {
	config.SMTP
	// RootCAs sign the certificate of the server, nil for the system's.
	RootCAs *x509.CertPool
}

func (s *MailServer) tlsConfig() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.host(), RootCAs: s.RootCAs}
}

func (s *MailServer) host() string {
	host, _, err := net.SplitHostPort(string(s.Host))
	if err != nil {
		return string(s.Host)
	}
	return host
}

// send sends the e-mail of a delivery. It fails if no mail server is configured.
func (s *MailServer) send(ctx context.Context, target *notification.Target, delivery *notification.Delivery) outcome {
	from, err := netmail.ParseAddress(string(s.From))
	switch {
	case s.Host == "":
		return outcome{reason: "No mail server is configured. An operator can name one with ATTESTRY_SMTP_HOST."}
	case err != nil:
		return outcome{reason: "The address of the sender is not valid. An operator can correct it with ATTESTRY_SMTP_FROM."}
	case len(target.Emails) == 0:
		return outcome{reason: "The target has no e-mail address."}
	}
	var to []*netmail.Address
	for _, email := range target.Emails {
		address, err := netmail.ParseAddress(email)
		if err != nil {
			return outcome{reason: fmt.Sprintf("%q is not a valid e-mail address.", plain(email)), err: err}
		}
		to = append(to, address)
	}
	message, err := compose(delivery, from, to)
	if err != nil {
		return outcome{reason: "The e-mail could not be written.", err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, mailTimeLimit)
	defer cancel()
	replies, answer, err := s.deliver(ctx, message, from, remaining(to, delivery.Left))
	if err != nil {
		return mailFailure(ctx, err)
	}
	if replies.deferral != nil {
		result := mailFailure(ctx, replies.deferral)
		result.left, result.answer = replies.deferred, replies.refused+result.answer
		return result
	}
	return outcome{status: accepted, answer: strings.TrimSpace(replies.refused + answer)}
}

// remaining returns the recipients in left, which are not notified yet, or all if left is empty.
func remaining(to []*netmail.Address, left []string) []*netmail.Address {
	if len(left) == 0 {
		return to
	}
	return slices.DeleteFunc(slices.Clone(to), func(address *netmail.Address) bool { return !slices.Contains(left, address.Address) })
}

// deliver sends an e-mail. It returns the server's replies to the recipients, and its answer to the e-mail.
func (s *MailServer) deliver(ctx context.Context, message *mail.Msg, from *netmail.Address, to []*netmail.Address) (replies rcptReplies, answer string, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", string(s.Host))
	if err != nil {
		return replies, "", err
	}
	// Close the connection when ctx ends, which interrupts reads and writes.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	session, err := s.open(ctx, conn, domain(from))
	if err != nil {
		return replies, "", err
	}
	replies, err = session.address(from, to)
	if err != nil {
		return replies, "", err
	}
	answer, err = session.transmit(message)
	if err != nil {
		return replies, "", err
	}
	_ = session.client.Quit() // the e-mail has been accepted
	return replies, answer, nil
}

// open begins a session: greeting, encryption, login. name is the client's name in EHLO.
func (s *MailServer) open(ctx context.Context, conn net.Conn, name string) (*session, error) {
	if s.TLS == config.ImplicitTLS {
		encrypted := tls.Client(conn, s.tlsConfig())
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(errHandshake, err)
		}
		conn = encrypted
	}
	session, err := newSession(conn, s.host(), name)
	if err != nil {
		return nil, err
	}
	if s.TLS == config.StartTLS {
		if err := session.startTLS(s.tlsConfig()); err != nil {
			return nil, err
		}
	}
	if s.Username != "" {
		return session, session.login(s.Username, s.Password.Reveal())
	}
	return session, nil
}
