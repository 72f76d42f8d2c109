package notify

import (
	"fmt"
	"strconv"
	"time"

	"attestry/evidence"
	"attestry/evidence/notification"
)

// message is the content of a chat message or an e-mail. All texts are plain.
type message struct {
	// Title summarizes the event in a few words, Description in a sentence.
	Title       string
	Description string
	Facts       []fact
	// Details are further sentences, such as why an artifact is not compliant.
	Details []string
	// Link is the page of the event, "" if there is none.
	Link   string
	Org    string
	Action string
	At     time.Time
}

// fact is a line of a message. Link may be "".
type fact struct{ Label, Value, Link string }

func messageOf(n *notification.Notice) message {
	m := message{
		Title: title(n), Description: plain(n.Description), Link: webLink(n.Link),
		Org: plain(n.Org), Action: plain(n.Action), At: evidence.Time(n.Timestamp),
	}
	m.addFacts(n)
	for _, detail := range n.Details[:min(len(n.Details), notification.MaxDetails)] {
		if detail = plain(detail); detail != "" {
			m.Details = append(m.Details, detail)
		}
	}
	return m
}

// Time returns the time of the event as text.
func (m message) Time() string { return m.At.Format("2006-01-02 15:04:05 UTC") }

func (m *message) add(label, value, link string) {
	if value = plain(value); value != "" {
		m.Facts = append(m.Facts, fact{Label: label, Value: value, Link: webLink(link)})
	}
}

func (m *message) addFacts(n *notification.Notice) {
	m.add("Environment", n.Environment, "")
	if s := n.Snapshot; s != nil {
		m.add("Snapshot", withStatus(strconv.FormatInt(s.Index, 10), s.Status), s.HTMLURL)
	}
	m.add("Flow", n.Flow, "")
	if t := n.Trail; t != nil {
		m.add("Trail", withStatus(t.Name, t.Status), t.HTMLURL)
	}
	m.addArtifact(n.Artifact, n.Environment != "")
	if a := n.Attestation; a != nil {
		m.add("Attestation", withStatus(a.Name, a.Status), a.HTMLURL)
		m.add("Type", a.Type, "")
	}
	if a := n.Approval; a != nil {
		m.add("Approval", withStatus(strconv.Itoa(a.Number), a.State), "")
		m.add("Reviewer", a.Reviewer, "")
	}
}

// addArtifact adds the facts of an artifact. In an environment, an artifact without provenance was reported by no flow.
func (m *message) addArtifact(a *notification.NoticeArtifact, runs bool) {
	if a == nil {
		return
	}
	m.add("Artifact", a.Name, "")
	m.add("Fingerprint", a.Fingerprint, "")
	if p := a.Provenance; p != nil {
		m.add("Provenance", "flow "+withStatus(p.Flow, p.Status), p.HTMLURL)
		m.add("Commit", p.Commit, p.CommitURL)
		m.add("Build", p.BuildURL, p.BuildURL)
	} else if runs {
		m.add("Provenance", "unknown: no flow has reported this artifact", "")
	}
}

func withStatus(name, status string) string {
	if status == "" {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, status)
}
