package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"attestry/api/server"
	"attestry/api/web/request"
	"attestry/api/web/session"
	"attestry/api/web/view"
	"attestry/evidence"
)

const (
	// invitations is the prefix of the paths of invitations, outside the organization, which visitors need not see.
	invitations    = "/-/invitations/"
	invitationPath = invitations + ":inviting/:secret"
)

type invitationPage struct {
	Inviting, Role, Inviter string
	ExpiresAt               float64
	// Viewer is the signed-in user, "" for none. Login and SignIn are links for others.
	Viewer, Login, SignIn string
}

func (s *Site) showInvitation(p *page) error {
	inviting := p.Parameter("inviting")
	found, err := s.Identities.Invitation(p.C.UserContext(), inviting, evidence.Secret(p.Parameter("secret")))
	if err != nil {
		return err
	}
	if p.Viewer, err = s.sessions.Principal(p.C); err != nil && !errors.Is(err, session.ErrSignedOut) {
		return err
	}
	shown := invitationPage{Inviting: inviting, Role: found.Role.String(), Inviter: found.Inviter, ExpiresAt: found.ExpiresAt, Viewer: p.Viewer.Name}
	next := "?next=" + url.QueryEscape(p.C.Path())
	shown.SignIn = "/signin" + next
	if s.Login != nil {
		shown.Login = loginPath + next
	}
	p.C.Set("Cache-Control", "no-store")
	return p.Render("invitation", "Invitation", &shown)
}

// acceptInvitation makes the signed-in user a member.
func (s *Site) acceptInvitation(p *page) (err error) {
	if p.Viewer, err = s.sessions.Principal(p.C); err != nil {
		return err
	}
	inviting := p.Parameter("inviting")
	body, _ := json.Marshal(map[string]string{"secret": p.Parameter("secret")}) // a text
	var accepted struct{}
	query := server.PageQuery{Method: http.MethodPost, Target: request.Target("/user/invitations/%s", inviting), ContentType: "application/json", Body: body}
	if err := p.Ask(query, p.Decode(&accepted)); err != nil {
		return err
	}
	return p.C.Redirect(view.Pages.Organization(inviting), http.StatusSeeOther)
}

// addInvited adds the user whom the identity provider names, if they come from the page of a valid invitation.
// Otherwise it returns evidence.NotFound.
func (s *Site) addInvited(p *page, name, from string) error {
	link, _ := strings.CutPrefix(from, invitations)
	inviting, secret, _ := strings.Cut(link, "/")
	return s.Identities.AddInvitedUser(p.C.UserContext(), inviting, evidence.Secret(secret), name)
}
