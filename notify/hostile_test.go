package notify_test

import (
	"strings"

	"attestry/evidence/notification"
)

// hostileTexts are what clients could send in any text.
func hostileTexts() []string {
	return []string{
		`<script>alert(1)</script>`,
		`"><img src=x onerror=alert(1)>`,
		"name\r\nBcc: victim@example.org\r\n\r\nbody",
		"line\nbreak\u2028and\u2029paragraph\x0bend",
		"<!channel> <!here> <!everyone> <@U123> <#C123> <!subteam^S1>",
		"@channel @here @everyone @all (@anna)",
		"<https://evil.example/|click here> [click](https://evil.example/) ![](https://evil.example/x.png)",
		"\u202Egnp.exe \u2066isolate\u2069 \u200Fmark",
		"nul\x00byte \x1b[31mred\x07 \u0085",
		"\xff\xfe broken",
		strings.Repeat("n", 300),
		strings.Repeat("&<>", 2000),
		strings.Repeat("\U0001F600", 1000),
		"javascript:alert(1)",
		"https://evil.example/?a=1|b>c&d=" + strings.Repeat("&", 500),
		strings.Repeat("*_~`", 200),
		"{{.Org}} {{template \"x\"}}",
		"=?utf-8?q?encoded?=",
		"",
		"   ",
	}
}

// hostileNotices returns notices of environments and flows, with a hostile text in every field.
func hostileNotices() []notification.Notice {
	var notices []notification.Notice
	for _, text := range hostileTexts() {
		details := make([]string, 50)
		for i := range details {
			details[i] = text
		}
		common := notification.Notice{
			ID: "n", EventType: notification.EventArtifactStarted, Org: text, Timestamp: 1795435153, Action: text, Description: text, Details: details, Link: text,
			Artifact: &notification.NoticeArtifact{Name: text, Fingerprint: text, Provenance: &notification.NoticeProvenance{
				Flow: text, Status: text, Commit: text, CommitURL: text, HTMLURL: text, APIURL: text, BuildURL: text,
			}},
		}
		started := common
		started.Environment, started.Snapshot = text, &notification.NoticeSnapshot{Index: 1, Status: text, HTMLURL: text, APIURL: text}
		attested := common
		attested.EventType, attested.Flow = notification.EventAttestation, text
		attested.Trail = &notification.NoticeTrail{Name: text, Status: text, HTMLURL: text, APIURL: text}
		attested.Attestation = &notification.NoticeAttestation{ID: text, Name: text, Type: text, Status: text, HTMLURL: text, APIURL: text}
		attested.Approval = &notification.NoticeApproval{Number: 1, State: text, Reviewer: text, Fingerprint: text}
		unknown := common
		unknown.EventType = text
		notices = append(notices, started, attested, unknown)
	}
	return notices
}
