package config

import (
	"errors"
	"net"
	"net/mail"
	"strconv"
	"strings"
)

// MailHost is the host:port of a mail server, "" for none. In loaded settings it has a port.
type MailHost string

// UnmarshalText reads a host with or without a port.
func (h *MailHost) UnmarshalText(text []byte) error {
	host, port, err := net.SplitHostPort(string(text))
	if err != nil {
		return h.readHost(strings.TrimSuffix(strings.TrimPrefix(string(text), "["), "]"))
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return errors.New("does not end in a port number")
	}
	if err := h.readHost(host); err != nil {
		return err
	}
	*h = h.withPort(port)
	return nil
}

func (h *MailHost) readHost(host string) error {
	name := !strings.Contains(host, ":") || net.ParseIP(host) != nil
	if host == "" || !name || strings.ContainsAny(host, "/@ []") {
		return errors.New("is not of the form host or host:port")
	}
	*h = MailHost(host)
	return nil
}

func (h MailHost) withPort(port string) MailHost {
	if _, _, err := net.SplitHostPort(string(h)); err == nil {
		return h
	}
	return MailHost(net.JoinHostPort(string(h), port))
}

// MailAddress is the address of a sender, with or without a name.
type MailAddress string

// UnmarshalText reads an address.
func (a *MailAddress) UnmarshalText(text []byte) error {
	if _, err := mail.ParseAddress(string(text)); err != nil {
		return errors.New("is not an address such as attestry@example.com")
	}
	*a = MailAddress(text)
	return nil
}

// MailTLS is how a connection to a mail server is encrypted.
type MailTLS string

// The ways of encryption.
const (
	StartTLS    MailTLS = "starttls"
	ImplicitTLS MailTLS = "tls"
	NoTLS       MailTLS = "none"
)

// UnmarshalText reads one of the ways.
func (m *MailTLS) UnmarshalText(text []byte) error {
	if *m = MailTLS(text); *m != StartTLS && *m != ImplicitTLS && *m != NoTLS {
		return errors.New("is not one of starttls, tls, none")
	}
	return nil
}

// mailPorts are the default ports.
var mailPorts = map[MailTLS]string{StartTLS: "587", ImplicitTLS: "465", NoTLS: "25"}

// completeSMTP adds the default port, and refuses to send a password unencrypted.
func (l *loader) completeSMTP(s *SMTP) {
	if s.Username != "" && s.TLS == NoTLS {
		l.fault(prefix+"SMTP_TLS", "must not be none with %sSMTP_USERNAME: the password could be read on its way", prefix)
	}
	if s.Host != "" {
		s.Host = s.Host.withPort(mailPorts[s.TLS])
	}
}
