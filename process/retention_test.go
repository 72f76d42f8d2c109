package process

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"attestry/monitor"
)

// fakeBucket is an S3 server with one object, which it keeps from deletion if the bucket has object lock.
type fakeBucket struct {
	locked  bool
	content []byte
	until   string
}

func (b *fakeBucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	refuse := func(status int, code, message string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
	}
	switch {
	case query.Has("location"):
		fmt.Fprint(w, "<LocationConstraint></LocationConstraint>")
	case query.Has("versions"):
		fmt.Fprintf(w, "<ListVersionsResult><Version><Key>%s</Key><VersionId>1</VersionId></Version></ListVersionsResult>", query.Get("prefix"))
	case query.Has("retention") && !b.locked:
		refuse(http.StatusBadRequest, "InvalidRequest", "Bucket is missing ObjectLockConfiguration")
	case query.Has("retention"):
		b.until = "2999-01-01T00:00:00Z"
	case strings.Count(r.URL.Path, "/") < 3: // the bucket
	case r.Method == http.MethodPut:
		// A body that is signed in chunks: "<length>;chunk-signature=...", the content, and an end.
		body, _ := io.ReadAll(r.Body)
		_, rest, _ := strings.Cut(string(body), "\r\n")
		content, _, _ := strings.Cut(rest, "\r\n")
		b.content = []byte(content)
	case b.content == nil:
		refuse(http.StatusNotFound, "NoSuchKey", "")
	case r.Method == http.MethodDelete:
		refuse(http.StatusForbidden, "AccessDenied", "Access Denied")
	default:
		w.Header().Set("Last-Modified", "Tue, 01 Jan 2019 00:00:00 GMT")
		if b.until != "" {
			w.Header().Set("x-amz-object-lock-mode", "GOVERNANCE")
			w.Header().Set("x-amz-object-lock-retain-until-date", b.until)
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(b.content)))
	}
}

func TestProcessStartsOnlyOnABucketThatKeepsObjects(t *testing.T) {
	for locked, status := range map[bool]int{true: 0, false: 1} {
		server := httptest.NewServer(&fakeBucket{locked: locked})
		defer server.Close()
		tr := newTrial(t, "ATTESTRY_OBJECTS_URL=http://KEY:secret@"+server.Listener.Addr().String()+"/bucket", "ATTESTRY_RETENTION_DAYS=30")
		var state string
		tr.work = func(_ context.Context, p *Process) error {
			state = readiness(t, p)
			return nil
		}
		tr.expect(t, t.Context(), status)
		if locked != strings.HasPrefix(state, "objects are kept from deletion (governance mode): verified at ") {
			t.Errorf("object lock %t: the retention is %q", locked, state)
		}
		const fault = "api cannot start: test the retention of the object store: it does not keep objects from deletion: name a bucket that was created with object lock"
		if locked == strings.Contains(tr.errs.String(), fault) {
			t.Errorf("object lock %t: it says %s", locked, tr.errs)
		}
	}
}

func TestRetentionIsTestedWhileABackupIsMade(t *testing.T) {
	server := httptest.NewServer(&fakeBucket{locked: true})
	defer server.Close()
	tr := newTrial(t, "ATTESTRY_OBJECTS_URL=http://KEY:secret@"+server.Listener.Addr().String()+"/bucket", "ATTESTRY_RETENTION_DAYS=30")
	tr.work = func(ctx context.Context, p *Process) error {
		defer p.HoldDeletions()()
		return p.Store.Retention.Test(ctx)
	}
	tr.expect(t, t.Context(), 0)
}

func TestReadinessReportsThatRetentionIsOff(t *testing.T) {
	tr := newTrial(t)
	tr.work = func(_ context.Context, p *Process) error {
		if state := readiness(t, p); state != "off" {
			t.Errorf("the retention is %q", state)
		}
		return nil
	}
	tr.expect(t, t.Context(), 0)
}

// readiness returns the retention of the object store in /readyz.
func readiness(t *testing.T, p *Process) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	monitor.New(p.Metrics, p.Checks(), p.Clock).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/readyz", http.NoBody))
	var answer struct{ Dependencies []monitor.Dependency }
	if err := json.NewDecoder(recorder.Body).Decode(&answer); err != nil {
		t.Error(err)
	}
	var state string
	for _, dependency := range answer.Dependencies {
		state += dependency.Retention
	}
	return state
}
