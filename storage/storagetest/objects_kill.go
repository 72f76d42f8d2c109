package storagetest

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	// objectVictim is the environment variable that tells the child process to be killed where its store is.
	objectVictim = "ATTESTRY_TEST_OBJECTS_VICTIM"
	// streaming is the line that the victim prints when one of its Puts is stalled midway.
	streaming = "streaming"
	// acknowledged is the number of objects that the victim must have put before it is killed.
	acknowledged = 25
)

// ObjectsSurviveKill kills a process (-9) during its Puts: acknowledged objects are stored, and no object is partial.
// It runs the calling test again as the process to be killed. prepare returns an empty location; open opens the store
// there.
func ObjectsSurviveKill(t *testing.T, prepare func() string, open func(ctx context.Context, location string) (ObjectStore, error)) {
	if location, victim := os.LookupEnv(objectVictim); victim {
		store, err := open(t.Context(), location)
		if err != nil {
			t.Fatal(err)
		}
		putUntilKilled(t, store)
		return
	}
	location := prepare()
	keys := killWhilePutting(t, location)
	store, err := open(t.Context(), location)
	if err != nil {
		t.Fatalf("open after the kill: %v", err)
	}
	listed := map[string]bool{}
	for _, key := range store.Keys() {
		listed[key] = true
		requireWhole(t, store, key)
	}
	for _, key := range keys {
		if !listed[key] {
			t.Errorf("the acknowledged object %s is gone", key)
		}
	}
}

// killWhilePutting starts the victim, kills it, and returns the keys it had acknowledged.
func killWhilePutting(t *testing.T, location string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	victim := exec.CommandContext(ctx, os.Args[0], "-test.v", "-test.run=^"+regexp.QuoteMeta(t.Name())+"$")
	victim.Env = append(os.Environ(), objectVictim+"="+location)
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	var keys, others []string
	stalled := false
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		key, isKey := strings.CutPrefix(lines.Text(), "key ")
		switch {
		case isKey:
			keys = append(keys, key)
		case lines.Text() == streaming:
			stalled = true
		default:
			others = append(others, lines.Text())
		}
		if stalled && len(keys) >= acknowledged {
			// The loop also reads the lines that it prints before it dies.
			_ = victim.Process.Kill()
		}
	}
	_ = victim.Wait()
	if !stalled || len(keys) < acknowledged {
		t.Fatalf("the victim ended by itself:\n%s", strings.Join(others, "\n"))
	}
	return keys
}

// putUntilKilled keeps one Put stalled midway and puts other objects of several sizes.
func putUntilKilled(t *testing.T, store ObjectStore) {
	stalled := io.MultiReader(objectStream(1, 2*mib), hookReader(func() {
		fmt.Println(streaming)
		<-t.Context().Done()
	}))
	go func() {
		_, _ = store.Put(t.Context(), "stalled", stalled, -1)
	}()
	for seed := uint64(2); ; seed++ {
		size := []int64{1, 10 * kib, mib, 3 * mib}[seed%4]
		object, err := store.Put(t.Context(), "org", objectStream(seed, size), size)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("key", object.Key)
	}
}

// requireWhole checks that an object's content has the SHA-256 and size of its metadata.
func requireWhole(t *testing.T, store ObjectStore, key string) {
	t.Helper()
	object, err := store.Stat(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.Get(t.Context(), key, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, r)
	if sum := hex.EncodeToString(hash.Sum(nil)); err != nil || n != object.Size || sum != object.SHA256 {
		t.Error(errors.Join(fmt.Errorf("%s holds %d bytes of SHA-256 %s", key, n, sum), err))
	}
}
