package notify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	html "html/template"
	"net"
	netmail "net/mail"
	"slices"
	"strings"
	text "text/template"
	"time"

	"github.com/wneessen/go-mail"

	"attestry/config"
	"attestry/evidence/notification"
)

// mailTimeLimit is how long it may take to hand an e-mail over, in all.
const mailTimeLimit = 10 * time.Second

// MailServer is the operator's mail server. It may be in any network.
type MailServer struct {
	config.SMTP
	// RootCAs are the authorities that sign the certificate of the server, nil for the system's.
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

// mailer sends e-mails through a server, if it has a host.
type mailer struct {
	server *MailServer
	from   *netmail.Address // nil if the address of the sender is not valid
	html   *html.Template
	text   *text.Template
}

func newMailer(server *MailServer) *mailer {
	from, _ := netmail.ParseAddress(string(server.From))
	return &mailer{
		server: server, from: from,
		html: html.Must(html.ParseFS(templates, "templates/email.html")),
		text: text.Must(text.ParseFS(templates, "templates/email.txt")),
	}
}

func (m *mailer) send(ctx context.Context, target *notification.Target, delivery *notification.Delivery) outcome {
	switch {
	case m.server.Host == "":
		return outcome{reason: "No mail server is configured. An operator can name one with ATTESTRY_SMTP_HOST."}
	case m.from == nil:
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
	message, err := m.write(delivery, to)
	if err != nil {
		return outcome{reason: "The e-mail could not be written.", err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, mailTimeLimit)
	defer cancel()
	said, answer, err := m.deliver(ctx, message, remaining(to, delivery.Left))
	if err != nil {
		return mailFailure(ctx, err)
	}
	if said.later != nil {
		result := mailFailure(ctx, said.later)
		result.left = said.left
		return result
	}
	return outcome{status: accepted, answer: strings.TrimSpace(said.refused + answer)}
}

// remaining are the recipients who are still to be notified: all if none are named.
func remaining(to []*netmail.Address, left []string) []*netmail.Address {
	if len(left) == 0 {
		return to
	}
	return slices.DeleteFunc(slices.Clone(to), func(address *netmail.Address) bool { return !slices.Contains(left, address.Address) })
}

// deliver hands an e-mail over. It returns what the server said to the recipients, and what it answered.
func (m *mailer) deliver(ctx context.Context, message *mail.Msg, to []*netmail.Address) (said addressed, answer string, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", string(m.server.Host))
	if err != nil {
		return said, "", err
	}
	// Whatever waits for the server ends with ctx.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	session, err := m.open(ctx, conn)
	if err != nil {
		return said, "", err
	}
	said, err = session.address(m.from, to)
	if err != nil {
		return said, "", err
	}
	answer, err = session.transmit(message)
	if err != nil {
		return said, "", err
	}
	_ = session.client.Quit() // the e-mail has been accepted
	return said, answer, nil
}

// open begins a session: greeting, encryption, login.
func (m *mailer) open(ctx context.Context, conn net.Conn) (*session, error) {
	if m.server.TLS == config.ImplicitTLS {
		encrypted := tls.Client(conn, m.server.tlsConfig())
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(errHandshake, err)
		}
		conn = encrypted
	}
	s, err := newSession(conn, m.server.host(), domain(m.from))
	if err != nil {
		return nil, err
	}
	if m.server.TLS == config.StartTLS {
		if err := s.startTLS(m.server.tlsConfig()); err != nil {
			return nil, err
		}
	}
	if m.server.Username != "" {
		return s, s.login(m.server.Username, m.server.Password.Reveal())
	}
	return s, nil
}
