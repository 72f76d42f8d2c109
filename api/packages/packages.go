// Package packages has the operations on audit packages.
package packages

import (
	"context"
	"io"
	"time"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/tasks/auditpackage"
)

// retryAfter is the Retry-After of answers while a package is being assembled.
const retryAfter = 3 * time.Second

// WaitQuery bounds the time that a request waits for its package.
type WaitQuery struct {
	Wait int `query:"wait" minimum:"0" maximum:"25" default:"25" doc:"How many seconds to wait for the package if it has to be assembled. Behind that the answer is 503 with Retry-After."`
}

func (q WaitQuery) wait() time.Duration { return time.Duration(q.Wait) * time.Second }

type trailDownload struct {
	resource.TrailPath
	WaitQuery
}

type artifactDownload struct {
	ArtifactPath
	WaitQuery
}

type attestationDownload struct {
	resource.AttestationPath
	WaitQuery
}

type bundleDownload struct {
	BundlePath
	WaitQuery
}

// form is a form in which a package is sent.
type form struct {
	contentType string
	encoding    string // the Content-Encoding, "" for none
	suffix      string // of the filename after the client has decoded the encoding
	report      bool   // send the report and not the archive
}

// The forms of the API (docs/semantics.md 21.1).
var (
	gzipFile   = form{contentType: "application/gzip", suffix: "-audit-package.tar.gz"}
	gzipStream = form{contentType: "application/octet-stream", encoding: "gzip", suffix: "-audit-package.tar"}
	bundleFile = form{contentType: "application/gzip", suffix: "-bundle.tar.gz"}
	pdfFile    = form{contentType: "application/pdf", suffix: "-audit-report.pdf", report: true}
)

// download makes the handler that waits for a package and sends it.
func download[I interface{ wait() time.Duration }](h *handlers, f form) func(context.Context, *I, *subject) (*server.StreamOutput, error) {
	return func(ctx context.Context, in *I, s *subject) (*server.StreamOutput, error) {
		answer, err := h.requests.Ask(ctx, s.Assembly, min((*in).wait(), h.maxWait))
		if err != nil {
			return nil, err
		}
		if answer.Progress != audit.Complete {
			return nil, notReady(&answer)
		}
		stored := f.stored(answer.Package)
		return server.Stream(ctx, server.Download{
			ContentType: f.contentType, Encoding: f.encoding, Filename: s.filename + f.suffix, Size: stored.Size, SHA256: stored.SHA256,
			Open: func(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
				return h.requests.Open(ctx, s.ID, stored, offset, length)
			},
			Verify: func(ctx context.Context) error { return h.requests.Check(ctx, s.ID, stored) },
		})
	}
}

// stored returns the object to send.
func (f form) stored(ready *audit.Assembled) audit.Stored {
	if f.report && ready.Report != nil {
		return *ready.Report
	}
	return ready.Archive
}

func notReady(answer *auditpackage.Answer) error {
	message := "The audit package is being assembled, please try again."
	if answer.Reason != "" {
		message = "The audit package could not be assembled: " + answer.Reason
	}
	return &evidence.Error{Code: evidence.Unavailable, Message: message, RetryAfter: retryAfter}
}

// AuditPackage is the progress of a package (docs/semantics.md 21.1).
type AuditPackage struct {
	State  audit.Progress `json:"state" enum:"pending,ready,failed"`
	Size   *int64         `json:"size" nullable:"true" doc:"Bytes; null unless it is ready."`
	SHA256 *string        `json:"sha256" nullable:"true" doc:"Of what is downloaded, in hexadecimal digits; null unless it is ready."`
	Reason *string        `json:"reason" nullable:"true" doc:"Why the last attempt failed; null if none did."`
	Href   string         `json:"href" doc:"Where to download it."`
}

// assemble makes the handler that requests a package and answers its progress.
func assemble[I any](h *handlers, path string, f form) func(context.Context, *I, *subject) (*server.Answer[AuditPackage], error) {
	return func(ctx context.Context, _ *I, s *subject) (*server.Answer[AuditPackage], error) {
		answer, err := h.requests.Ask(ctx, s.Assembly, 0)
		if err != nil {
			return nil, err
		}
		shown := AuditPackage{State: answer.Progress, Reason: resource.NilIfEmpty(answer.Reason), Href: s.href + path}
		if answer.Package != nil {
			stored := f.stored(answer.Package)
			shown.Size, shown.SHA256 = &stored.Size, &stored.SHA256
		}
		return server.Answered(shown), nil
	}
}

type handlers struct {
	*resource.Base
	requests *auditpackage.Requests
	// maxWait bounds the time that a request waits for its package.
	maxWait time.Duration
}

// waitReserve is the part of a request's time that is kept for the answer after the wait.
const waitReserve = 2 * time.Second

// Routes returns the routes of audit packages. requestTimeout is the time limit of a request.
func Routes(base *resource.Base, requests *auditpackage.Requests, requestTimeout time.Duration) []server.Route {
	h := &handlers{Base: base, requests: requests, maxWait: max(0, min(auditpackage.MaxWait, requestTimeout-waitReserve))}
	return server.Routes(map[string]server.Binder{
		"download_trail_audit_package":       resource.Found(h.trailSubject, download[trailDownload](h, gzipFile)),
		"assemble_trail_audit_package":       resource.Found(h.trailSubject, assemble[resource.TrailPath](h, "/audit_package", gzipFile)),
		"download_trail_audit_pdf":           resource.Found(h.trailSubject, download[trailDownload](h, pdfFile)),
		"assemble_trail_audit_pdf":           resource.Found(h.trailSubject, assemble[resource.TrailPath](h, "/audit_pdf", pdfFile)),
		"get_audit_package":                  resource.Found(h.artifactSubject, download[artifactDownload](h, gzipStream)),
		"assemble_artifact_audit_package":    resource.Found(h.artifactSubject, assemble[ArtifactPath](h, "", gzipStream)),
		"download_attestation_audit_package": resource.Found(h.attestationSubject, download[attestationDownload](h, gzipStream)),
		"download_audit_bundle":              resource.Found(h.bundleSubject, download[bundleDownload](h, bundleFile)),
		"assemble_audit_bundle":              resource.Found(h.bundleSubject, assemble[BundlePath](h, "", bundleFile)),
		"assemble_attestation_audit_package": resource.Found(h.attestationSubject, assemble[resource.AttestationPath](h, "", gzipStream)),
	})
}
