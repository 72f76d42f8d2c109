// Package packages has the operations on audit packages.
package packages

import (
	"net/http"
	"time"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/tasks/auditpackage"
)

type handlers struct {
	*resource.Base
	requests *auditpackage.Requests
	// maxWait is the longest that a request waits for its package.
	maxWait time.Duration
}

// waitReserve is what a request has left of its time when it has waited for its package.
const waitReserve = 2 * time.Second

// Routes are those of audit packages. A request may take requestTimeout.
func Routes(base *resource.Base, requests *auditpackage.Requests, requestTimeout time.Duration) []server.Route {
	h := &handlers{Base: base, requests: requests, maxWait: max(0, min(auditpackage.MaxWait, requestTimeout-waitReserve))}
	return []server.Route{
		download("/trails/{org}/{flow_name}/{trail_name}/audit_package", "download_trail_audit_package", "Trails",
			"Download the audit package of a trail", server.Handle(h.downloadTrail)),
		assemble("/trails/{org}/{flow_name}/{trail_name}/audit_package", "assemble_trail_audit_package", "Trails",
			"Have the audit package of a trail assembled", server.Handle(h.assembleTrail)),
		download("/trails/{org}/{flow_name}/{trail_name}/audit_pdf", "download_trail_audit_pdf", "Trails",
			"Download the report of a trail as PDF", server.Handle(h.downloadReport)),
		assemble("/trails/{org}/{flow_name}/{trail_name}/audit_pdf", "assemble_trail_audit_pdf", "Trails",
			"Have the report of a trail rendered", server.Handle(h.assembleReport)),
		download("/artifacts/{org}/{flow_name}/{fingerprint}/audit_package", "get_audit_package", "Artifacts",
			"Download the audit package of an artifact", server.Handle(h.downloadArtifact)),
		assemble("/artifacts/{org}/{flow_name}/{fingerprint}/audit_package", "assemble_artifact_audit_package", "Artifacts",
			"Have the audit package of an artifact assembled", server.Handle(h.assembleArtifact)),
		download("/attestations/{org}/{flow_name}/trail/{trail_name}/attestation/{attestation_id}/audit_package",
			"download_attestation_audit_package", "Attestation",
			"Download the audit package of an attestation", server.Handle(h.downloadAttestation)),
		assemble("/attestations/{org}/{flow_name}/trail/{trail_name}/attestation/{attestation_id}/audit_package",
			"assemble_attestation_audit_package", "Attestation",
			"Have the audit package of an attestation assembled", server.Handle(h.assembleAttestation)),
	}
}

func download(path, id, tag, summary string, serve server.Binder) server.Route {
	return server.Route{
		Method: http.MethodGet, Path: path, OperationID: id, Tag: tag, Summary: summary, MinRole: evidence.Reader,
		Statuses: []int{http.StatusOK, http.StatusPartialContent}, Serve: serve,
	}
}

func assemble(path, id, tag, summary string, serve server.Binder) server.Route {
	return server.Route{Method: http.MethodPost, Path: path, OperationID: id, Tag: tag, Summary: summary, MinRole: evidence.Reader, Serve: serve}
}
