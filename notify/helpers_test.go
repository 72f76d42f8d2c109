package notify_test

import (
	"context"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"attestry/evidence/notification"
	"attestry/notify"
	"attestry/outbound"
)

// noon is the time of all attempts.
var noon = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

func secretOf(key string) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(key))
}

// loopback returns the networks of the receivers.
func loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

func newSender(options notify.Sender) *notify.Sender {
	if options.HTTP == nil {
		options.HTTP = outbound.NewClient(outbound.Options{Allowed: loopback()})
	}
	if options.Clock == nil {
		options.Clock = func() time.Time { return noon }
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	return &options
}

// received is a request to a receiver.
type received struct {
	method, path string
	header       http.Header
	body         []byte
}

// receiver is a server that records its requests.
type receiver struct {
	*httptest.Server
	mutex sync.Mutex
	got   []received
}

func newReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		r.mutex.Lock()
		r.got = append(r.got, received{request.Method, request.URL.String(), request.Header, body})
		r.mutex.Unlock()
		answer(w, request)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) requests() []received {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.got
}

func ok(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }

// delivery returns a delivery of a notice.
func delivery(notice notification.Notice) *notification.Delivery {
	return &notification.Delivery{ID: "01a2065d-a95e-7bb6-ada6-3d6ffc17.3.0123456789abcdef", CreatedAt: notice.Timestamp, Notice: notice}
}

// call sends a notice to a webhook.
func call(t *testing.T, sender *notify.Sender, address string) notification.Attempt {
	t.Helper()
	target := &notification.Target{Type: notification.Webhook, Webhook: address}
	return sender.Send(context.Background(), target, delivery(startedNotice()), []string{secretOf("0123456789abcdef0123456789abcdef")})
}

func startedNotice() notification.Notice {
	return notification.Notice{
		ID: "01a2065d-a95e-7bb6-ada6-3d6ffc17", EventType: notification.EventArtifactStarted, Org: "acme",
		Timestamp: 1795435153.807253, Action: "tell the team",
		Description: "1 instance started running (from 0 to 1)",
		Environment: "production",
		Snapshot: &notification.NoticeSnapshot{
			Index: 12, Status: "non-compliant",
			HTMLURL: "https://attestry.example.com/acme/environments/production/snapshots/12",
			APIURL:  "https://attestry.example.com/api/v2/snapshots/acme/production/12",
		},
		Artifact: &notification.NoticeArtifact{
			Name: "nginx:1.25", Fingerprint: strings.Repeat("ab12", 16),
			Provenance: &notification.NoticeProvenance{
				Flow: "shop", Status: "non-compliant", Commit: "9e107d9d372bb6826bd81d3542a419d6f0e1de56",
				CommitURL: "https://git.example.com/acme/shop/commit/9e107d9d372bb6826bd81d3542a419d6f0e1de56",
				HTMLURL:   "https://attestry.example.com/acme/flows/shop/artifacts/ab12",
				APIURL:    "https://attestry.example.com/api/v2/artifacts/acme/shop/fingerprint/ab12",
				BuildURL:  "https://ci.example.com/builds/77",
			},
		},
		Details: []string{
			`The attestation "unit-tests" of the trail "9e107d9" is not compliant.`,
			`The policy "production" demands an attestation of the type "snyk", which is missing.`,
		},
		Link: "https://attestry.example.com/acme/environments/production/snapshots/12",
	}
}

func trailNotice(eventType string) notification.Notice {
	return notification.Notice{
		ID: "01a2065d-a95e-7bb6-ada6-3d6ffc18", EventType: eventType, Org: "acme",
		Timestamp: 1795435153, Action: "tell the team", Flow: "shop",
		Trail: &notification.NoticeTrail{
			Name: "9e107d9", Status: "incomplete", HTMLURL: "https://attestry.example.com/acme/flows/shop/trails/9e107d9",
			APIURL: "https://attestry.example.com/api/v2/trails/acme/shop/9e107d9",
		},
		Link: "https://attestry.example.com/acme/flows/shop/trails/9e107d9",
	}
}

// exampleNotices returns a notice of each type of event, and a few more.
func exampleNotices() []notification.Notice {
	started := startedNotice()

	exited := startedNotice()
	exited.EventType, exited.Description = notification.EventArtifactExited, "1 instance stopped running (from 1 to 0)"
	exited.Snapshot.Status, exited.Details = "compliant", nil

	unknown := startedNotice()
	unknown.Artifact.Provenance = nil
	unknown.Details = []string{"No flow has reported this artifact."}

	scaled := startedNotice()
	scaled.EventType, scaled.Description, scaled.Details = notification.EventArtifactScaled, "scaled to 3 instances (from 1 to 3)", nil

	allowed := startedNotice()
	allowed.EventType, allowed.Description, allowed.Details = notification.EventArtifactAllowed, "The artifact was allowed by anna: hotfix 7", nil

	nonCompliant := startedNotice()
	nonCompliant.EventType, nonCompliant.Description, nonCompliant.Artifact = notification.EventNonCompliant, "The environment production is not compliant any more", nil
	nonCompliant.Details = []string{"nginx:1.25 is not compliant.", "redis:7 has no provenance."}

	compliant := startedNotice()
	compliant.EventType, compliant.Description, compliant.Artifact = notification.EventCompliant, "The environment production is compliant", nil
	compliant.Snapshot.Status, compliant.Details = "compliant", nil

	many := startedNotice()
	many.Description, many.Artifact = "7 artifacts started running", nil
	many.Details = []string{"nginx:1.25", "redis:7", "shop:1", "shop-worker:1", "mail:2", "search:3", "proxy:4"}

	trail := trailNotice(notification.EventTrailStarted)
	trail.Description = "The trail 9e107d9 was started"

	reported := trailNotice(notification.EventArtifactReported)
	reported.Description, reported.Artifact = "The artifact nginx:1.25 was reported", startedNotice().Artifact

	attested := trailNotice(notification.EventAttestation)
	attested.Description = "The attestation unit-tests was reported"
	attested.Attestation = &notification.NoticeAttestation{
		ID: "01a2065d-a95e-7bb6-ada6-3d6ffc19", Name: "unit-tests", Type: "junit", Status: "non-compliant",
		HTMLURL: "https://attestry.example.com/acme/flows/shop/trails/9e107d9?attestation=01a2065d",
		APIURL:  "https://attestry.example.com/api/v2/attestations/acme/01a2065d",
	}
	attested.Details = []string{"3 of 120 tests failed."}

	approved := trailNotice(notification.EventApproval)
	approved.Description, approved.Artifact = "The artifact nginx:1.25 was approved by anna", startedNotice().Artifact
	approved.Approval = &notification.NoticeApproval{Number: 3, State: "APPROVED", Reviewer: "anna", Fingerprint: strings.Repeat("ab12", 16)}

	test := notification.Notice{
		ID: "01a2065d-a95e-7bb6-ada6-3d6ffc20", EventType: notification.EventTest, Org: "acme", Timestamp: 1795435153,
		Action: "tell the team", Description: "This is a test of the action", Link: "https://attestry.example.com/acme/actions/3",
	}
	return []notification.Notice{
		started, exited, unknown, scaled, allowed, nonCompliant, compliant, many, trail, reported, attested, approved, test,
	}
}
