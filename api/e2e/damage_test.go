package e2e_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/storage"
)

// damagedReads returns the number of reads that have found damaged content in a store.
func (s *service) damagedReads(store string) float64 {
	s.t.Helper()
	families, err := s.Process.Metrics.Gather()
	s.must(err)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "attestry_damaged_reads_total" && metric.GetLabel()[0].GetValue() == store {
				return metric.GetCounter().GetValue()
			}
		}
	}
	s.t.Fatal("the metric is missing")
	return 0
}

// requestRange sends a request as a reader, with a Range header unless that is empty.
func (s *service) requestRange(method, address, span string) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+"/api/v2"+address, nil)
	s.must(err)
	request.Header.Set("Authorization", "Bearer "+readerKey)
	if span != "" {
		request.Header.Set("Range", span)
	}
	return s.exchange(request)
}

func TestDamagedEvidenceIsNeverSent(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true})
	s.postAttestation(http.StatusCreated, "t", "generic", strings.Replace(genericData, "check", "sound", 1), attachment("a", "sound"))
	reads := 0.0
	for size, n := range map[string]int{"short": 1000, "long": 1 << 20} {
		for damage, change := range map[string]func(content []byte) []byte{
			"altered":   func(b []byte) []byte { b[n/2] ^= 1; return b },
			"truncated": func(b []byte) []byte { return b[:n-1] },
			"longer":    func(b []byte) []byte { return append(b, 'x') },
			"emptied":   func([]byte) []byte { return nil },
			"lost":      nil,
		} {
			t.Run(size+" and "+damage, func(t *testing.T) {
				s := s.in(t)
				name := size + "-" + damage
				// The name makes the content unique: equal contents share an object.
				content := name + strings.Repeat("x", n-len(name))
				s.postAttestation(http.StatusCreated, "t", "generic", strings.Replace(genericData, "check", name, 1), attachment("a", content))
				address := s.evidencePath("t", name)
				id := lookup(t, s.onlyAttestation("t", name), "attestation_id").(string)
				sum := digestOf(content)
				file := s.objectFile(sum)
				if change == nil {
					s.must(os.Remove(file))
				} else {
					s.must(os.WriteFile(file, change([]byte(content)), 0o600))
				}
				for _, span := range []string{"", "bytes=0-9", "bytes=-10"} {
					got := s.requestRange(http.MethodGet, address, span)
					message, _ := got.problem(t)
					if got.status != http.StatusBadGateway || !strings.Contains(message, id) || !strings.Contains(message, sum) {
						t.Errorf("range %q is answered %d %s", span, got.status, got.body)
					}
				}
				if got := s.requestRange(http.MethodHead, address, ""); got.status != http.StatusBadGateway {
					t.Errorf("HEAD is answered %d", got.status)
				}
				if reads += 4; s.damagedReads("object store") != reads {
					t.Errorf("%v damaged reads are counted, want %v", s.damagedReads("object store"), reads)
				}
				if !strings.Contains(s.log.String(), "SHA-256 "+sum) || !strings.Contains(s.log.String(), "attestation "+id) {
					t.Error("the log does not name the evidence")
				}
				if got := s.requestRange(http.MethodGet, s.evidencePath("t", "sound"), ""); got.status != http.StatusOK || string(got.body) != "sound" {
					t.Errorf("other evidence is answered %d %q", got.status, got.body)
				}
			})
		}
	}
}

func TestLostEmptyEvidenceIsNotSent(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.postAttestation(http.StatusCreated, "t", "generic", genericData, attachment("empty.txt", ""))
	s.must(os.Remove(s.objectFile(digestOf(""))))
	if got := s.requestRange(http.MethodGet, s.evidencePath("t", "check"), ""); got.status != http.StatusBadGateway {
		t.Errorf("answered %d %s", got.status, got.body)
	}
}

// objectFile returns the path of the file in which the embedded engine stores an object.
func (s *service) objectFile(sum string) string {
	s.t.Helper()
	return filepath.Join(s.Process.Settings.Stores.Objects.Path, storage.ObjectKey(s.orgID(), sum))
}

// alteringDocuments changes the body of each document that is read from a collection.
type alteringDocuments struct {
	storage.Documents
	collection string
	change     func(body []byte) []byte
}

