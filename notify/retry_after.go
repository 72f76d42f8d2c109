package notify

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"attestry/evidence/notification"
)

// retryAfter is how long a receiver asks not to be called, by its Retry-After header, or 0.
func retryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if header != "" && strings.Trim(header, "0123456789") == "" {
		seconds, err := strconv.ParseInt(header, 10, 64)
		if err != nil || seconds > int64(notification.MaxRetryAfter/time.Second) {
			return notification.MaxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	date, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return min(max(0, date.Sub(now)), notification.MaxRetryAfter)
}
