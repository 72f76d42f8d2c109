package apitest

import (
	"regexp"
)

var (
	ChangingID = regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{8}\b`)
	// The last use of a key is written after the request that used it.
	ChangingUse = regexp.MustCompile(`"last_used_at":\d+`)
	// A package contains ids that change.
	ChangingPackage = regexp.MustCompile(`"size":\d+,"sha256":"[0-9a-f]{64}"`)
	// Salts are random, and so are all hashes and signatures that depend on them.
	ChangingLog = []struct{ Pattern, Steady string }{
		{`127\.0\.0\.1:\d+/acme`, "attestry.example.com/acme"},
		{`\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}`, "+4f3c2b1a+AXJ7bhM0c9u0mXq2vK8Jt1nYl5cZr3wQe6oHs9dPfGaU"},
		{`"size":\d+,"root_hash"`, `"size":57,"root_hash"`},
		{`/acme\n\d+\n`, "/acme\n57\n"},
		{`/acme\\n\d+\\n`, `/acme\n57\n`},
		{`(\\"(hash|group)\\":\\")[0-9a-f]{64}`, "${1}6d12290f746151d6bc6c09d19ca705922df8813379b5031a3a1a6c63505386ff"},
		{`"salt":"[^"]*","index":\d+,"proof":\[[^]]*\]`, `"salt":"FdS90/pxDGk12mAtsZH5pA==","index":3,"proof":["l1bg+HgANOlzZq9JMSpR+uvjGhQxk03BpXkw2JRf4nw="]`},
		{`("fact":"[^"]*","index":)\d+`, "${1}3"},
		{`index \d+\\n([A-Za-z0-9+/=]{44}\\n)*`, `index 3\nl1bg+HgANOlzZq9JMSpR+uvjGhQxk03BpXkw2JRf4nw=\n`},
		{`"timestamp":[0-9.]+,"lag`, `"timestamp":1793618280.5,"lag`},
		{`"log_begin":(null|\{[^}]*\})`, `"log_begin":{"size":57,"timestamp":1793611740.5,"note":"attestry.example.com/acme\n57\nl1bg+HgANOlzZq9JMSpR+uvjGhQxk03BpXkw2JRf4nw=\n\n— attestry.example.com/acme eqedtOHFHlgN8LJAIIxtuocpAuaWdfuw6xIoMrGV9EO8cNyJt4HnEuN3CgCVT5dLlOvaMfAW4vKQ0+j5X5/MCojWiQg=\n"}`},
		{`"rank":"[0-9a-f]{64}"`, `"rank":"0a4f7e2bb96e9ea7c8175b643774f9b37c42f3cf462815bddbf946674f5776fa"`},
		{`"log_index":\d+`, `"log_index":47`},
		{`"[0-9a-f]{64}"},"annotations":{"log_index":47}`, `"2f7cdfc7c12ea0012f751aa8fa98e7f4e85bde04f88830f9c0cba43fd722a591"},"annotations":{"log_index":47}`},
		{`(\\n|\n|")[A-Za-z0-9+/]{43}=`, "${1}l1bg+HgANOlzZq9JMSpR+uvjGhQxk03BpXkw2JRf4nw="},
		{`[A-Za-z0-9+/]{91,96}=?=?(\\n|\n)`, "eqedtOHFHlgN8LJAIIxtuocpAuaWdfuw6xIoMrGV9EO8cNyJt4HnEuN3CgCVT5dLlOvaMfAW4vKQ0+j5X5/MCojWiQg=${1}"},
	}
	// The signed payload of a bundle contains the address of the service.
	ChangingPayload = regexp.MustCompile(`"payload":"([^"]+)","payloadType"`)
	ChangingKey     = regexp.MustCompile(`"(sig|hint|public_key)":"[^"]+"`)
	// A number with a fraction, or the seconds of an RFC 3339 time.
	ChangingNumber = regexp.MustCompile(`([:,\[]\d+\.\d)\d+(Z?)\b`)
)
