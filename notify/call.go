package notify

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

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
	response, err := s.HTTP.Do(request)
	if err != nil {
		return outcome{reason: callReason(err), err: withoutURL(err)}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, notification.MaxAnswer))
	result := outcome{status: response.StatusCode, answer: string(answer), reason: statusReason(response.StatusCode), err: err}
	if result.reason != "" {
		result.retryAfter = retryAfter(response.Header.Get("Retry-After"), s.Clock())
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

// retryAfter is how long a receiver asks not to be called, by its Retry-After header, or 0.
func retryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	seconds, err := strconv.ParseUint(header, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(notification.MaxRetryAfter/time.Second))) * time.Second
	}
	date, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return min(max(0, date.Sub(now)), notification.MaxRetryAfter)
}
