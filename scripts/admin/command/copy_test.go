package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/config"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/process"
	"attestry/process/cli"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
)

// fill stores flows, artifacts and more than two batches of attestations.
func fill(t *testing.T, docs storage.Documents) {
	t.Helper()
	objects, err := filesystem.Open(t.TempDir())
	evidencetest.Must(t, err)
	store := app.NewStore(docs, objects, time.Now, slog.New(slog.DiscardHandler))
	defer store.Tenancy.Close()
	fixture := &apptest.Fixture{Store: store, T: t}
	for i := range 3 {
		_, _, err := fixture.PutFlow("org", fmt.Sprintf("flow-%d", i))
		fixture.Must(err)
	}
	apptest.PutArtifacts(t, store, apptest.ArtifactRecord("flow", "trail", apptest.Sha("a", 64), apptest.Sha("b", 40), 1))
	for batch := range 3 {
		var records []evidence.Attestation
		for i := range 800 {
			records = append(records, apptest.AttestationRecord(fmt.Sprintf("%d-%d", i, batch), "flow", "generic", i%2 == 0, float64(i)+0.5))
		}
		apptest.PutAttestations(t, store, records...)
	}
}

// filledFolder returns the URL of a Pebble database with the documents of fill.
func filledFolder(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "source")
	db := pebbletest.Open(t, path, app.Schemas())
	fill(t, db)
	evidencetest.Must(t, db.Close())
	return "pebble://" + path
}

// runCopy runs copy, which needs no settings of the service.
func runCopy(t *testing.T, from, to string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = Run(t.Context(), []string{"copy", "--from", from, "--to", to}, nil, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// mustCopy runs copy, which must succeed, and returns its output.
func mustCopy(t *testing.T, from, to string) (table, errs string) {
	t.Helper()
	status, out, errs := runCopy(t, from, to)
	if status != cli.Success {
		t.Fatalf("status %d: %s", status, errs)
	}
	return out, errs
}

func TestDatabaseIsCopiedBetweenEngines(t *testing.T) {
	source := filledFolder(t)
	urls := []string{"pebble://" + filepath.Join(t.TempDir(), "documents")}
	if uri := os.Getenv("ATTESTRY_TEST_MONGODB"); uri != "" {
		urls = append(urls, newMongoDB(t, uri))
	}
	urls = append(urls, "pebble://"+filepath.Join(t.TempDir(), "back"))
	var first string
	for _, url := range urls {
		table, errs := mustCopy(t, source, url)
		evidencetest.Contains(t, errs, "attestations: 2400 documents copied, 0 were there already")
		if first == "" {
			first = table
		}
		if table != first {
			t.Errorf("copied to %s\n%s\nwant\n%s", url, table, first)
		}
		again, errs := mustCopy(t, source, url)
		if again != table || !strings.Contains(errs, "attestations: 0 documents copied, 2400 were there already") {
			t.Errorf("the second copy: %s%s", errs, again)
		}
		source = url
	}
	evidencetest.Contains(t, first, "COLLECTION", "attestations  2400", "flows", "are the same in both databases")
}

// newMongoDB returns the URL of a database that is dropped at the end of the test.
func newMongoDB(t *testing.T, uri string) string {
	t.Helper()
	server, parameters, _ := strings.Cut(uri, "?")
	name := fmt.Sprintf("attestry_test_copy_%016x", rand.Uint64())
	t.Cleanup(func() {
		client, err := mongo.Connect(options.Client().ApplyURI(uri))
		if err != nil {
			t.Error(err)
			return
		}
		ctx := context.Background() // that of the test has ended
		evidencetest.Check(t, client.Database(name).Drop(ctx))
		_ = client.Disconnect(ctx)
	})
	return strings.TrimSuffix(server, "/") + "/" + name + "?" + parameters
}

// newDocumentCopy makes a copy from a Pebble database with the documents of fill to an empty one.
func newDocumentCopy(t *testing.T) (c *documentCopy, out, errs *bytes.Buffer) {
	t.Helper()
	source := pebbletest.Open(t, filepath.Join(t.TempDir(), "source"), app.Schemas())
	fill(t, source)
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	target, err := process.OpenCopyTarget(t.Context(), config.Database{Engine: config.Pebble, Path: filepath.Join(t.TempDir(), "target")}, nil)
	evidencetest.Must(t, err)
	t.Cleanup(func() {
		evidencetest.Check(t, target.Close())
	})
	return &documentCopy{from: source, to: target, schemas: app.Schemas(), out: out, errs: errs}, out, errs
}

// dying fails from its second write of documents on, before or after it is done.
type dying struct {
	storage.Documents
	after  bool
	writes int
}

func (d *dying) around(write func() error) error {
	d.writes++
	if d.writes < 2 || d.writes == 2 && d.after {
		if err := write(); err != nil || d.writes < 2 {
			return err
		}
	}
	return storagetest.ErrKilled
}

func (d *dying) Write(ctx context.Context, writes ...storage.Write) error {
	write := func() error { return d.Documents.Write(ctx, writes...) }
	if writes[0].Kind != storage.WriteAdd {
		return write() // marks the target as an incomplete copy
	}
	return d.around(write)
}

func TestInterruptedCopyContinues(t *testing.T) {
	for _, after := range []bool{false, true} {
		c, out, errs := newDocumentCopy(t)
		target := c.to
		for write := int64(1); ; write++ {
			c.to = &dying{Documents: target, after: after}
			err := c.run(t.Context())
			if err == nil {
				break
			}
			if write > 20 {
				t.Fatalf("the copy does not end: %v", err)
			}
			if out.Len() > 0 {
				t.Errorf("an interrupted copy printed %s", out)
			}
		}
		evidencetest.Contains(t, out.String(), "attestations  2400")
		// The last run continued after the documents of earlier ones.
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		n := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "attestations: 1400") })
		m := slices.IndexFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, "attestations: 400 documents copied, 2000 were")
		})
		if n < 0 && m < 0 {
			t.Errorf("the copy did not continue:\n%s", errs)
		}
	}
}

