package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"syscall"

	"attestry/outbound"
)

// canceled is the reason of attempts whose process is to stop.
const canceled = "The attempt was cancelled."

// notAllowed is the reason for a host that is not public and for one that cannot be looked up: which of
// the two it is would tell which names the network of the service knows.
const notAllowed = "The address is not allowed: its host is unknown or not public. An operator can allow networks with ATTESTRY_OUTBOUND_ALLOW."

// callReason words why a call got no answer.
func callReason(err error) string {
	var lookup *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.Canceled):
		return canceled
	case outbound.Prohibited(err), errors.As(err, &lookup):
		return notAllowed
	case timedOut(err):
		return "There was no complete answer within 10 s."
	case errors.Is(err, syscall.ECONNREFUSED):
		return "The connection was refused."
	case unreachable(err):
		return "The host cannot be reached."
	case errors.As(err, &certificate):
		return "The certificate of the server is not trusted."
	case encryptionFailed(err):
		return "No encrypted connection could be made."
	}
	return "There was no valid answer."
}

// statusReason is "" for an answer that means success.
func statusReason(status int) string {
	switch {
	case status >= 200 && status <= 299:
		return ""
	case slices.Contains(redirects, status):
		return fmt.Sprintf("The answer is a redirect (%d), which is not followed.", status)
	}
	return fmt.Sprintf("The answer has status %d.", status)
}

var redirects = []int{
	http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
}

func timedOut(err error) bool {
	var failed net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &failed) && failed.Timeout()
}

func unreachable(err error) bool {
	return errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH)
}

// encryptionFailed reports whether the server speaks no TLS, or none that fits.
func encryptionFailed(err error) bool {
	var alert tls.AlertError
	var record tls.RecordHeaderError
	return errors.As(err, &alert) || errors.As(err, &record) || errors.Is(err, http.ErrSchemeMismatch)
}
