package process

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"attestry/config"
	"attestry/evidence/evidencetest"
	"attestry/process/buildinfo"
	"attestry/storage"
	"attestry/storage/storagetest"
)

func TestFailedOpenReleasesFilesAndConnections(t *testing.T) {
	refuse := func(docs storage.Documents) storage.Documents {
		return storagetest.BeforeWrites(docs, func(write storage.Write) error {
			if write.Kind == storage.WriteDelete {
				return errors.New("the deletion is refused")
			}
			return nil
		})
	}
	for name, row := range map[string]struct {
		blocked string // store whose folder is a file
		wrap    func(storage.Documents) storage.Documents
		want    string
	}{
		"the database":     {blocked: "documents", want: "documents"},
		"the object store": {blocked: "objects", want: "objects"},
		"a first command":  {wrap: refuse, want: "the deletion is refused"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if row.blocked != "" {
				evidencetest.Must(t, os.WriteFile(filepath.Join(folder, row.blocked), nil, 0o600))
			}
			server, err := net.Listen("tcp", "127.0.0.1:0")
			evidencetest.Must(t, err)
			defer server.Close()
			settings, err := config.LoadFrom(config.Sources{Environ: []string{
				"ATTESTRY_DATABASE_URL=pebble://" + folder + "/documents",
				"ATTESTRY_OBJECTS_URL=file://" + folder + "/objects",
				"ATTESTRY_REDIS_URL=redis://" + server.Addr().String() + "?min_idle_conns=1",
			}})
			evidencetest.Must(t, err)
			_, err = OpenWith(t.Context(), settings, NewLog(io.Discard, 0), time.Now, row.wrap)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("opening: %v", err)
			}
			requireNoConnection(t, server)
			requireNoOpenFile(t, folder)
		})
	}
}

func TestProcessRefusesDatabasesOfNewerVersions(t *testing.T) {
	folder := t.TempDir()
	settings, err := config.LoadFrom(config.Sources{Environ: []string{
		"ATTESTRY_DATABASE_URL=pebble://" + folder + "/documents", "ATTESTRY_OBJECTS_URL=file://" + folder + "/objects",
		"ATTESTRY_REDIS_URL=redis://127.0.0.1:1",
	}})
	evidencetest.Must(t, err)
	open := func() (*Process, error) { return Open(t.Context(), settings, NewLog(io.Discard, 0)) }
	// store opens the database, then marks it as last opened by another version.
	store := func(of documentForm) (before documentForm) {
		t.Helper()
		p, err := open()
		if err == nil {
			before, err = forms(p.Store.Documents).Get(t.Context(), formID)
			err = errors.Join(err, forms(p.Store.Documents).Put(t.Context(), of), p.Close())
		}
		evidencetest.Must(t, err)
		return before
	}
	const form010 = 1 // version 0.1.0 starts on databases of this form, but ignores that permissions end
	if form <= form010 {
		t.Errorf("version 0.1.0 starts on a database of form %d", form)
	}
	current := documentForm{ID: formID, Form: form, Program: buildinfo.Read().Version}
	if got := store(documentForm{ID: formID, Form: form - 1, Program: "0.0.9"}); got != current {
		t.Errorf("a new database is of %+v", got)
	}
	if got := store(documentForm{ID: formID, Form: form + 1, Program: "9.0.0"}); got != current {
		t.Errorf("after an upgrade it is of %+v", got)
	}
	_, err = open()
	if !errors.Is(err, errNewerForm) || !strings.Contains(err.Error(), "9.0.0") || !strings.Contains(err.Error(), current.Program) {
		t.Errorf("opening: %v", err)
	}
	requireNoOpenFile(t, folder)
}

// requireNoConnection waits until a connection to a server is closed, if there is one.
func requireNoConnection(t *testing.T, server net.Listener) {
	t.Helper()
	evidencetest.Must(t, server.(*net.TCPListener).SetDeadline(time.Now().Add(time.Second)))
	connection, err := server.Accept()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return // it was never made
	}
	evidencetest.Must(t, err)
	defer connection.Close()
	evidencetest.Must(t, connection.SetReadDeadline(time.Now().Add(5*time.Second)))
	if _, err := io.Copy(io.Discard, connection); err != nil {
		t.Errorf("the connection to Redis stays open: %v", err)
	}
}

// requireNoOpenFile checks that this process has no open file in a folder.
func requireNoOpenFile(t *testing.T, folder string) {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the open files of a process cannot be listed")
	}
	evidencetest.Must(t, err)
	for _, file := range files {
		if name, err := os.Readlink("/proc/self/fd/" + file.Name()); err == nil && strings.HasPrefix(name, folder) {
			t.Errorf("%s stays open", name)
		}
	}
}
