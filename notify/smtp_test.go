package notify_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"attestry/config"
	"attestry/evidence/evidencetest"
	"attestry/evidence/notification"
	"attestry/notify"
)

// mailServer is an SMTP server that records its e-mails.
type mailServer struct {
	address  string
	roots    *x509.CertPool
	password string
	// refuse has the errors for addresses, mail the error for all e-mails.
	refuse map[string]error
	mail   error

	mutex sync.Mutex
	got   []letter
}

type letter struct {
	from    string
	to      []string
	content []byte
	user    string
	tls     bool
}

// mailOptions change how a mail server is started.
type mailOptions struct {
	noSTARTTLS, implicitTLS bool
}

func newMailServer(t *testing.T, options mailOptions) *mailServer {
	t.Helper()
	certificate, roots := newCertificate(t)
	m := &mailServer{roots: roots, password: "open-sesame", refuse: map[string]error{}}
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &mailSession{server: m, conn: c}, nil
	}))
	server.Domain, server.ErrorLog = "mail.example.com", log.New(io.Discard, "", 0)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	evidencetest.Must(t, err)
	m.address = listener.Addr().String()
	encryption := &tls.Config{Certificates: []tls.Certificate{certificate}}
	if options.implicitTLS {
		listener = tls.NewListener(listener, encryption)
	} else if !options.noSTARTTLS {
		server.TLSConfig = encryption
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		listener.Close() // the server may not know it yet
		server.Close()
		serving.Wait()
	})
	return m
}

// newCertificate returns the certificate for 127.0.0.1 that net/http/httptest uses.
func newCertificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return server.TLS.Certificates[0], roots
}

func (m *mailServer) letters() []letter {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.got
}

// settings returns the settings of an operator who uses the server.
func (m *mailServer) settings() *notify.MailServer {
	return &notify.MailServer{RootCAs: m.roots, SMTP: config.SMTP{
		Host: config.MailHost(m.address), From: "Attestry <attestry@example.com>", Username: "attestry", Password: "open-sesame",
		TLS: config.StartTLS,
	}}
}

type mailSession struct {
	server *mailServer
	conn   *smtp.Conn
	letter letter
}

func (s *mailSession) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *mailSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, username, password string) error {
		if password != s.server.password {
			return smtp.ErrAuthFailed
		}
		s.letter.user = username
		return nil
	}), nil
}

func (s *mailSession) Mail(from string, _ *smtp.MailOptions) error {
	s.letter.from = from
	_, s.letter.tls = s.conn.TLSConnectionState()
	return nil
}

func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if err := s.server.refuse[to]; err != nil {
		return err
	}
	s.letter.to = append(s.letter.to, to)
	return nil
}

func (s *mailSession) Data(r io.Reader) error {
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if s.server.mail != nil {
		return s.server.mail
	}
	s.letter.content = content
	s.server.mutex.Lock()
	defer s.server.mutex.Unlock()
	s.server.got = append(s.server.got, s.letter)
	return nil
}

func (s *mailSession) Reset()        {}
func (s *mailSession) Logout() error { return nil }

// sendMail makes an attempt to send a notice to addresses.
func sendMail(t *testing.T, server *notify.MailServer, notice notification.Notice, to ...string) notification.Attempt {
	t.Helper()
	target := &notification.Target{Type: notification.Email, Emails: to}
	return newSender(notify.Sender{Mail: *server}).Send(context.Background(), target, delivery(notice), nil)
}

func TestMailIsSentEncryptedAfterALogin(t *testing.T) {
	for name, c := range map[string]struct {
		options mailOptions
		tls     config.MailTLS
	}{
		"STARTTLS":     {mailOptions{}, config.StartTLS},
		"implicit TLS": {mailOptions{implicitTLS: true}, config.ImplicitTLS},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMailServer(t, c.options)
			settings := m.settings()
			settings.TLS = c.tls
			attempt := sendMail(t, settings, startedNotice(), "anna@example.org", "Bert <bert@example.org>")
			if attempt.Reason != "" || attempt.Status != 250 || attempt.Answer == "" || attempt.At != 1795435200 {
				t.Fatalf("got %+v", attempt)
			}
			letters := m.letters()
			if len(letters) != 1 {
				t.Fatalf("got %d letters", len(letters))
			}
			got := letters[0]
			if got.from != "attestry@example.com" || !slices.Equal(got.to, []string{"anna@example.org", "bert@example.org"}) || got.user != "attestry" || !got.tls {
				t.Errorf("got %s %v %s %t", got.from, got.to, got.user, got.tls)
			}
		})
	}
}

