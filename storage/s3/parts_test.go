package s3

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// partsServer is an S3 server that records the sizes of uploads by part number, "" for an object sent in one request.
type partsServer struct {
	mu        sync.Mutex
	received  map[string]int64
	completed int
}

func (p *partsServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	query := r.URL.Query()
	switch {
	case query.Has("location"):
		fmt.Fprint(w, "<LocationConstraint></LocationConstraint>")
	case r.Method == http.MethodPost && query.Has("uploads"):
		fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>upload</UploadId></InitiateMultipartUploadResult>")
	case r.Method == http.MethodPost:
		var completed struct{ Part []struct{ PartNumber int } }
		_ = xml.NewDecoder(r.Body).Decode(&completed)
		p.completed = len(completed.Part)
		fmt.Fprint(w, "<CompleteMultipartUploadResult><Bucket>bucket</Bucket><Key>key</Key><ETag>etag</ETag></CompleteMultipartUploadResult>")
	case r.Method == http.MethodPut:
		_, _ = io.Copy(io.Discard, r.Body)
		var size int64
		_, _ = fmt.Sscan(r.Header.Get("X-Amz-Decoded-Content-Length"), &size)
		if size == 0 {
			size = r.ContentLength
		}
		p.received[query.Get("partNumber")] = size
		w.Header().Set("ETag", "etag")
	}
}

func TestObjectTooLargeForOneRequestIsSentInParts(t *testing.T) {
	const limit = 20 << 20
	for _, test := range []struct {
		size      int64
		completed int
		parts     map[string]int64
	}{
		{limit, 0, map[string]int64{"": limit}},
		{limit + 1, 2, map[string]int64{"1": 16 << 20, "2": limit + 1 - 16<<20}},
	} {
		fake := &partsServer{received: map[string]int64{}}
		server := httptest.NewServer(fake)
		defer server.Close()
		store, err := Open(t.Context(), Options{
			Endpoint: server.Listener.Addr().String(), Bucket: "bucket", AccessKey: "access", SecretKey: "secret",
		})
		if err != nil {
			t.Fatal(err)
		}
		if store.maxSinglePut != 5<<30 {
			t.Errorf("one request sends up to %d bytes", store.maxSinglePut)
		}
		store.maxSinglePut = limit
		object, err := store.Put(t.Context(), "org", strings.NewReader(strings.Repeat("x", int(test.size))), -1)
		if err != nil || object.Size != test.size {
			t.Fatalf("Put of %d bytes: %+v, %v", test.size, object, err)
		}
		if fmt.Sprint(fake.received) != fmt.Sprint(test.parts) || fake.completed != test.completed {
			t.Errorf("of %d bytes the server got %v in %d parts", test.size, fake.received, fake.completed)
		}
	}
}
