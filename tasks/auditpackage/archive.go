package auditpackage

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/gzip"

	"attestry/evidence/audit"
)

// archive writes the members of a package. The same members make the same bytes: no owners, whole seconds as times.
type archive struct {
	gzip    *gzip.Writer
	tar     *tar.Writer
	members []audit.Member
}

// newArchive begins an archive. The lowest compression is enough for members that mostly are archives themselves.
func newArchive(w io.Writer) *archive {
	compressed, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // there is such a level
	return &archive{gzip: compressed, tar: tar.NewWriter(compressed)}
}

// add writes a member with a time in Unix seconds.
func (a *archive) add(path string, at float64, content []byte) error {
	return a.stream(path, at, int64(len(content)), bytes.NewReader(content))
}

func (a *archive) addAll(members []member) error {
	for _, one := range members {
		if err := a.add(one.path, one.at, one.content); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) stream(path string, at float64, size int64, content io.Reader) error {
	err := a.tar.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: path, Size: size, Mode: 0o644, ModTime: time.Unix(int64(at), 0).UTC(), Format: tar.FormatPAX,
	})
	if err != nil {
		return fmt.Errorf("begin the member %s: %w", path, err)
	}
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(a.tar, hash), content); err != nil {
		return fmt.Errorf("write the member %s: %w", path, err)
	}
	a.members = append(a.members, audit.Member{Path: path, Size: size, SHA256: hex.EncodeToString(hash.Sum(nil))})
	return nil
}

func (a *archive) close() error {
	if err := a.tar.Close(); err != nil {
		return err
	}
	return a.gzip.Close()
}
