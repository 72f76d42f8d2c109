package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"attestry/api/access"
	"attestry/api/jsonstream"
	"attestry/evidence"
	"attestry/links"
)

// batched is a list that is read in batches while it is answered.
type batched struct {
	batches int
	// size is the length of the only element of a batch, in bytes.
	size int
	// fail is called before each batch, unless it is nil.
	fail func(ctx context.Context, batch int) error
	read atomic.Int32
}

// BatchedPage is the answer of the operation.
type BatchedPage struct {
	Data jsonstream.List[string] `json:"data"`
	More jsonstream.Map[int]     `json:"more"`
}

type batchedAnswer struct {
	PageHeaders
	Body BatchedPage
}

func (b *batched) answer(context.Context, *orgInput) (*batchedAnswer, error) {
	return &batchedAnswer{PageHeaders: PageHeaders{TotalCount: 7}, Body: BatchedPage{
		Data: jsonstream.NewList(func(ctx context.Context) ([]string, bool, error) {
			n := int(b.read.Add(1))
			if b.fail != nil {
				if err := b.fail(ctx, n); err != nil {
					return nil, false, err
				}
			}
			return []string{strings.Repeat("<", b.size)}, n < b.batches, nil
		}),
		More: jsonstream.NewMap(func(yield func(string, int) bool) { yield("read", int(b.read.Load())) }),
	}}, nil
}

func (b *batched) want() string {
	return `{"data":[` + strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat("<", b.size)+`",`, b.batches), ",") +
		fmt.Sprintf(`],"more":{"read":%d}}`, b.batches)
}

func startBatched(t *testing.T, b *batched, change ...func(*Deps)) *testServer {
	return start(t, []Route{{Method: "GET", Path: "/lists/{org}", OperationID: "list", Tag: "Lists", Summary: "List",
		Rule: access.Rule{MinRole: evidence.Reader}, Serve: Handle(b.answer)}}, change...)
}

func TestSmallAnswersAreSentWithTheirLength(t *testing.T) {
	list := &batched{batches: 3, size: 100}
	s := startBatched(t, list)
	got := s.send(t, "GET", links.Prefix+"/lists/acme", "reader", "")
	if got.status != 200 || got.body != list.want() || got.header.Get("Content-Length") != strconv.Itoa(len(got.body)) {
		t.Errorf("got %d %s, %v", got.status, got.body, got.header)
	}
	if got.header.Get("Content-Type") != "application/json" || got.header.Get("X-Total-Count") != "7" {
		t.Errorf("headers are %v", got.header)
	}
	list.read.Store(0)
	head := s.send(t, "HEAD", links.Prefix+"/lists/acme", "reader", "")
	if head.status != 200 || head.header.Get("Content-Length") != strconv.Itoa(len(got.body)) || head.header.Get("X-Total-Count") != "7" {
		t.Errorf("HEAD: %d %v", head.status, head.header)
	}
}

func TestLargeAnswersAreStreamed(t *testing.T) {
	list := &batched{batches: 40, size: 10_000}
	s := startBatched(t, list)
	got := s.send(t, "GET", links.Prefix+"/lists/acme", "reader", "")
	if got.status != 200 || got.body != list.want() || got.header.Get("Content-Length") != "" {
		t.Errorf("got %d, %d bytes, %v", got.status, len(got.body), got.header)
	}
	if got.header.Get("Content-Type") != "application/json" || got.header.Get("X-Total-Count") != "7" {
		t.Errorf("headers are %v", got.header)
	}
	eventually(t, func() bool { return s.budget.InUse() == 0 })
	list.read.Store(0)
	head := s.send(t, "HEAD", links.Prefix+"/lists/acme", "reader", "")
	if head.status != 200 || head.header.Get("X-Total-Count") != "7" || list.read.Load() > 10 {
		t.Errorf("HEAD: %d %v, %d batches", head.status, head.header, list.read.Load())
	}
	if got := s.send(t, "HEAD", links.Prefix+"/things/acme/x", "reader", ""); got.status != 404 {
		t.Errorf("behind the HEAD comes %d", got.status)
	}
}

func TestClientsOfHTTP10GetLargeAnswersWithTheirLength(t *testing.T) {
	list := &batched{batches: 40, size: 10_000}
	startBatched(t, list).wantWhole(t, "/lists/acme", list.want())
}

