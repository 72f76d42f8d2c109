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
	// maxUploadMemory bounds the memory for an upload to the object store, in bytes. Larger files use a temporary file.
	maxUploadMemory = server.Mebibyte
	// defaultContentType replaces a missing or invalid Content-Type.
	defaultContentType = "application/octet-stream"
	// unnamedFile replaces a missing or unusable filename.
	unnamedFile = "evidence"
	// maxFilename is the longest filename on common file systems, in bytes.
	maxFilename = 255
	// maxContentType bounds the stored Content-Type, in bytes.
	maxContentType = 255
)

// storeEvidence streams the file of a form into the object store; it returns nil if there is none. The file is stored
// and protected from deletion before its attestation is recorded. If recording fails, a retry finds the file by its
// content.
func (h *handlers) storeEvidence(ctx context.Context, file func(func(server.FormFile) error) error) (*evidence.EvidenceFile, error) {
	var stored *evidence.EvidenceFile
	err := file(func(sent server.FormFile) error {
		r, size := server.RequestOf(ctx), maxUploadMemory
		if r.Body.Length >= 0 {
			size = min(size, r.Body.Length)
		}
		err := r.Memory.Take(int64(size))
		if err != nil {
			return err
		}
		stored, err = h.storeFile(ctx, server.Access(ctx), sent)
		return err
	})
	return stored, err
}

func (h *handlers) storeFile(ctx context.Context, org evidence.OrgAccess, file server.FormFile) (*evidence.EvidenceFile, error) {
	reader := &server.FailingReader{Reader: file}
	object, err := h.Objects.Put(ctx, org.OrgID, reader, -1)
	if reader.Err != nil {
		// The upload failed, not the store.
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

// cleanFilename makes a filename of any text: it removes directories, replaces characters that are not printable, and
// keeps the last maxFilename bytes, which have the extension.
func cleanFilename(sent string) string {
	name := sent[strings.LastIndexAny(sent, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r == '"' || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, name)
	name = strings.TrimSpace(strings.ToValidUTF8(name[max(len(name)-maxFilename, 0):], ""))
	if strings.Trim(name, ".") == "" {
		return unnamedFile
	}
	return name
}

// cleanContentType returns a Content-Type that is valid in a header.
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

// getEvidence sends the file that is attached to an attestation. It sends a filename, so that browsers save the file
// and do not run scripts in it.
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

// evidenceDamaged adds the attestation to an error of a damaged or lost object. Other errors are unchanged.
func evidenceDamaged(attestation string, file evidence.EvidenceFile, err error) error {
	if !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrDamaged) {
		return err
	}
	return storage.Damaged(fmt.Sprintf("The evidence of attestation %s (SHA-256 %s) was altered, truncated or lost in the object store",
		attestation, file.SHA256), err)
}
