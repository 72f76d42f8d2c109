// Package outboundtest has a DNS server for tests of outbound calls.
package outboundtest

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Name is an entry of the zone.
type Name struct {
	// Addresses has one element for each answer. The last one repeats.
	Addresses [][]string
	// Alias is another name, whose addresses the answer includes.
	Alias string
}

// Always is a name that always has the same addresses.
func Always(addresses ...string) Name { return Name{Addresses: [][]string{addresses}} }

// NewResolver starts a DNS server for a zone on loopback, and returns a resolver that uses it.
func NewResolver(t *testing.T, zone map[string]Name) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &server{zone: zone, counts: map[question]int{}}
	var serving sync.WaitGroup
	serving.Go(func() { server.serve(conn) })
	t.Cleanup(func() {
		conn.Close()
		serving.Wait()
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

type question struct {
	name string
	kind dnsmessage.Type
}

// server answers one question after the other. counts has the number of earlier questions.
type server struct {
	zone   map[string]Name
	counts map[question]int
}

func (s *server) serve(conn net.PacketConn) {
	buffer := make([]byte, 4096)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		var query dnsmessage.Message
		if query.Unpack(buffer[:n]) != nil || len(query.Questions) != 1 {
			continue
		}
		if answer, err := s.answer(query); err == nil {
			_, _ = conn.WriteTo(answer, from)
		}
	}
}

func (s *server) answer(query dnsmessage.Message) ([]byte, error) {
	first := query.Questions[0]
	answer := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: query.ID, Response: true, Authoritative: true, RecursionAvailable: true},
		Questions: query.Questions,
	}
	name := first.Name
	known, ok := s.zone[strings.TrimSuffix(name.String(), ".")]
	if !ok {
		answer.RCode = dnsmessage.RCodeNameError
	}
	for known.Alias != "" {
		alias := dnsmessage.MustNewName(known.Alias + ".")
		answer.Answers = append(answer.Answers, resource(name, &dnsmessage.CNAMEResource{CNAME: alias}))
		name, known = alias, s.zone[known.Alias]
	}
	for _, address := range s.next(name.String(), first.Type, known) {
		addr := netip.MustParseAddr(address)
		if addr.Is4() && first.Type == dnsmessage.TypeA {
			answer.Answers = append(answer.Answers, resource(name, &dnsmessage.AResource{A: addr.As4()}))
		}
		if addr.Is6() && first.Type == dnsmessage.TypeAAAA {
			answer.Answers = append(answer.Answers, resource(name, &dnsmessage.AAAAResource{AAAA: addr.As16()}))
		}
	}
	return answer.Pack()
}

// next returns the addresses of the next answer.
func (s *server) next(name string, kind dnsmessage.Type, known Name) []string {
	if len(known.Addresses) == 0 {
		return nil
	}
	turn := question{name, kind}
	i := min(s.counts[turn], len(known.Addresses)-1)
	s.counts[turn]++
	return known.Addresses[i]
}

func resource(name dnsmessage.Name, body dnsmessage.ResourceBody) dnsmessage.Resource {
	return dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET}, Body: body}
}
