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

// userAgent is the User-Agent of calls and e-mails.
const userAgent = "Attestry"

// post sends a JSON body. A status of 200 to 299 is a success, even if the body of the response does not arrive.
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

// withoutURL removes the URL from an error, because it may contain a secret.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// retryAfter parses a Retry-After header, up to notification.MaxRetryAfter. It returns 0 for an invalid one.
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
