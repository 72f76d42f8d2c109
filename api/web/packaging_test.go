package web

import (
	"strings"
	"testing"
)

func TestPackagePageIsReloadedUntilThePackageIsReadyOrHasFailed(t *testing.T) {
	const refresh = `<meta http-equiv="refresh" content="3">`
	const of = "POST /trails/acme/checkout/t1"
	api := newFakeAPI(t, cannedAnswers{
		"GET /flows/acme/checkout": canned(flowAnswer("checkout")),
		of + "/audit_package": canned(
			`{"state":"pending","size":null,"sha256":null,"reason":null}`,
			`{"state":"failed","size":null,"sha256":null,"reason":"`+script+`"}`,
			`{"state":"ready","size":2048,"sha256":"`+fingerprint+`","reason":null}`,
		),
		of + "/audit_pdf": canned(`{"state":"ready","size":4096,"sha256":"aa` + fingerprint[2:] + `","reason":null}`),
	})
	const path = "/acme/flows/checkout/trails/t1/package"
	pending := api.open(t, path)
	pending.has(t, refresh, "pending", "<progress")
	if strings.Index(pending.text, refresh) > strings.Index(pending.text, "</head>") {
		t.Error("the page is not reloaded by its head")
	}
	failed := api.open(t, path)
	failed.has(t, "failed", "&lt;script&gt;alert(1)&lt;/script&gt;", `href="/acme/flows/checkout/trails/t1/package">Try again`)
	ready := api.open(t, path)
	ready.has(t, `href="/api/v2/trails/acme/checkout/t1/audit_package" download`, `href="/api/v2/trails/acme/checkout/t1/audit_pdf" download`,
		"2.0 KiB", "4.0 KiB", fingerprint, "aa"+fingerprint[2:])
	failed.lacks(t, refresh)
	ready.lacks(t, refresh)
	// The flow and the package are requested three times, the report once.
	if report := api.queries[len(api.queries)-1]; report.Target != "/trails/acme/checkout/t1/audit_pdf" || len(api.queries) != 7 {
		t.Errorf("asked %v", api.queries)
	}
}
