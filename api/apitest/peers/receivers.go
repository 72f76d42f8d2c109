// Package peers has servers that the service calls in tests: receivers of notifications and identity providers.
package peers

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"
)

// Receivers are a webhook receiver, a chat service and a mail server on loopback. They record what they receive. The
// webhook receiver and the mail server have a certificate that the services of the tests trust.
type Receivers struct {
	Web, Chat *httptest.Server
	mail      string // address

	mu  sync.Mutex
	got map[string][]Received
}

// Received is a request, or an e-mail with its own header.
type Received struct {
	Header http.Header
	Body   []byte
}

// NewReceivers starts the receivers.
func NewReceivers(t *testing.T) *Receivers {
	t.Helper()
	r := &Receivers{got: map[string][]Received{}}
	handle := func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			t.Error(err)
		}
		r.add(request.URL.Path, Received{Header: request.Header, Body: body})
		io.WriteString(w, "ok")
	}
	r.Web, r.Chat = httptest.NewTLSServer(http.HandlerFunc(handle)), httptest.NewServer(http.HandlerFunc(handle))
	t.Cleanup(r.Web.Close)
	t.Cleanup(r.Chat.Close)
	server := smtp.NewServer(r)
	server.Domain, server.TLSConfig = "localhost", &tls.Config{Certificates: r.Web.TLS.Certificates}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.mail = listener.Addr().String()
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return r
}

// Settings returns the settings of a worker that uses the mail server.
func (r *Receivers) Settings() []string {
	return []string{"ATTESTRY_SMTP_HOST=" + r.mail, "ATTESTRY_SMTP_FROM=attestry@example.com"}
}

func (r *Receivers) add(address string, message Received) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got[address] = append(r.got[address], message)
}

// At returns what was received at a path or an e-mail address.
func (r *Receivers) At(address string) []Received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got[address]
}

// NewSession begins a session of the mail server.
func (r *Receivers) NewSession(*smtp.Conn) (smtp.Session, error) {
	return &mailSession{receivers: r}, nil
}

type mailSession struct {
	receivers *Receivers
	to        []string
}

func (s *mailSession) Mail(string, *smtp.MailOptions) error { return nil }

func (s *mailSession) Reset() { s.to = nil }

func (s *mailSession) Logout() error { return nil }

func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = append(s.to, to)
	return nil
}

func (s *mailSession) Data(r io.Reader) error {
	message, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(message.Body)
	if err != nil {
		return err
	}
	for _, to := range s.to {
		s.receivers.add(to, Received{Header: http.Header(message.Header), Body: body})
	}
	return nil
}

// Targets returns n targets of each type as JSON for an action, the paths of the webhooks, and the paths and e-mail
// addresses of the others.
func (r *Receivers) Targets(n int) (body string, webhooks, others []string) {
	var all []string
	for i := range n {
		webhooks = append(webhooks, fmt.Sprintf("/hook-%d", i))
		others = append(others, fmt.Sprintf("/chat-%d", i), fmt.Sprintf("team-%d@example.com", i))
		all = append(all,
			fmt.Sprintf(`{"type": "WEBHOOK", "webhook": "%s/hook-%d"}`, r.Web.URL, i),
			fmt.Sprintf(`{"type": "SLACK", "webhook": "%s/chat-%d"}`, r.Chat.URL, i),
			fmt.Sprintf(`{"type": "EMAIL", "emails": ["team-%d@example.com"]}`, i))
	}
	return "[" + strings.Join(all, ", ") + "]", webhooks, others
}