// TestInterruptedCopyIsNotUsed interrupts a copy, tries to use the target, and completes the copy.
func TestInterruptedCopyIsNotUsed(t *testing.T) {
	source, third := filledFolder(t), "pebble://"+filepath.Join(t.TempDir(), "third")
	urls := []string{"pebble://" + filepath.Join(t.TempDir(), "documents")}
	if uri := os.Getenv("ATTESTRY_TEST_MONGODB"); uri != "" {
		urls = append(urls, newMongoDB(t, uri))
	}
	for _, url := range urls {
		interruptCopy(t, source, url)
		const want = "the database is an incomplete copy: run the same `scripts/admin copy` again"
		if status, out, errs := runCopy(t, url, third); status != cli.Failure || out != "" || !strings.HasPrefix(errs, "--from: "+want) {
			t.Errorf("copied from %s: status %d: %s%s", url, status, out, errs)
		}
		settings, err := config.Load([]string{"ATTESTRY_DATABASE_URL=" + url, "ATTESTRY_OBJECTS_URL=file://" + t.TempDir(), "ATTESTRY_REDIS_URL=redis://127.0.0.1:1"})
		evidencetest.Must(t, err)
		if _, err := process.Open(t.Context(), settings, slog.New(slog.DiscardHandler)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("opened %s: %v", url, err)
		}
		mustCopy(t, source, url)
		p, err := process.Open(t.Context(), settings, slog.New(slog.DiscardHandler))
		evidencetest.Must(t, err)
		evidencetest.Check(t, p.Close())
	}
}

// interruptCopy makes a copy that fails at its second write of documents.
func interruptCopy(t *testing.T, from, to string) {
	t.Helper()
	source, err := parseLocation("--from", from)
	evidencetest.Must(t, err)
	target, err := parseLocation("--to", to)
	evidencetest.Must(t, err)
	c := &documentCopy{schemas: app.Schemas(), out: io.Discard, errs: io.Discard}
	if c.from, err = process.OpenDocuments(t.Context(), source.documents, nil); err != nil {
		t.Fatal(err)
	}
	defer c.from.Close()
	docs, err := process.OpenCopyTarget(t.Context(), target.documents, nil)
	evidencetest.Must(t, err)
	defer docs.Close()
	c.to = &dying{Documents: docs}
	if err := c.run(t.Context()); !errors.Is(err, storagetest.ErrKilled) {
		t.Fatal(err)
	}
}

// altering changes a document while it is inserted.
type altering struct {
	storage.Documents
	id string
}

func (a *altering) Write(ctx context.Context, writes ...storage.Write) error {
	writes = slices.Clone(writes)
	for i := range writes {
		if record := &writes[i].Record; record.ID == a.id {
			record.Body = append([]byte(" "), record.Body[1:]...)
		}
	}
	return a.Documents.Write(ctx, writes...)
}

func TestVerificationFindsAChangedDocument(t *testing.T) {
	c, out, _ := newDocumentCopy(t)
	target := c.to
	c.to = &altering{Documents: target, id: "7-1-flow"}
	err := c.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "collection attestations differs in 1 documents, 2399 are the same") || out.Len() > 0 {
		t.Errorf("%v; printed %s", err, out)
	}
}

