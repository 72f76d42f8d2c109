package notify_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"attestry/evidence/approval"
	"attestry/evidence/notification"
	"attestry/notify"
)

type chatText struct{ Type, Text string }

type chatMessage struct {
	Text   string
	Blocks []struct {
		Type     string
		Text     *chatText
		Elements []chatText
	}
}

// texts returns the texts of all blocks.
func (m chatMessage) texts() []chatText {
	var all []chatText
	for _, block := range m.Blocks {
		if block.Text != nil {
			all = append(all, *block.Text)
		}
		all = append(all, block.Elements...)
	}
	return all
}

// chat sends a notice to a chat service and returns what arrives there.
func chat(t *testing.T, notice notification.Notice) (chatMessage, []byte) {
	t.Helper()
	r := newReceiver(t, ok)
	target := &notification.Target{Type: notification.Slack, Webhook: r.URL + "/services/T0/B0/X"}
	attempt := newSender(notify.Sender{}).Send(context.Background(), target, delivery(notice), nil)
	if attempt.Reason != "" || attempt.Answer != "ok" {
		t.Fatalf("got %+v", attempt)
	}
	got := r.requests()[0]
	if kind := got.header.Get("Content-Type"); kind != "application/json" || got.header.Get("webhook-signature") != "" {
		t.Errorf("got %v", got.header)
	}
	var m chatMessage
	if err := json.Unmarshal(got.body, &m); err != nil {
		t.Fatal(err)
	}
	return m, got.body
}

// links matches what messages may contain between < and >.
var links = regexp.MustCompile(`<(https?://[^<>|\x00-\x20]+\|[^<>|]*|!date\^[0-9]+\^\{date_short_pretty\} \{time_secs\}\|[-0-9: UTC]+)>`)

func TestChatsEscapeTextsAndKeepTheLimits(t *testing.T) {
	for i, notice := range append(exampleNotices(), hostileNotices()...) {
		m, body := chat(t, notice)
		if len(m.Blocks) > 50 || m.Blocks[0].Type != "header" {
			t.Errorf("%d: %d blocks", i, len(m.Blocks))
		}
		for _, text := range append(m.texts(), chatText{"mrkdwn", m.Text}) {
			most := 3000
			if text.Type == "plain_text" {
				most = 150
			}
			if text.Text == m.Text {
				most = 4000
			}
			if n := len(utf16.Encode([]rune(text.Text))); n > most || n == 0 {
				t.Errorf("%d: a text has %d characters", i, n)
			}
			if !utf8.ValidString(text.Text) || strings.ContainsAny(text.Text, "\x00\r\x1b\u202E\u2028") {
				t.Errorf("%d: %q", i, text.Text)
			}
			if rest := links.ReplaceAllString(text.Text, ""); strings.ContainsAny(rest, "<>") {
				t.Errorf("%d: not escaped: %q", i, rest)
			}
			if strings.Contains(strings.NewReplacer("&amp;", "", "&lt;", "", "&gt;", "").Replace(text.Text), "&") {
				t.Errorf("%d: an escaped character is cut: %q", i, text.Text)
			}
		}
		if mention := regexp.MustCompile(`(^|[^A-Za-z0-9])@[a-z]`).FindString(m.Text); mention != "" || strings.Contains(m.Text, "](") {
			t.Errorf("%d: a mention or link: %q", i, m.Text)
		}
		if len(body) > 200_000 {
			t.Errorf("%d: %d bytes", i, len(body))
		}
	}
}

func TestMarkupInNamesIsNotFormatted(t *testing.T) {
	notice := startedNotice()
	notice.Environment, notice.Action, notice.Artifact.Name = "_prod_", "`act`", "*bold* ~gone~ _x_ my_app `code`"
	notice.Artifact.Provenance.Flow = "a~b*c"
	notice.Details = []string{"*why*"}
	m, _ := chat(t, notice)
	if got := m.Blocks[0].Text; got.Type != "plain_text" || !strings.Contains(got.Text, "*bold* ~gone~ _x_ my_app `code`") {
		t.Errorf("the header is %+v", got)
	}
	label := regexp.MustCompile(`(?m)^\*[A-Z][a-z]+:\* `)
	all := m.Text
	for _, text := range m.texts()[1:] {
		all += "\n" + label.ReplaceAllString(text.Text, "")
	}
	plain := links.ReplaceAllStringFunc(all, func(link string) string { _, text, _ := strings.Cut(link, "|"); return text })
	if strings.ContainsAny(strings.NewReplacer("my_app", "", "{time_secs}", "").Replace(plain), "*_~`") {
		t.Errorf("marks are left: %s", plain)
	}
	for _, want := range []string{"＊bold＊ ～gone～ ＿x＿ my_app ｀code｀", "＿prod＿", "｀act｀", "a～b＊c", "＊why＊"} {
		if strings.Count(all, want) < 2 {
			t.Errorf("%q is not in both the blocks and the text:\n%s", want, all)
		}
	}
}

func TestOnlyWebAddressesAreLinks(t *testing.T) {
	notice := startedNotice()
	notice.Artifact.Provenance.BuildURL = "javascript:alert(1)"
	notice.Artifact.Provenance.CommitURL = "https://git.example.com/a|b?c=<d>&e"
	m, _ := chat(t, notice)
	facts := m.Blocks[2].Text.Text
	for _, want := range []string{
		"*Build:* javascript:alert(1)",
		"*Commit:* <https://git.example.com/a%7Cb?c=%3Cd%3E&amp;e|9e107d9d372bb6826bd81d3542a419d6f0e1de56>",
	} {
		if !strings.Contains(facts, want) {
			t.Errorf("%q is not in\n%s", want, facts)
		}
	}
}

func TestLongTextsAreCutBetweenCharacters(t *testing.T) {
	notice := startedNotice()
	notice.Artifact.Name = strings.Repeat("ü", 300)
	m, _ := chat(t, notice)
	if got, want := m.Blocks[0].Text.Text, "production: "+strings.Repeat("ü", 79)+"… started running"; got != want {
		t.Errorf("got %q", got)
	}
	notice.Description = strings.Repeat("&", 2000)
	m, _ = chat(t, notice)
	if got := m.Blocks[1].Text.Text; !strings.HasSuffix(got, "&amp;…") || len(got) > 3000 {
		t.Errorf("got %q", got)
	}
}

func TestArtifactsAreCalledApprovedOnlyOnceTheyAre(t *testing.T) {
	for state, want := range map[approval.State]string{
		approval.Approved: "nginx:1.25 was approved", approval.Unapproved: "nginx:1.25 was refused approval", approval.Pending: "nginx:1.25 awaits approval",
	} {
		t.Run(string(state), func(t *testing.T) {
			notice := trailNotice(notification.EventApproval)
			notice.Artifact = startedNotice().Artifact
			notice.Approval = &notification.NoticeApproval{Number: 3, State: string(state)}
			if m, _ := chat(t, notice); !strings.Contains(m.Blocks[0].Text.Text, want) {
				t.Errorf("the header is %q", m.Blocks[0].Text.Text)
			}
		})
	}
}
