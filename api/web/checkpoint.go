package web

import (
	"io"
	"net/http"
	"strings"

	"attestry/api/proofs"
	"attestry/api/server"
	"attestry/api/web/request"
)

// maxCheckpoint bounds a checkpoint, in bytes: three lines, and a line for each key and each witness.
const maxCheckpoint = 64 << 10

// logPage shows the last checkpoint of a transparency log.
type logPage struct {
	Org    string `json:"-"`
	Exists bool   `json:"-"` // whether there is a checkpoint
	proofs.LogResponse
	// Address is the URL of the log for verifiers.
	Address string `json:"-"`
	// Note is the signed checkpoint. Signers are the names on its signatures: the origin and witnesses.
	Note    string   `json:"-"`
	Signers []string `json:"-"`
}

func (s *Site) showLog(p *page) error {
	shown := logPage{Org: p.Org(), Address: s.Links.Base + "/-/log/" + p.Org()}
	p.APIPath = request.Target("/log/%s", shown.Org)
	var err error
	if shown.Exists, err = p.GetIfThere(p.APIPath, &shown); err == nil && shown.Exists {
		checkpoint := server.PageQuery{Method: http.MethodGet, Target: p.APIPath + "/checkpoint"}
		err = p.Ask(checkpoint, func(answer *server.PageAnswer) error { return shown.read(answer.Body()) })
	}
	if err != nil {
		return err
	}
	return p.Render("log", "Transparency log", &shown)
}

// read reads a checkpoint: its text, an empty line, and lines of a dash, a name and a signature.
func (l *logPage) read(content io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(content, maxCheckpoint))
	l.Note = string(text)
	_, signatures, _ := strings.Cut(l.Note, "\n\n")
	for line := range strings.Lines(signatures) {
		if fields := strings.Fields(line); len(fields) > 1 {
			l.Signers = append(l.Signers, fields[1])
		}
	}
	return err
}
