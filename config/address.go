package config

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// off is the value that disables a listener.
const off = "off"

// Address is a host:port to listen on, "" for none. No host means all interfaces, port 0 any free port.
type Address string

// UnmarshalText reads an address, or "off".
func (a *Address) UnmarshalText(text []byte) error {
	if string(text) == off {
		*a = ""
		return nil
	}
	host, port, err := net.SplitHostPort(string(text))
	if err != nil || strings.ContainsAny(host, "/@ ") {
		return errors.New("is not of the form host:port")
	}
	if !isPort(port) {
		return errors.New("does not end in a port number")
	}
	*a = Address(text)
	return nil
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// URL returns the URL of the address for clients on the same machine.
func (a Address) URL() BaseURL {
	host, port, err := net.SplitHostPort(string(a))
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return BaseURL("http://" + net.JoinHostPort(host, port))
}

// BaseURL is the scheme and host of links, without a trailing slash.
type BaseURL string

// UnmarshalText reads a base address.
func (b *BaseURL) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Port() != "" && !isPort(u.Port()) {
		return errors.New("is not of the form http://host or https://host")
	}
	bare := url.URL{Scheme: u.Scheme, Host: u.Host}
	if strings.TrimSuffix(string(text), "/") != bare.String() {
		return errors.New("must be a scheme and a host and nothing else")
	}
	*b = BaseURL(bare.String())
	return nil
}
