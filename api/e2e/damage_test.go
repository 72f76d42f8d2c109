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

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/storage"
)

// damagedReads returns the number of reads that have found damaged content in a store.
func damagedReads(s *apitest.Service, store string) float64 {
	s.T.Helper()
	families, err := s.Process.Metrics.Gather()
	s.Must(err)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "attestry_damaged_reads_total" && metric.GetLabel()[0].GetValue() == store {
				return metric.GetCounter().GetValue()
			}
		}
	}
	s.T.Fatal("the metric is missing")
	return 0
}

// requestRange sends a request as a reader, with a Range header unless that is empty.
func requestRange(s *apitest.Service, method, address, span string) apitest.Answer {
	s.T.Helper()
	request, err := http.NewRequestWithContext(s.T.Context(), method, s.URL+"/api/v2"+address, nil)
	s.Must(err)
	request.Header.Set("Authorization", "Bearer "+apitest.ReaderKey)
	if span != "" {
		request.Header.Set("Range", span)
	}
	return s.Exchange(request)
}

func TestDamagedEvidenceIsNeverSent(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true})
	s.PostAttestation(http.StatusCreated, "t", "generic", strings.Replace(apitest.GenericData, "check", "sound", 1), apitest.Attachment("a", "sound"))
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
				s := s.In(t)
				name := size + "-" + damage
				// The name makes the content unique: equal contents share an object.
				content := name + strings.Repeat("x", n-len(name))
				s.PostAttestation(http.StatusCreated, "t", "generic", strings.Replace(apitest.GenericData, "check", name, 1), apitest.Attachment("a", content))
				address := s.EvidencePath("t", name)
				id := apitest.Lookup(t, s.OnlyAttestation("t", name), "attestation_id").(string)
				sum := apitest.DigestOf(content)
				file := objectFile(s, sum)
				if change == nil {
					s.Must(os.Remove(file))
				} else {
					s.Must(os.WriteFile(file, change([]byte(content)), 0o600))
				}
				for _, span := range []string{"", "bytes=0-9", "bytes=-10"} {
					got := requestRange(s, http.MethodGet, address, span)
					message, _ := got.Problem(t)
					if got.Status != http.StatusBadGateway || !strings.Contains(message, id) || !strings.Contains(message, sum) {
						t.Errorf("range %q is answered %d %s", span, got.Status, got.Body)
					}
				}
				apitest.Equal(t, requestRange(s, http.MethodHead, address, "").Status, http.StatusBadGateway, "HEAD is answered")
				if reads += 4; damagedReads(s, "object store") != reads {
					t.Errorf("%v damaged reads are counted, want %v", damagedReads(s, "object store"), reads)
				}
				if !strings.Contains(s.Log.String(), "SHA-256 "+sum) || !strings.Contains(s.Log.String(), "attestation "+id) {
					t.Error("the log does not name the evidence")
				}
				if got := requestRange(s, http.MethodGet, s.EvidencePath("t", "sound"), ""); got.Status != http.StatusOK || string(got.Body) != "sound" {
					t.Errorf("other evidence is answered %d %q", got.Status, got.Body)
				}
			})
		}
	}
}

func TestLostEmptyEvidenceIsNotSent(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.PostAttestation(http.StatusCreated, "t", "generic", apitest.GenericData, apitest.Attachment("empty.txt", ""))
	s.Must(os.Remove(objectFile(s, apitest.DigestOf(""))))
	apitest.WantAnswer(t, requestRange(s, http.MethodGet, s.EvidencePath("t", "check"), ""), http.StatusBadGateway)
}

// objectFile returns the path of the file in which the embedded engine stores an object.
func objectFile(s *apitest.Service, sum string) string {
	s.T.Helper()
	return filepath.Join(s.Process.Settings.Stores.Objects.Path, storage.ObjectKey(s.OrgID(), sum))
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
	s := apitest.Start(t, apitest.Options{})
	s.CreateEnvironment("host", evidence.Server)
	s.Want(http.StatusCreated, http.MethodPut, "/environments/"+s.Org+"/host/report/server", apitest.ServerReport("trusted"))
	s.Settings.WithoutWorker = true
	s.Settings.Wrap = func(docs storage.Documents) storage.Documents {
		return &alteringDocuments{Documents: docs, collection: "chunks", change: func(body []byte) []byte {
			return bytes.Replace(body, []byte("trusted"), []byte("altered"), 1)
		}}
	}
	s.Restart(func() {}) // clears the caches
	got := s.Want(http.StatusBadGateway, http.MethodGet, "/snapshots/"+s.Org+"/host/-1", nil)
	if message, _ := got.Problem(t); !strings.HasPrefix(message, "The stored document ") || !strings.HasSuffix(message, " of chunks is damaged") {
		t.Errorf("answered %s", got.Body)
	}
	apitest.Equal(t, damagedReads(s, "database"), 1, "the damaged read is not counted")
}

// runOn starts a service on the embedded engines in a directory, calls f, and stops it.
func runOn(t *testing.T, data string, f func(s *apitest.Service)) error {
	t.Helper()
	s, err := apitest.Launch(t.Context(), apitest.Options{Data: data, WithoutWorker: true})
	if err != nil {
		return err
	}
	s.T, s.Org, s.Public = t, "acme", "open"
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
	apitest.SkipOnRealEngines(t)
	data, source := t.TempDir(), rand.NewChaCha8([32]byte{1})
	sent := map[string][]byte{}
	var folder string
	err := runOn(t, data, func(s *apitest.Service) {
		s.Must(s.CreateOrganizations(t.Context()))
		folder = s.Process.Settings.Stores.Database.Path
		for _, name := range []string{"first", "second", "third"} {
			noise := make([]byte, 64<<10)
			_, _ = source.Read(noise)
			s.AttestGeneric("t", name, true, fmt.Sprintf(`,"user_data":{"noise":%q}`, base64.StdEncoding.EncodeToString(noise)))
			address := s.TrailPath("t") + "/" + name
			sent[address] = bytes.ReplaceAll(requestRange(s, http.MethodGet, address, "").Body, []byte(s.URL), nil)
		}
	})
	// The second start moves the content of the write-ahead log into a table.
	if err := errors.Join(err, runOn(t, data, func(*apitest.Service) {})); err != nil {
		t.Fatal(err)
	}
	path, content := largestTable(t, folder)
	content[len(content)/2] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := 0
	err = runOn(t, data, func(s *apitest.Service) {
		for address, body := range sent {
			switch got := requestRange(s, http.MethodGet, address, ""); {
			case got.Status == http.StatusBadGateway && strings.Contains(string(got.Body), "damaged"):
				damaged++
			case got.Status != http.StatusOK || !bytes.Equal(bytes.ReplaceAll(got.Body, []byte(s.URL), nil), body):
				t.Errorf("answered %d %.200s", got.Status, got.Body)
			}
		}
	})
	if err != nil || damaged != 1 {
		t.Errorf("%d of the attestations are answered 502, want 1: %v", damaged, err)
	}
}
