package tenancy_test

import (
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/identity"
	"attestry/storage/tenancy"
)

func TestChangesFailWithEachOfTheirCommands(t *testing.T) {
	ctx := t.Context()
	clock := evidencetest.NewClock(time.Unix(1_800_000_000, 0))
	provider := identity.IdentityProvider{Name: "forge", Issuer: "https://forge.example", Audience: "attestry", Privilege: evidence.Member}
	failEach(t, 150, clock, func(s *tenancy.Tenancy) (err error) {
		var (
			anna, bert evidence.User
			admin      evidence.Principal
			change     tenancy.MemberChange
			account    identity.ServiceAccount
			owner      identity.KeyOwner
			key        evidence.Key
			invitation identity.Invitation
			secret     evidence.Secret
		)
		for _, step := range []func(){
			func() { anna, err = s.User(ctx, "anna") },
			func() { bert, err = s.User(ctx, "bert") },
			func() { _, _, err = s.PutIdentityProvider(ctx, "open", annaActs, provider) },
			func() { _, err = s.IsTrusted(ctx, provider.Issuer) },
			func() { _, err = s.IdentityProviders(ctx, "open") },
			func() { err = s.DeleteIdentityProvider(ctx, "open", annaActs, "forge") },
			func() { admin = evidence.Principal{UserID: anna.ID, Name: "anna"} },
			func() {
				_, secret, err = s.Invite(ctx, "open", identity.ActorOf(admin, evidence.Admin), evidence.Member, "for bert", time.Hour)
			},
			func() { _, err = s.AcceptInvitation(ctx, "open", secret, "bert") },
			func() {
				invitation, secret, err = s.Invite(ctx, "open", identity.ActorOf(admin, evidence.Admin), evidence.Member, "unused", time.Hour)
			},
			func() { err = s.AddInvitedUser(ctx, "open", secret, "dora") },
			func() { err = s.WithdrawInvitation(ctx, "open", invitation.ID, annaActs) },
			func() { account = identity.ServiceAccount{Name: "ci", Privilege: evidence.Member} },
			func() { account, err = s.CreateServiceAccount(ctx, "open", identity.Actor{ID: bert.ID}, account) },
			func() { _, err = s.AuthenticateAccount(ctx, "open", "ci") },
			func() {
				promote := func(a *identity.ServiceAccount) { a.Privilege = evidence.Admin }
				account, err = s.UpdateServiceAccount(ctx, "open", annaActs, account, promote)
			},
			func() {
				owner = identity.KeyOwner{ID: account.ID, Name: "ci", OrgID: account.OrgID, OrgName: "open", ServiceAccount: true}
			},
			func() { key, _, err = s.IssueKey(ctx, owner, annaActs, tenancy.NewKey{Description: "key"}) },
			func() { _, _, _, err = s.RotateKey(ctx, owner, annaActs, key.ID, time.Hour, 0) },
			func() { _, err = s.FirstExpiries(ctx, []string{account.ID}, clock.Now().Unix()+9999) },
			func() { _, err = s.ExpiringKeys(ctx, clock.Now().Unix()+9999) },
			func() { change, err = s.RemoveMember(ctx, "open", "bert", annaActs) },
			func() { err = s.RevokeServiceAccounts(ctx, "open", annaActs, change.Left) },
			func() { err = s.DeleteServiceAccount(ctx, "open", annaActs, account) },
			func() { err = s.CreateUser(ctx, "carl", "", annaActs) },
			func() { _, err = s.CreateOrganization(ctx, "new", anna, annaActs) },
			func() { err = s.SetBeta(ctx, "new", true) },
			func() { err = s.SetDefaultOrganization(ctx, admin, "new") },
			// Not carl: that would fail anyway if an error had left carl out.
			func() { err = s.RemoveUser(ctx, "bert", annaActs) },
		} {
			if step(); err != nil {
				return err
			}
		}
		return nil
	})
}