func TestTargetWithOtherDocumentsIsRefused(t *testing.T) {
	c, _, errs := newDocumentCopy(t)
	attestations := apptest.Schema(t, "attestations")
	for _, id := range []string{"0", "zzz"} {
		other := storage.Record{ID: id, Revision: 1, Body: []byte("{}")}
		evidencetest.Must(t, storagetest.Put(t.Context(), c.to, attestations, other))
	}
	err := c.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "collection attestations of the target has 2 documents that the source lacks") || errs.Len() > 0 {
		t.Errorf("%v; %s", err, errs)
	}
	if page, err := c.to.List(t.Context(), apptest.Schema(t, "flows"), "", 1, 1); err != nil || len(page) > 0 {
		t.Errorf("documents were copied: %v, %v", page, err)
	}
}

// TestTargetThatWasUsedIsRefused changes one document of a complete copy, and only the revision of another one.
func TestTargetThatWasUsedIsRefused(t *testing.T) {
	c, _, errs := newDocumentCopy(t)
	evidencetest.Must(t, c.run(t.Context()))
	attestations := apptest.Schema(t, "attestations")
	page, err := c.to.List(t.Context(), attestations, "", 2, storage.MaxBody)
	if err != nil || len(page) != 2 {
		t.Fatalf("%d documents, %v", len(page), err)
	}
	page[0].Body = []byte(`{"newer": true}`)
	page[1].Revision++
	evidencetest.Must(t, storagetest.Put(t.Context(), c.to, attestations, page...))
	errs.Reset()
	err = c.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "collection attestations of the target has 2 documents that differ from those of the source\nnothing was copied") || errs.Len() > 0 {
		t.Errorf("%v; %s", err, errs)
	}
	stored, err := c.to.Get(t.Context(), attestations, page[0].ID)
	if err != nil || !bytes.Equal(stored.Body, page[0].Body) {
		t.Errorf("the newer document is now %s, %v", stored.Body, err)
	}
}

// TestDocumentsWithUndeclaredFieldsAreCopied stores a document of an earlier version, with a field that is not declared now.
func TestDocumentsWithUndeclaredFieldsAreCopied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old")
	earlier := *apptest.Schema(t, "flows")
	earlier.Fields = append(slices.Clone(earlier.Fields), "colour")
	db := pebbletest.Open(t, path, []*storage.Schema{&earlier})
	old := storage.Record{ID: "a", Revision: 1, Fields: map[string]any{"org": "o", "colour": "red"}, Body: []byte("{}")}
	evidencetest.Must(t, storagetest.Put(t.Context(), db, &earlier, old))
	evidencetest.Must(t, db.Close())
	mustCopy(t, "pebble://"+path, "pebble://"+filepath.Join(t.TempDir(), "new"))
}

func TestObjectsAreCopied(t *testing.T) {
	folder, target := t.TempDir(), filepath.Join(t.TempDir(), "objects")
	source, err := filesystem.Open(folder)
	evidencetest.Must(t, err)
	defer source.Close()
	var objects []storage.Object
	for i := range 20 {
		content := bytes.Repeat([]byte{byte(i)}, 1+i*100_000)
		object, err := source.Put(t.Context(), []string{"org", "org-b"}[i%2], bytes.NewReader(content), -1)
		evidencetest.Must(t, err)
		objects = append(objects, object)
	}
	url := "file://" + target
	out, errs := mustCopy(t, "file://"+folder, url)
	if !strings.Contains(errs, "20 objects copied, 0 were there already") || !strings.Contains(out, "20 objects of 19000020 bytes") {
		t.Errorf("%s%s", errs, out)
	}
	if got, want := storagetest.FileKeys(t, target), storagetest.FileKeys(t, folder); !slices.Equal(got, want) {
		t.Errorf("copied %q, want %q", got, want)
	}
	if address := os.Getenv("ATTESTRY_TEST_S3"); address != "" {
		there := newBucket(t, address)
		mustCopy(t, url, there)
		back := "file://" + filepath.Join(t.TempDir(), "back")
		if again, _ := mustCopy(t, there, back); again != out {
			t.Errorf("back from S3: %s, want %s", again, out)
		}
	}
	lost, damaged := filepath.Join(target, objects[3].Key), filepath.Join(target, objects[4].Key)
	evidencetest.Must(t, os.Remove(lost))
	if _, errs := mustCopy(t, "file://"+folder, url); !strings.Contains(errs, "1 objects copied, 19 were there already") {
		t.Error(errs)
	}
	write(t, damaged, bytes.Repeat([]byte("x"), int(objects[4].Size)))
	if status, out, errs := runCopy(t, "file://"+folder, url); status != cli.Failure || out != "" || !strings.Contains(errs, objects[4].Key+" of the target is damaged") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	if status, out, errs := runCopy(t, url, "file://"+filepath.Join(t.TempDir(), "third")); status != cli.Failure || out != "" || !strings.Contains(errs, objects[4].Key+" was not copied") || !strings.Contains(errs, "19 objects copied") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	other := t.TempDir()
	storeObject(t, other)
	if status, _, errs := runCopy(t, "file://"+other, url); status != cli.Failure || !strings.Contains(errs, "the target has 20 objects that the source lacks") {
		t.Errorf("status %d: %s", status, errs)
	}
}