func (a *alteringDocuments) Get(ctx context.Context, schema *storage.Schema, id string) (storage.Record, error) {
	record, err := a.Documents.Get(ctx, schema, id)
	if schema.Name == a.collection && err == nil {
		record.Body = a.change(record.Body)
	}
	return record, err
}

func (a *alteringDocuments) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	records, err := a.Documents.GetMany(ctx, schema, ids)
	if schema.Name == a.collection {
		for i := range records {
			records[i].Body = a.change(records[i].Body)
		}
	}
	return records, err
}

func TestAlteredSnapshotIsNotShown(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.createEnvironment("host", evidence.Server)
	s.want(http.StatusCreated, http.MethodPut, "/environments/"+s.org+"/host/report/server", serverReport("trusted"))
	s.settings.WithoutWorker = true
	s.settings.Wrap = func(docs storage.Documents) storage.Documents {
		return &alteringDocuments{Documents: docs, collection: "chunks", change: func(body []byte) []byte {
			return bytes.Replace(body, []byte("trusted"), []byte("altered"), 1)
		}}
	}
	s.restart(func() {}) // clears the caches
	got := s.want(http.StatusBadGateway, http.MethodGet, "/snapshots/"+s.org+"/host/-1", nil)
	if message, _ := got.problem(t); !strings.HasPrefix(message, "The stored document ") || !strings.HasSuffix(message, " of chunks is damaged") {
		t.Errorf("answered %s", got.body)
	}
	if s.damagedReads("database") != 1 {
		t.Error("the damaged read is not counted")
	}
}

// runOn starts a service on the embedded engines in a directory, calls f, and stops it.
func runOn(t *testing.T, data string, f func(s *service)) error {
	t.Helper()
	s, err := launch(t.Context(), options{data: data, withoutWorker: true})
	if err != nil {
		return err
	}
	s.t, s.org, s.public = t, "acme", "open"
	f(s)
	return s.Close()
}

// largestTable returns the path and the content of the largest table in a folder of Pebble.
func largestTable(t *testing.T, folder string) (path string, content []byte) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		file := filepath.Join(folder, entry.Name())
		if read, err := os.ReadFile(file); err == nil && filepath.Ext(file) == ".sst" && len(read) > len(content) {
			path, content = file, read
		}
	}
	return path, content
}

// TestAttestationInADamagedTableIsNotShown alters one of three large attestations in their table. The second has a
// block of its own, which nothing reads at the start.
func TestAttestationInADamagedTableIsNotShown(t *testing.T) {
	t.Parallel()
	skipOnRealEngines(t)
	data, source := t.TempDir(), rand.NewChaCha8([32]byte{1})
	sent := map[string][]byte{}
	var folder string
	err := runOn(t, data, func(s *service) {
		s.must(s.createOrganizations(t.Context()))
		folder = s.Process.Settings.Stores.Database.Path
		for _, name := range []string{"first", "second", "third"} {
			noise := make([]byte, 64<<10)
			_, _ = source.Read(noise)
			s.attestGeneric("t", name, true, fmt.Sprintf(`,"user_data":{"noise":%q}`, base64.StdEncoding.EncodeToString(noise)))
			address := s.trailPath("t") + "/" + name
			sent[address] = bytes.ReplaceAll(s.requestRange(http.MethodGet, address, "").body, []byte(s.URL), nil)
		}
	})
	// The second start moves the content of the write-ahead log into a table.
	if err := errors.Join(err, runOn(t, data, func(*service) {})); err != nil {
		t.Fatal(err)
	}
	path, content := largestTable(t, folder)
	content[len(content)/2] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := 0
	err = runOn(t, data, func(s *service) {
		for address, body := range sent {
			switch got := s.requestRange(http.MethodGet, address, ""); {
			case got.status == http.StatusBadGateway && strings.Contains(string(got.body), "damaged"):
				damaged++
			case got.status != http.StatusOK || !bytes.Equal(bytes.ReplaceAll(got.body, []byte(s.URL), nil), body):
				t.Errorf("answered %d %.200s", got.status, got.body)
			}
		}
	})
	if err != nil || damaged != 1 {
		t.Errorf("%d of the attestations are answered 502, want 1: %v", damaged, err)
	}
}
