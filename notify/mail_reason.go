package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"syscall"
)

var (
	errNoStartTLS = errors.New("the server does not offer STARTTLS")
	errNoLogin    = errors.New("the server offers no supported way to log in")
	errHandshake  = errors.New("the TLS handshake failed")
)

// mailFailure is the outcome of an e-mail that was not accepted. ctx is that of the attempt.
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

// mailReason words why there was no answer. When ctx ends, the connection is closed, which fails with an error of its own.
func mailReason(ctx context.Context, err error) string {
	var lookup *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return canceled
	case ctx.Err() != nil:
		return "The mail server gave no complete answer within 10 s."
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
