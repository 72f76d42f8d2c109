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

// accepted is the code of a mail server that has taken an e-mail.
const accepted = 250

// refusal is a step that a mail server refused. Step says so to people, without a full stop.
type refusal struct {
	step string
	err  error
}

func (r *refusal) Error() string { return r.step + ": " + r.err.Error() }

func (r *refusal) Unwrap() error { return r.err }

// refusedAt marks the answers of the server; other errors are about the connection.
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

// newSession waits for the greeting. name is what the client calls itself.
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

// login uses the first way that the server offers, those first that do not show it the password.
func (s *session) login(username, password string) error {
	_, offered := s.client.Extension("AUTH")
	ways := strings.Fields(offered)
	for _, way := range []struct {
		name string
		auth smtp.Auth
	}{
		{"SCRAM-SHA-256", smtp.ScramSHA256Auth(username, password)},
		{"SCRAM-SHA-1", smtp.ScramSHA1Auth(username, password)},
		{"PLAIN", smtp.PlainAuth("", username, password, s.host, false)},
		{"LOGIN", smtp.LoginAuth(username, password, s.host, false)},
		{"CRAM-MD5", smtp.CRAMMD5Auth(username, password)},
	} {
		if slices.Contains(ways, way.name) {
			return refusedAt("The mail server refused the user name or the password", s.client.Auth(way.auth))
		}
	}
	return errNoLogin
}

// addressed is what a mail server said to recipients, if it took some of them.
type addressed struct {
	// refused is a text about those who were refused for good.
	refused string
	// left were refused for now, the first of them with the error later.
	left  []string
	later error
}

// address names the sender and the recipients, some of whom may be refused. After an error nobody gets the e-mail.
func (s *session) address(from *netmail.Address, to []*netmail.Address) (addressed, error) {
	if err := s.client.Mail(bracketed(from)); err != nil {
		return addressed{}, refusedAt("The mail server refused the sender", err)
	}
	var said addressed
	var last error
	taken := 0
	for _, address := range to {
		err := s.client.Rcpt(bracketed(address))
		var answer *textproto.Error
		switch {
		case err == nil:
			taken++
		case !errors.As(err, &answer):
			return addressed{}, err
		case answer.Code >= 500:
			last = refusedAt("The mail server refused the address "+plain(address.Address), err)
			said.refused += fmt.Sprintf("Refused for %s: %d %s\n", address.Address, answer.Code, answer.Msg)
		default:
			said.left = append(said.left, address.Address)
			said.later = cmp.Or(said.later, refusedAt("The mail server did not take the address "+plain(address.Address), err))
		}
	}
	if taken == 0 {
		return addressed{}, cmp.Or(said.later, last)
	}
	return said, nil
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

// bracketed is an address as SMTP has it, without a name.
func bracketed(address *netmail.Address) string {
	return (&netmail.Address{Address: address.Address}).String()
}