func TestMailMayBeSentWithoutEncryptionAndLogin(t *testing.T) {
	m := newMailServer(t, mailOptions{noSTARTTLS: true})
	settings := m.settings()
	settings.TLS, settings.Username = config.NoTLS, ""
	if attempt := sendMail(t, settings, startedNotice(), "anna@example.org"); attempt.Reason != "" {
		t.Errorf("got %+v", attempt)
	}
}

func TestAttemptsToSendMailSayWhyTheyFailed(t *testing.T) {
	refusal := func(code int) error {
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.NoEnhancedCode, Message: "not here"}
	}
	for name, c := range map[string]struct {
		options mailOptions
		change  func(*mailServer, *notify.MailServer)
		to      []string
		want    notification.Attempt
	}{
		"wrong password": {
			change: func(_ *mailServer, s *notify.MailServer) { s.Password = "wrong" },
			want:   notification.Attempt{Status: 535, Reason: "The mail server refused the user name or the password (535)."},
		},
		"no STARTTLS": {
			options: mailOptions{noSTARTTLS: true},
			want:    notification.Attempt{Reason: "The mail server does not offer STARTTLS, so nothing is sent. An operator can change that with ATTESTRY_SMTP_TLS."},
		},
		"unknown certificate": {
			change: func(_ *mailServer, s *notify.MailServer) { s.RootCAs = x509.NewCertPool() },
			want:   notification.Attempt{Reason: "The certificate of the mail server is not trusted."},
		},
		"unknown certificate, implicit TLS": {
			options: mailOptions{implicitTLS: true},
			change: func(_ *mailServer, s *notify.MailServer) {
				s.TLS, s.RootCAs = config.ImplicitTLS, x509.NewCertPool()
			},
			want: notification.Attempt{Reason: "The certificate of the mail server is not trusted."},
		},
		"no TLS where it is expected": {
			change: func(_ *mailServer, s *notify.MailServer) { s.TLS = config.ImplicitTLS },
			want:   notification.Attempt{Reason: "No encrypted connection to the mail server could be made."},
		},
		"login without encryption": {
			options: mailOptions{noSTARTTLS: true},
			change:  func(_ *mailServer, s *notify.MailServer) { s.TLS = config.NoTLS },
			want:    notification.Attempt{Reason: "The mail server offers no way to log in that is supported."},
		},
		"refused address": {
			change: func(m *mailServer, _ *notify.MailServer) { m.refuse["anna@example.org"] = refusal(550) },
			want:   notification.Attempt{Status: 550, Reason: "The mail server refused the address anna@example.org (550)."},
		},
		"address refused for now": {
			change: func(m *mailServer, _ *notify.MailServer) { m.refuse["bert@example.org"] = refusal(450) },
			to:     []string{"bert@example.org"},
			want:   notification.Attempt{Status: 450, Reason: "The mail server did not take the address bert@example.org (450)."},
		},
		"refused e-mail": {
			change: func(m *mailServer, _ *notify.MailServer) { m.mail = refusal(554) },
			want:   notification.Attempt{Status: 554, Reason: "The mail server refused the e-mail (554)."},
		},
		"nothing listens": {
			change: func(_ *mailServer, s *notify.MailServer) { s.Host = "127.0.0.1:1" },
			want:   notification.Attempt{Reason: "The mail server refused the connection."},
		},
		"unknown host": {
			change: func(_ *mailServer, s *notify.MailServer) { s.Host = "a..b:25" },
			want:   notification.Attempt{Reason: "The mail server does not exist or could not be looked up."},
		},
		"wrong sender": {
			change: func(_ *mailServer, s *notify.MailServer) { s.From = "nobody" },
			want:   notification.Attempt{Reason: "The address of the sender is not valid. An operator can correct it with ATTESTRY_SMTP_FROM."},
		},
		"wrong address": {
			to:   []string{"anna@example.org\r\nBcc: x@example.org"},
			want: notification.Attempt{Reason: `"anna@example.org Bcc: x@example.org" is not a valid e-mail address.`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMailServer(t, c.options)
			settings := m.settings()
			if c.change != nil {
				c.change(m, settings)
			}
			if c.to == nil {
				c.to = []string{"anna@example.org"}
			}
			got := sendMail(t, settings, startedNotice(), c.to...)
			if got.Reason != c.want.Reason || got.Status != c.want.Status || (got.Status != 0) != (got.Answer != "") {
				t.Errorf("got %+v", got)
			}
			if len(m.letters()) != 0 {
				t.Error("an e-mail was accepted")
			}
		})
	}
}

