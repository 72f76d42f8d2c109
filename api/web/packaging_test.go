package web

import (
	"strings"
	"testing"
)

func TestPackageIsShownAsItComesAlong(t *testing.T) {
	const refresh = `<meta http-equiv="refresh" content="3">`
	const of = "POST /trails/acme/checkout/t1"
	api := &fakeAPI{answers: map[string][]string{
		"GET /flows/acme/checkout": {`{"name":"checkout"}`},
		of + "/audit_package": {
			`{"state":"pending","size":null,"sha256":null,"reason":null}`,
			`{"state":"failed","size":null,"sha256":null,"reason":"` + script + `"}`,
			`{"state":"ready","size":2048,"sha256":"` + fingerprint + `","reason":null}`,
		},
		of + "/audit_pdf": {`{"state":"ready","size":4096,"sha256":"aa` + fingerprint[2:] + `","reason":null}`},
	}}
	const path = "/acme/flows/checkout/trails/t1/package"
	pending := open(t, api, path)
	pending.has(t, refresh, "pending", "<progress")
	if strings.Index(pending.text, refresh) > strings.Index(pending.text, "</head>") {
		t.Error("the page is not reloaded by its head")
	}
	failed := open(t, api, path)
	failed.has(t, "failed", "&lt;script&gt;alert(1)&lt;/script&gt;", `href="/acme/flows/checkout/trails/t1/package">Try again`)
	ready := open(t, api, path)
	ready.has(t, `href="/api/v2/trails/acme/checkout/t1/audit_package" download`, `href="/api/v2/trails/acme/checkout/t1/audit_pdf" download`,
		"2.0 KiB", "4.0 KiB", fingerprint, "aa"+fingerprint[2:])
	if strings.Contains(failed.text, refresh) || strings.Contains(ready.text, refresh) {
		t.Error("a page is reloaded that does not change")
	}
	if want := of + "/audit_package"; api.asked[3] != want || len(api.asked) != 7 {
		t.Errorf("asked %v", api.asked)
	}
}
