package attestations

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/storage"
)

const (
	evidenceField = "attachment_file"
	// maxUploadMemory is what a file takes up at most on its way into the object store, in
	// bytes: what is more goes through a temporary file.
	maxUploadMemory = server.Mebibyte
	// defaultContentType is the type of a file that comes without one, or with one that is none.
	defaultContentType = "application/octet-stream"
	// unnamedFile is the name of a file that comes without a usable one.
	unnamedFile = "evidence"
	// maxFilename is what common file systems take as a name, in bytes.
	maxFilename = 255
	// maxContentType bounds the type that is kept of a file, in bytes.
	maxContentType = 255
)

// storeEvidence streams the file of a form into the object store; nil when there
// is none. It is stored, and protected from deletion, before its attestation. If storing
// the attestation fails, the file is found by its content when it is sent again.
func (h *handlers) storeEvidence(ctx context.Context, files func(func(server.FormFile) error) error) (*evidence.EvidenceFile, error) {
	var stored *evidence.EvidenceFile
	err := files(func(file server.FormFile) error {
		if err := takeUpload(server.RequestOf(ctx)); err != nil {
			return err
		}
		var err error
		stored, err = h.storeFile(ctx, server.Access(ctx), file)
		return err
	})
	return stored, err
}

func (h *handlers) storeFile(ctx context.Context, org evidence.OrgAccess, file server.FormFile) (*evidence.EvidenceFile, error) {
	reader := &server.FailingReader{Reader: file}
	object, err := h.Objects.Put(ctx, org.OrgID, reader, -1)
	if reader.Err != nil {
		// What went wrong is the client's, or the network's, not the store's.
		return nil, server.MalformedForm(reader.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("store a file of evidence: %w", err)
	}
	if err := h.Retention.Keep(ctx, org.OrgName, object.Key); err != nil {
		return nil, fmt.Errorf("keep a file of evidence from deletion: %w", err)
	}
	return &evidence.EvidenceFile{
		Object: object.Key, SHA256: object.SHA256, Size: object.Size,
		ContentType: cleanContentType(file.ContentType), Filename: cleanFilename(file.Filename),
	}, nil
}

// takeUpload reserves the memory for a file on its way into the object store.
func takeUpload(r *server.Request) error {
	size := maxUploadMemory
	if r.Body.Length >= 0 {
		size = min(size, r.Body.Length)
	}
	return r.Memory.Take(int64(size))
}

// cleanFilename makes any text the name of a file: without directories, without
// what is not printable, and not too long.
func cleanFilename(sent string) string {
	name := sent[strings.LastIndexAny(sent, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r == '"' || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, name)
	name = strings.TrimSpace(strings.ToValidUTF8(cutBytes(name, maxFilename), ""))
	if strings.Trim(name, ".") == "" {
		return unnamedFile
	}
	return name
}

// cutBytes shortens text to its last bytes, which hold the extension.
func cutBytes(text string, most int) string { return text[max(len(text)-most, 0):] }

// cleanContentType returns a type that is valid in a header.
func cleanContentType(sent string) string {
	kind, parameters, err := mime.ParseMediaType(sent)
	if err != nil || !strings.Contains(kind, "/") {
		return defaultContentType
	}
	clean := mime.FormatMediaType(kind, parameters)
	if clean == "" || len(clean) > maxContentType {
		return defaultContentType
	}
	return clean
}

// getEvidence sends the file that is attached to an attestation. Its name makes
// browsers save it: it may be a page full of scripts.
func (h *handlers) getEvidence(ctx context.Context, _ *resource.AttestationPath, found evidence.Attestation) (*server.StreamOutput, error) {
	if found.Evidence == nil {
		return nil, evidence.NewError(evidence.NotFound, "This attestation has no evidence file attached.")
	}
	file := *found.Evidence
	open := func(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
		content, err := h.Objects.Get(ctx, file.Object, offset, length)
		return content, evidenceDamaged(found.ID, file, err)
	}
	return server.Stream(ctx, server.Download{
		ContentType: file.ContentType, Filename: file.Filename, Size: file.Size, SHA256: file.SHA256, Open: open,
		Verify: func(ctx context.Context) error {
			content, err := open(ctx, 0, 0)
			if err != nil {
				return err
			}
			return content.Close()
		},
	})
}

// evidenceDamaged names the evidence whose object is damaged or lost; other errors are returned as they are.
func evidenceDamaged(attestation string, file evidence.EvidenceFile, err error) error {
	if !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrDamaged) {
		return err
	}
	return storage.Damaged(fmt.Sprintf("The evidence of attestation %s (SHA-256 %s) was altered, truncated or lost in the object store",
		attestation, file.SHA256), err)
}