func TestPermanentlyRefusedAddressDoesNotAffectTheOthers(t *testing.T) {
	m := newMailServer(t, mailOptions{})
	m.refuse["gone@example.org"] = &smtp.SMTPError{Code: 550, EnhancedCode: smtp.NoEnhancedCode, Message: "no such user"}
	attempt := sendMail(t, m.settings(), startedNotice(), "gone@example.org", "anna@example.org")
	if attempt.Reason != "" || attempt.Status != 250 || len(m.letters()) != 1 {
		t.Fatalf("got %+v", attempt)
	}
	if got, want := attempt.Answer[:46], "Refused for gone@example.org: 550 no such user"; got != want {
		t.Errorf("the answer is %q", attempt.Answer)
	}
}

func TestOnlyTemporarilyRefusedAddressesAreRetried(t *testing.T) {
	m := newMailServer(t, mailOptions{})
	m.refuse["bert@example.org"] = &smtp.SMTPError{Code: 450, EnhancedCode: smtp.NoEnhancedCode, Message: "busy"}
	m.refuse["gone@example.org"] = &smtp.SMTPError{Code: 550, EnhancedCode: smtp.NoEnhancedCode, Message: "no such user"}
	target := &notification.Target{Type: notification.Email, Emails: []string{"anna@example.org", "bert@example.org", "gone@example.org"}}
	d := notification.NewDelivery("org", 1, target, startedNotice(), 1000, 0)
	sender := newSender(notify.Sender{Mail: *m.settings()})
	for _, want := range []string{"Refused for gone@example.org: 550 no such user\nbusy", "busy"} {
		d.Begin(d.Due)
		attempt := sender.Send(t.Context(), target, &d, nil)
		if attempt.Answer != want {
			t.Errorf("the stored answer is %q, want %q", attempt.Answer, want)
		}
		if attempt.Status != 450 || attempt.Reason != "The mail server did not take the address bert@example.org (450)." {
			t.Fatalf("got %+v", attempt)
		}
		attempt.At = d.Due
		d.End(d.Until, attempt, 0)
	}
	delete(m.refuse, "bert@example.org")
	d.Begin(d.Due)
	d.End(d.Until, sender.Send(t.Context(), target, &d, nil), 0)
	var recipients [][]string
	for _, one := range m.letters() {
		recipients = append(recipients, one.to)
	}
	if want := [][]string{{"anna@example.org"}, {"bert@example.org"}}; !reflect.DeepEqual(recipients, want) || d.State != notification.Delivered || d.Left != nil {
		t.Errorf("told %v, %+v", recipients, d)
	}
}

func TestWithoutAMailServerMailFails(t *testing.T) {
	attempt := sendMail(t, &notify.MailServer{}, startedNotice(), "anna@example.org")
	if attempt.Reason != "No mail server is configured. An operator can name one with ATTESTRY_SMTP_HOST." {
		t.Errorf("got %+v", attempt)
	}
}

// listenAndHang starts a server that accepts connections and never answers.
func listenAndHang(t *testing.T, accepted func()) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	evidencetest.Must(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			accepted()
		}
	})
	t.Cleanup(func() {
		listener.Close()
		serving.Wait()
	})
	return listener.Addr().String()
}

func TestAttemptAtAHangingMailServerEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  error
		want string
	}{
		"when the process stops":     {context.Canceled, "The attempt was cancelled."},
		"when the time limit is hit": {context.DeadlineExceeded, "The mail server gave no complete answer within 10 s."},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := evidencetest.NewEnding(t.Context())
			server := notify.MailServer{SMTP: config.SMTP{
				Host: config.MailHost(listenAndHang(t, func() { ctx.End(c.end) })),
				From: "attestry@example.com", TLS: config.StartTLS,
			}}
			target := &notification.Target{Type: notification.Email, Emails: []string{"anna@example.org"}}
			got := newSender(notify.Sender{Mail: server}).Send(ctx, target, delivery(startedNotice()), nil)
			if got.Reason != c.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}
