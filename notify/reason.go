package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"syscall"

	"attestry/outbound"
)

// canceled is the reason of attempts that end because the process stops.
const canceled = "The attempt was cancelled."

// notAllowed is the reason for a host that is not public and for one that cannot be resolved. Different reasons would
// reveal which names exist in the network of the service.
const notAllowed = "The address is not allowed: its host is unknown or not public. An operator can allow networks with ATTESTRY_OUTBOUND_ALLOW."

// callReason returns the reason why a call got no response.
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

// statusReason returns the reason why a status is a failure, "" for a success.
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

// encryptionFailed reports whether the server has no TLS, or no compatible TLS.
func encryptionFailed(err error) bool {
	var alert tls.AlertError
	var record tls.RecordHeaderError
	return errors.As(err, &alert) || errors.As(err, &record) || errors.Is(err, http.ErrSchemeMismatch)
}

var (
	errNoStartTLS = errors.New("the server does not offer STARTTLS")
	errNoLogin    = errors.New("the server offers no supported way to log in")
	errHandshake  = errors.New("the TLS handshake failed")
)

// mailFailure returns the outcome of an e-mail that was not accepted. ctx is the context of the attempt.
func mailFailure(ctx context.Context, err error) outcome {
	var refused *refusal
	var answer *textproto.Error
	if errors.As(err, &refused) && errors.As(err, &answer) {
		return outcome{
			status: answer.Code, answer: answer.Msg, reason: fmt.Sprintf("%s (%d).", refused.step, answer.Code), err: err,
		}
	}
	return outcome{reason: mailReason(ctx, err), err: err}
}

// mailReason returns the reason why there was no reply. It checks ctx first: when ctx ends, the connection is closed
// and err is only the error of that.
func mailReason(ctx context.Context, err error) string {
	var lookup *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return canceled
	case ctx.Err() != nil:
		return fmt.Sprintf("The mail server gave no complete answer within %.0f s.", mailTimeLimit.Seconds())
	case errors.As(err, &lookup):
		return "The mail server does not exist or could not be looked up."
	case errors.Is(err, syscall.ECONNREFUSED):
		return "The mail server refused the connection."
	case timedOut(err), unreachable(err):
		return "The mail server cannot be reached."
	case errors.As(err, &certificate):
		return "The certificate of the mail server is not trusted."
	case errors.Is(err, errNoStartTLS):
		return "The mail server does not offer STARTTLS, so nothing is sent. An operator can change that with ATTESTRY_SMTP_TLS."
	case errors.Is(err, errNoLogin):
		return "The mail server offers no way to log in that is supported."
	case errors.Is(err, errHandshake), encryptionFailed(err):
		return "No encrypted connection to the mail server could be made."
	}
	return "The mail server ended the connection."
}
