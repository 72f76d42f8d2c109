package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage/tenancy"
)

type listedKey struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	CreatedAt   string `json:"created_at"`
	// Ends and LastUsedAt are "" if never.
	Ends       string `json:"ends"`
	LastUsedAt string `json:"last_used_at"`
}

func listKeys(ctx context.Context, s *session, args []string) error {
	owner, err := s.keyOwner(ctx, args[0])
	if err != nil {
		return err
	}
	keys, err := s.Store.Tenancy.Keys(ctx, owner.ID)
	if err != nil {
		return err
	}
	list := s.newListing("ID", "CREATED", "ENDS", "LAST USED", "DESCRIPTION")
	for _, key := range keys {
		shown := listedKey{
			ID: key.ID, Description: key.Description, CreatedAt: wholeTime(key.CreatedAt), Ends: wholeTime(key.Ends()), LastUsedAt: wholeTime(key.LastUsedAt),
		}
		if err := list.add(shown, shown.ID, shown.CreatedAt, cmp.Or(shown.Ends, "never"), cmp.Or(shown.LastUsedAt, "never"), shown.Description); err != nil {
			return err
		}
	}
	return list.end()
}

func parseIssueKey(args []string) (action, error) {
	newKey := tenancy.NewKey{Description: args[1]}
	if n := utf8.RuneCountInString(newKey.Description); n < 1 || n > evidence.MaxKeyDescription {
		return nil, fmt.Errorf("a description has 1 to %d characters", evidence.MaxKeyDescription)
	}
	if len(args) > 2 {
		expires, ok := evidence.ParseTime(args[2])
		if !ok || expires.Unix() <= 0 || expires.Unix() > evidence.MaxKeyExpiry {
			return nil, fmt.Errorf("%q is no day or time in ISO 8601 from 1970 to the beginning of 2100", args[2])
		}
		newKey.ExpiresAt = expires.Unix()
	}
	return withTenancy(func(ctx context.Context, s *session, args []string) error {
		owner, err := s.keyOwner(ctx, args[0])
		if err != nil {
			return err
		}
		if newKey.ExpiresAt != 0 && newKey.ExpiresAt <= time.Now().Unix() {
			return errors.New("the key would have expired already")
		}
		key, secret, err := s.Store.Tenancy.IssueKey(ctx, owner, identity.Operator(), newKey)
		return s.done(err, "key %s of %s, shown this once: %s\n", key.ID, args[0], secret.Reveal())
	})(args)
}

func revokeKey(ctx context.Context, s *session, args []string) error {
	owner, err := s.keyOwner(ctx, args[0])
	if err != nil {
		return err
	}
	err = s.Store.Tenancy.RevokeKey(ctx, owner, identity.Operator(), args[1])
	return s.done(absent(err, "%s has no key %s that works", args[0], args[1]), "key %s of %s is revoked\n", args[1], args[0])
}

// keyOwner returns the owner of keys: a user or, if the name has a slash, a service account.
func (s *session) keyOwner(ctx context.Context, name string) (identity.KeyOwner, error) {
	orgName, accountName, isAccount := strings.Cut(name, "/")
	if !isAccount {
		owner, err := s.Store.Tenancy.UserKeys(ctx, name)
		return owner, absent(err, noUser, name)
	}
	org, err := s.organization(ctx, orgName)
	if err != nil {
		return identity.KeyOwner{}, err
	}
	account, err := s.Store.Tenancy.ServiceAccount(ctx, org.ID, accountName)
	err = absent(err, "organization %s has no service account %s", orgName, accountName)
	return identity.KeyOwner{ID: account.ID, Name: account.Name, OrgID: org.ID, OrgName: org.Name, ServiceAccount: true}, err
}

// wholeTime formats Unix seconds, "" for 0.
func wholeTime(seconds int64) string {
	if seconds == 0 {
		return ""
	}
	return time.Unix(seconds, 0).UTC().Format(time.RFC3339)
}
