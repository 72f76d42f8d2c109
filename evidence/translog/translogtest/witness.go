package translogtest

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"attestry/evidence/translog"
)

// Witness is a witness for tests. It implements C2SP tlog-witness and tlog-cosignature strictly.
type Witness struct {
	// URL is its address, and Key its public key, name+hash+key.
	URL, Key string
	// Intercept may be nil. If it returns true, it has answered the request instead of the witness.
	Intercept func(w http.ResponseWriter, r *http.Request) bool

	name     string
	hash     [4]byte
	private  ed25519.PrivateKey
	server   *httptest.Server
	mu       sync.Mutex
	trusted  map[string][]string // origin → verifier keys
	known    map[string]translog.Checkpoint
	requests int
}

// NewWitness starts a witness.
func NewWitness(t *testing.T, name string) *Witness {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encoded := append([]byte{4}, public...)
	sum := sha256.Sum256([]byte(name + "\n" + string(encoded)))
	w := &Witness{
		name: name, hash: [4]byte(sum[:4]), private: private, trusted: map[string][]string{}, known: map[string]translog.Checkpoint{},
		Key: fmt.Sprintf("%s+%x+%s", name, sum[:4], base64.StdEncoding.EncodeToString(encoded)),
	}
	w.server = httptest.NewServer(http.HandlerFunc(w.serve))
	w.URL = w.server.URL
	t.Cleanup(w.server.Close)
	return w
}

// Setting returns the witness in the form of ATTESTRY_LOG_WITNESSES.
func (w *Witness) Setting() string { return w.URL + "/=" + w.Key }

// Stop stops the witness.
func (w *Witness) Stop() { w.server.Close() }

// Trust makes the witness cosign checkpoints of an origin that one of the keys has signed.
func (w *Witness) Trust(origin string, verifiers ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trusted[origin] = verifiers
}

// Known returns the last cosigned checkpoint of an origin.
func (w *Witness) Known(origin string) translog.Checkpoint {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known[origin]
}

// Learn sets the last cosigned checkpoint of its origin.
func (w *Witness) Learn(checkpoint translog.Checkpoint) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known[checkpoint.Origin] = checkpoint
}

// Asked returns the number of requests.
func (w *Witness) Asked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests
}

func (w *Witness) serve(answer http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.requests++
	w.mu.Unlock()
	if w.Intercept != nil && w.Intercept(answer, r) {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/add-checkpoint" {
		http.Error(answer, "it is no add-checkpoint", http.StatusBadRequest)
		return
	}
	w.add(answer, string(body))
}

func (w *Witness) add(answer http.ResponseWriter, body string) {
	head, signed, found := strings.Cut(body, "\n\n")
	lines := strings.Split(head, "\n")
	var old int64
	if _, err := fmt.Sscanf(lines[0], "old %d", &old); err != nil || !found || lines[0] != fmt.Sprintf("old %d", old) {
		http.Error(answer, "the body has another form", http.StatusBadRequest)
		return
	}
	var proof tlog.TreeProof
	for _, line := range lines[1:] {
		hash, err := base64.StdEncoding.Strict().DecodeString(line)
		if err != nil || len(hash) != tlog.HashSize {
			http.Error(answer, "a line is no hash", http.StatusBadRequest)
			return
		}
		proof = append(proof, tlog.Hash(hash))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	status, text := w.judge(old, proof, signed)
	if status == http.StatusConflict && text != "" {
		answer.Header().Set("Content-Type", "text/x.tlog.size")
	}
	answer.WriteHeader(status)
	_, _ = io.WriteString(answer, text)
}

// judge returns the status and the body of the answer.
func (w *Witness) judge(old int64, proof tlog.TreeProof, signed string) (int, string) {
	origin, _, _ := strings.Cut(signed, "\n")
	verifiers, trusted := w.trusted[origin]
	if !trusted {
		return http.StatusNotFound, "the log is unknown"
	}
	next, err := OpenCheckpoint(signed, verifiers...)
	if err != nil {
		return http.StatusForbidden, err.Error()
	}
	if old > next.Size {
		return http.StatusBadRequest, "the old size is larger"
	}
	known := w.known[origin]
	if known.Size != old {
		return http.StatusConflict, fmt.Sprintf("%d\n", known.Size)
	}
	if known.Size == next.Size && known.Root != next.Root {
		return http.StatusConflict, ""
	}
	if err := consistent(known, next, proof); err != nil {
		return http.StatusUnprocessableEntity, err.Error()
	}
	w.known[origin] = next
	text, _, _ := strings.Cut(signed, "\n\n")
	return http.StatusOK, w.Cosign(text+"\n", time.Now())
}

func consistent(known, next translog.Checkpoint, proof tlog.TreeProof) error {
	switch known.Size {
	case 0, next.Size:
		if len(proof) > 0 {
			return fmt.Errorf("the proof has %d hashes", len(proof))
		}
		return nil
	}
	return tlog.CheckTree(proof, next.Size, next.Root, known.Size, known.Root)
}

// Cosign returns the line of a signature over the text of a checkpoint.
func (w *Witness) Cosign(text string, at time.Time) string {
	signature := binary.BigEndian.AppendUint64(append([]byte(nil), w.hash[:]...), uint64(at.Unix()))
	signature = append(signature, ed25519.Sign(w.private, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at.Unix(), text))...)
	return "— " + w.name + " " + base64.StdEncoding.EncodeToString(signature) + "\n"
}