// wantWhole reads an answer as a client that does not know chunks, which must get its length.
func (s *testServer) wantWhole(t *testing.T, path, want string) {
	t.Helper()
	conn, replies := s.dial(t)
	fmt.Fprintf(conn, "GET %s%s HTTP/1.0\r\nHost: x\r\nAuthorization: Bearer reader\r\n\r\n", links.Prefix, path)
	response, err := http.ReadResponse(replies, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != want || response.ContentLength != int64(len(want)) || response.TransferEncoding != nil {
		t.Errorf("%d bytes of %d, %v, %v", len(body), response.ContentLength, response.TransferEncoding, err)
	}
}

func TestListIsReadNoFasterThanItsClientReads(t *testing.T) {
	list := &batched{batches: 600, size: 100_000}
	s := startBatched(t, list)
	conn, replies := s.dial(t)
	fmt.Fprintf(conn, "GET %s/lists/acme HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer reader\r\n\r\n", links.Prefix)
	response, err := http.ReadResponse(replies, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The buffers of the connection hold what was sent and not yet read.
	const buffered = 20_000_000
	for received := 0; received < 30_000_000; {
		n, err := io.CopyN(io.Discard, response.Body, 1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		received += int(n)
		if made := int(list.read.Load()) * list.size; made > received+buffered {
			t.Fatalf("%d bytes were made for a client that has read %d", made, received)
		}
	}
	if s.budget.InUse() != StreamCost(s.batchBytes) {
		t.Errorf("%d are reserved for an answer on its way", s.budget.InUse())
	}
	conn.Close()
	eventually(t, func() bool { return s.budget.InUse() == 0 })
}

func TestFailureOfTheFirstBatchIsAnsweredAsAnError(t *testing.T) {
	list := &batched{batches: 100, size: 100_000, fail: func(context.Context, int) error {
		return evidence.NewError(evidence.NotFound, "gone")
	}}
	s := startBatched(t, list)
	s.send(t, "GET", links.Prefix+"/lists/acme", "reader", "").expect(t, 404, "gone")
	if got := s.send(t, "GET", links.Prefix+"/lists/acme", "reader", ""); got.header.Get("X-Total-Count") != "" {
		t.Errorf("an error has the headers of the list: %v", got.header)
	}
}

func TestLaterFailureAbortsTheAnswerAndIsLogged(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("disk on fire") },
		"panic": func() error { panic("disk on fire") },
	} {
		t.Run(name, func(t *testing.T) {
			s := startBatched(t, &batched{batches: 100, size: 10_000, fail: func(_ context.Context, n int) error {
				if n == 50 {
					return fail()
				}
				return nil
			}})
			request, err := http.NewRequestWithContext(t.Context(), "GET", s.url+links.Prefix+"/lists/acme", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer reader")
			request.Header.Set(requestIDHeader, "broken-answer")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if body, err := io.ReadAll(response.Body); err == nil {
				t.Errorf("%d bytes were taken for the whole", len(body))
			}
			eventually(t, func() bool { return s.budget.InUse() == 0 })
			if log := s.journal.String(); !strings.Contains(log, "answer broke off") || !strings.Contains(log, "disk on fire") || !strings.Contains(log, "broken-answer") {
				t.Errorf("logged %s", log)
			}
		})
	}
}

func TestHangingBatchAbortsTheAnswer(t *testing.T) {
	s := startBatched(t, &batched{batches: 100, size: 50_000, fail: func(ctx context.Context, n int) error {
		if n < 5 {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}}, func(d *Deps) { d.RequestTimeout = 100 * time.Millisecond })
	conn, replies := s.dial(t)
	fmt.Fprintf(conn, "GET %s/lists/acme HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer reader\r\n\r\n", links.Prefix)
	response, err := http.ReadResponse(replies, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("%d bytes were taken for the whole", len(body))
	}
}

func TestStreamedAnswerContinuesBeyondTheRequestTimeout(t *testing.T) {
	deadline := make(chan time.Time, 1)
	list := &batched{batches: 300, size: 50_000}
	list.fail = func(ctx context.Context, n int) error {
		if n == 1 {
			over, _ := ctx.Deadline()
			deadline <- over
		}
		return ctx.Err()
	}
	s := startBatched(t, list, func(d *Deps) { d.RequestTimeout = 500 * time.Millisecond })
	conn, replies := s.dial(t)
	fmt.Fprintf(conn, "GET %s/lists/acme HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer reader\r\n\r\n", links.Prefix)
	<-time.After(time.Until(<-deadline))
	response, err := http.ReadResponse(replies, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != list.want() {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}

func TestConnectionOfAClientThatDoesNotReadIsClosed(t *testing.T) {
	s := startBatched(t, &batched{batches: 1000, size: 100_000})
	s.pace = readRate{grace: 50 * time.Millisecond, bytesPerSecond: 1 << 30}
	conn, replies := s.dial(t)
	fmt.Fprintf(conn, "GET %s/lists/acme HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer reader\r\n\r\n", links.Prefix)
	if _, err := replies.Peek(1); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return s.budget.InUse() == 0 })
}
