package notify

import (
	"embed"
	html "html/template"
	netmail "net/mail"
	"strings"
	text "text/template"

	"github.com/wneessen/go-mail"

	"attestry/evidence"
	"attestry/evidence/notification"
)

// maxSubject bounds the subject of an e-mail, in characters.
const maxSubject = 150

//go:embed templates
var templates embed.FS

var (
	htmlTemplate = html.Must(html.ParseFS(templates, "templates/email.html"))
	textTemplate = text.Must(text.ParseFS(templates, "templates/email.txt"))
)

// compose makes the e-mail of a delivery to all recipients, who see each other. All attempts have the same Message-ID.
func compose(delivery *notification.Delivery, from *netmail.Address, to []*netmail.Address) (*mail.Msg, error) {
	message := messageOf(&delivery.Notice)
	var plainText, htmlText strings.Builder
	if err := textTemplate.Execute(&plainText, message); err != nil {
		return nil, err
	}
	if err := htmlTemplate.Execute(&htmlText, message); err != nil {
		return nil, err
	}
	e := mail.NewMsg()
	e.FromMailAddress(from)
	e.ToMailAddress(to...)
	e.Subject(subject(message))
	e.SetMessageIDWithValue(delivery.ID + "@" + domain(from))
	e.SetDateWithValue(evidence.Time(delivery.CreatedAt))
	e.SetUserAgent(userAgent)
	// Vacation responders do not answer such e-mails.
	e.SetGenHeader("Auto-Submitted", "auto-generated")
	e.SetBodyString(mail.TypeTextPlain, plainText.String())
	e.AddAlternativeString(mail.TypeTextHTML, htmlText.String())
	return e, nil
}

func subject(m message) string {
	if m.Org == "" {
		return evidence.ShortenTo(m.Title, maxSubject)
	}
	return evidence.ShortenTo("["+evidence.ShortenTo(m.Org, maxName)+"] "+m.Title, maxSubject)
}

func domain(address *netmail.Address) string {
	return address.Address[strings.LastIndexByte(address.Address, '@')+1:]
}