// storeObject stores an object in a folder.
func storeObject(t *testing.T, folder string) {
	t.Helper()
	store, err := filesystem.Open(folder)
	evidencetest.Must(t, err)
	defer store.Close()
	if _, err := store.Put(t.Context(), "org", strings.NewReader("content"), -1); err != nil {
		t.Fatal(err)
	}
}

func TestSourceWithoutObjectsIsRefused(t *testing.T) {
	data, target := t.TempDir(), filepath.Join(t.TempDir(), "target")
	storeObject(t, data+"/objects")
	mustCopy(t, filledFolder(t), "pebble://"+data+"/documents")
	for _, folder := range []string{data, data + "/documents", t.TempDir()} {
		if status, out, errs := runCopy(t, "file://"+folder, "file://"+target); status != cli.Failure || out != "" || errs != "the source has no objects; is its URL right?\n" {
			t.Errorf("copied from %s: status %d: %s%s", folder, status, out, errs)
		}
	}
	if _, err := os.Stat(target); !os.IsNotExist(err) {
		t.Errorf("the target was made: %v", err)
	}
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	evidencetest.Must(t, os.WriteFile(file, content, 0o600))
}

// newBucket returns the URL of a bucket that is removed at the end of the test.
func newBucket(t *testing.T, address string) string {
	t.Helper()
	var named config.Objects
	evidencetest.Must(t, named.UnmarshalText([]byte(address)))
	client, err := minio.New(named.Endpoint, &minio.Options{Creds: credentials.NewStaticV4(named.AccessKey, named.SecretKey.Reveal(), ""), Secure: named.Secure})
	evidencetest.Must(t, err)
	suffix := fmt.Sprintf("-copy-%016x", rand.Uint64())
	t.Cleanup(func() {
		evidencetest.Check(t, client.RemoveBucketWithOptions(context.Background(), named.Bucket+suffix, minio.RemoveBucketOptions{ForceDelete: true}))
	})
	return strings.TrimSuffix(address, "/") + suffix
}

