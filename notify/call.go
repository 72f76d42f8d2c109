package notify

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"attestry/evidence/notification"
)

// userAgent names the service to receivers, in e-mails too.
const userAgent = "Attestry"

// post sends a body in JSON. It takes a status of 200 to 299 for success, even if the rest of the answer does not arrive.
func (s *Sender) post(ctx context.Context, address string, body []byte, header http.Header) outcome {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil || !callable(request.URL) {
		return outcome{reason: "The address of the target is not a valid HTTP address.", err: withoutURL(err)}
	}
	request.Header = header
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", userAgent)
	response, err := s.http.Do(request)
	if err != nil {
		return outcome{reason: callReason(err), err: withoutURL(err)}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, notification.MaxAnswer))
	result := outcome{status: response.StatusCode, answer: string(answer), reason: statusReason(response.StatusCode), err: err}
	if result.reason != "" {
		result.retryAfter = retryAfter(response.Header.Get("Retry-After"), s.clock())
	}
	return result
}

func callable(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// withoutURL removes the address from an error: it may contain a secret.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
