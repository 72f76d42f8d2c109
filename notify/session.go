package notify

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/textproto"
	"slices"
	"strings"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// accepted is the reply code of a mail server that has accepted an e-mail.
const accepted = 250

// refusal is an error reply of a mail server. step is a sentence for users, without a full stop.
type refusal struct {
	step string
	err  error
}

func (r *refusal) Error() string { return r.step + ": " + r.err.Error() }

func (r *refusal) Unwrap() error { return r.err }

// refusedAt makes a refusal of an error reply. It returns other errors, which are of the connection, unchanged.
func refusedAt(step string, err error) error {
	if _, ok := errors.AsType[*textproto.Error](err); !ok {
		return err
	}
	return &refusal{step: step, err: err}
}

type session struct {
	client *smtp.Client
	host   string
}

// newSession waits for the greeting and sends EHLO with the client's name.
func newSession(conn net.Conn, host, name string) (*session, error) {
	client, err := smtp.NewClient(conn, host)
	if err != nil {
		return nil, refusedAt("The mail server refused the connection", err)
	}
	if err := client.Hello(name); err != nil {
		return nil, refusedAt("The mail server refused the connection", err)
	}
	return &session{client: client, host: host}, nil
}

func (s *session) startTLS(config *tls.Config) error {
	if offered, _ := s.client.Extension("STARTTLS"); !offered {
		return errNoStartTLS
	}
	return refusedAt("The mail server refused STARTTLS", s.client.StartTLS(config))
}

// login uses the first mechanism in this order that the server offers.
func (s *session) login(username, password string) error {
	_, auth := s.client.Extension("AUTH")
	offered := strings.Fields(auth)
	for _, mechanism := range []struct {
		name string
		auth smtp.Auth
	}{
		{"SCRAM-SHA-256", smtp.ScramSHA256Auth(username, password)},
		{"SCRAM-SHA-1", smtp.ScramSHA1Auth(username, password)},
		{"PLAIN", smtp.PlainAuth("", username, password, s.host, false)},
		{"LOGIN", smtp.LoginAuth(username, password, s.host, false)},
		{"CRAM-MD5", smtp.CRAMMD5Auth(username, password)},
	} {
		if slices.Contains(offered, mechanism.name) {
			return refusedAt("The mail server refused the user name or the password", s.client.Auth(mechanism.auth))
		}
	}
	return errNoLogin
}

// rcptReplies are a mail server's replies to RCPT.
type rcptReplies struct {
	refused  string   // a text about the recipients with a permanent failure
	deferred []string // the recipients with a temporary failure
	deferral error    // the first temporary failure
}

// address sends MAIL and RCPT. It fails if the sender or all recipients are refused. After an error nobody is notified.
func (s *session) address(from *netmail.Address, to []*netmail.Address) (rcptReplies, error) {
	if err := s.client.Mail(bracketed(from)); err != nil {
		return rcptReplies{}, refusedAt("The mail server refused the sender", err)
	}
	var replies rcptReplies
	var permanent error
	ok := false
	for _, address := range to {
		err := s.client.Rcpt(bracketed(address))
		var reply *textproto.Error
		switch {
		case err == nil:
			ok = true
		case !errors.As(err, &reply):
			return rcptReplies{}, err
		case reply.Code >= 500:
			permanent = refusedAt("The mail server refused the address "+plain(address.Address), err)
			replies.refused += fmt.Sprintf("Refused for %s: %d %s\n", address.Address, reply.Code, reply.Msg)
		default:
			replies.deferred = append(replies.deferred, address.Address)
			replies.deferral = cmp.Or(replies.deferral, refusedAt("The mail server did not take the address "+plain(address.Address), err))
		}
	}
	if !ok {
		return rcptReplies{}, cmp.Or(replies.deferral, permanent)
	}
	return replies, nil
}

func (s *session) transmit(message *mail.Msg) (answer string, err error) {
	const step = "The mail server refused the e-mail"
	data, err := s.client.Data()
	if err != nil {
		return "", refusedAt(step, err)
	}
	if _, err := message.WriteTo(data); err != nil {
		return "", err
	}
	if err := data.Close(); err != nil {
		return "", refusedAt(step, err)
	}
	if closed, ok := data.(*smtp.DataCloser); ok {
		answer = closed.ServerResponse()
	}
	return answer, nil
}

// bracketed returns an address in the form of SMTP: in brackets, without a name.
func bracketed(address *netmail.Address) string {
	return (&netmail.Address{Address: address.Address}).String()
}