func TestWrongCopiesAreRefused(t *testing.T) {
	folder := t.TempDir()
	empty := filepath.Join(folder, "empty")
	evidencetest.Must(t, pebbletest.Open(t, empty, app.Schemas()).Close())
	absent := filepath.Join(folder, "absent")
	other := t.TempDir()
	write(t, filepath.Join(other, "notes.txt"), []byte("x"))
	for name, c := range map[string]struct {
		line   string
		status int
		errs   string
	}{
		"no arguments":     {"copy", cli.Misuse, "copy: both --from and --to are needed"},
		"one store":        {"copy --from pebble:///x", cli.Misuse, "copy: both --from and --to are needed"},
		"unknown flag":     {"copy --from pebble:///x --to pebble:///y --replace", cli.Misuse, "copy: flag provided but not defined: -replace"},
		"flag's value":     {"copy --from pebble:///x --to", cli.Misuse, "copy: flag needs an argument: -to"},
		"word":             {"copy --from pebble:///x now", cli.Misuse, "copy: unexpected argument: now"},
		"URL as flag":      {"copy --from pebble:///x --http://user:sesame@host/bucket", cli.Misuse, "copy: wrong arguments"},
		"two kinds":        {"copy --from pebble:///x --to file:///y", cli.Misuse, "--from names a database and --to an object store: both must be of the same kind"},
		"two other kinds":  {"copy --from http://user:sesame@host/bucket --to pebble:///y", cli.Misuse, "--from names an object store and --to a database"},
		"the same store":   {"copy --from pebble:///x --to pebble:///x", cli.Misuse, "--from and --to name the same store"},
		"unknown scheme":   {"copy --from redis://user:sesame@host --to pebble:///x", cli.Misuse, "--from must begin with"},
		"malformed":        {"copy --from mongodb://user:sesame@/x --to http://user:sesame@host", cli.Misuse, "--from names no host\n--to must end in the name of a bucket"},
		"URL as argument":  {"copy mongodb://user:sesame@host/x --to pebble:///x", cli.Misuse, "copy: wrong arguments"},
		"mistyped command": {"copi --from mongodb://user:sesame@host/x --to pebble:///x", cli.Misuse, `unknown command "copi"`},
		"absent file":      {"copy --from pebble://" + absent + " --to pebble://" + absent + "2", cli.Failure, "--from: stat " + absent},
		"absent objects":   {"copy --from file://" + absent + " --to file://" + absent + "2", cli.Failure, "--from: stat " + absent},
		"SQLite file":      {"copy --from sqlite:///x --to pebble:///y", cli.Misuse, "--from must begin with mongodb://, mongodb+srv:// or pebble://"},
		"other folder":     {"copy --from pebble://" + other + " --to pebble://" + absent + "2", cli.Failure, "--from: there is no database of pebble at " + other},
		"empty database":   {"copy --from pebble://" + empty + " --to pebble://" + absent + "3", cli.Failure, "the source has no documents; is its URL right?"},
		"unreachable":      {"copy --from mongodb://user:sesame@127.0.0.1:1/x?serverSelectionTimeoutMS=300 --to pebble:///x", cli.Failure, "--from: check the indexes in MongoDB: "},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			status := Run(t.Context(), strings.Fields(c.line), nil, &out, &errs)
			if status != c.status || out.Len() > 0 || !strings.Contains(errs.String(), c.errs) {
				t.Errorf("status %d, want %d\nout %s\nerrs %s\nwant %s", status, c.status, out.String(), errs.String(), c.errs)
			}
			if strings.Contains(errs.String(), "sesame") {
				t.Errorf("a password shows in %s", errs.String())
			}
		})
	}
	if _, err := os.Stat(absent); !os.IsNotExist(err) {
		t.Errorf("the source was made: %v", err)
	}
	if entries, err := os.ReadDir(other); err != nil || len(entries) != 1 {
		t.Errorf("a database was made in the folder of the source: %v, %v", entries, err)
	}
	if _, err := os.Stat(absent + "3"); !os.IsNotExist(err) {
		t.Errorf("the target of an empty database was made: %v", err)
	}
}

// TestOneStoreByTwoPathsIsRefused names a store and folders in it through symbolic links.
func TestOneStoreByTwoPathsIsRefused(t *testing.T) {
	folder := t.TempDir()
	objects, documents := folder+"/objects", folder+"/documents"
	storeObject(t, objects)
	evidencetest.Must(t, os.Mkdir(documents, 0o700))
	for link, target := range map[string]string{"link": objects, "inner": objects + "/org", "soft": documents} {
		evidencetest.Must(t, os.Symlink(target, folder+"/"+link))
	}
	const same, inSource, inTarget = "name the same store", "--to lies in the folder that --from names", "--from lies in the folder that --to names"
	for _, c := range []struct{ from, to, errs string }{
		{"pebble://" + documents, "pebble://" + folder + "/soft", same},
		{"file://" + objects, "file://" + folder + "/link", same},
		{"file://" + objects, "file://" + objects + "/new", inSource},
		{"file://" + objects, "file://" + folder + "/link/new/er", inSource},
		{"file://" + objects, "file://" + folder + "/inner/new", inSource},
		{"file://" + folder + "/link", "file://" + folder, inTarget},
		{"file://" + folder + "/inner", "file://" + objects, inTarget},
		{"pebble://" + documents, "pebble://" + folder, inTarget},
		{"file://" + objects, "file://" + folder + "/objects2", ""},
	} {
		status, _, errs := runCopy(t, c.from, c.to)
		if c.errs == "" && status != cli.Success || c.errs != "" && (status != cli.Misuse || !strings.Contains(errs, c.errs)) {
			t.Errorf("from %s to %s: status %d: %s, want %q", c.from, c.to, status, errs, c.errs)
		}
	}
}

func TestPasswordsAreHidden(t *testing.T) {
	for address, quoted := range map[string]string{
		"mongodb://user:ses%40me@host/x?a=b": "auth of ses@me and ses%40me failed",
		"http://KEY:s3cr3t@host/bucket":      "s3cr3t",
	} {
		err := withoutPasswords(fmt.Errorf("%s: %w", quoted, io.ErrUnexpectedEOF), "pebble:///x", address)
		for _, password := range []string{"ses@me", "ses%40me", "s3cr3t"} {
			if strings.Contains(err.Error(), password) {
				t.Errorf("%s: %v", address, err)
			}
		}
	}
}
