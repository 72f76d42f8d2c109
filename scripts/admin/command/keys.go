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
	"attestry/storage"
	"attestry/storage/tenancy"
)

// listedKey is a key as it is listed.
type listedKey struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	CreatedAt   string `json:"created_at"`
	// Ends and LastUsedAt are "" for never.
	Ends       string `json:"ends"`
	LastUsedAt string `json:"last_used_at"`
}

func parseListKeys(args []string) (action, error) {
	return withOwner(args[0], func(ctx context.Context, s *session, owner identity.KeyOwner) error {
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
	}), nil
}

func parseIssueKey(args []string) (action, error) {
	asked := tenancy.NewKey{Description: args[1]}
	if n := utf8.RuneCountInString(asked.Description); n < 1 || n > evidence.MaxKeyDescription {
		return nil, fmt.Errorf("a description has 1 to %d characters", evidence.MaxKeyDescription)
	}
	if len(args) > 2 {
		expires, ok := evidence.ParseTime(args[2])
		if !ok || expires.Unix() <= 0 || expires.Unix() > evidence.MaxKeyExpiry {
			return nil, fmt.Errorf("%q is no day or time in ISO 8601 from 1970 to the beginning of 2100", args[2])
		}
		asked.ExpiresAt = expires.Unix()
	}
	return withOwner(args[0], func(ctx context.Context, s *session, owner identity.KeyOwner) error {
		if asked.ExpiresAt != 0 && asked.ExpiresAt <= time.Now().Unix() {
			return errors.New("the key would have expired already")
		}
		key, secret, err := s.Store.Tenancy.IssueKey(ctx, owner, identity.Operator(), asked)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "key %s of %s, shown this once: %s\n", key.ID, args[0], secret.Reveal())
		return err
	}), nil
}

func parseRevokeKey(args []string) (action, error) {
	return withOwner(args[0], func(ctx context.Context, s *session, owner identity.KeyOwner) error {
		err := s.Store.Tenancy.RevokeKey(ctx, owner, identity.Operator(), args[1])
		if errors.Is(err, storage.ErrNotFound) {
			return fmt.Errorf("%s has no key %s that works", args[0], args[1])
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "key %s of %s is revoked\n", args[1], args[0])
		return err
	}), nil
}

// withOwner makes an action on the keys of an owner, who is a user or, with a slash in the name,
// a service account.
func withOwner(name string, f func(ctx context.Context, s *session, owner identity.KeyOwner) error) action {
	return withTenancy(func(ctx context.Context, s *session) error {
		owner, err := s.keyOwner(ctx, name)
		if err != nil {
			return err
		}
		return f(ctx, s, owner)
	})
}

func (s *session) keyOwner(ctx context.Context, name string) (identity.KeyOwner, error) {
	orgName, accountName, isAccount := strings.Cut(name, "/")
	if !isAccount {
		owner, err := s.Store.Tenancy.UserKeys(ctx, name)
		if errors.Is(err, storage.ErrNotFound) {
			err = noUser(name)
		}
		return owner, err
	}
	org, err := s.organization(ctx, orgName)
	if err != nil {
		return identity.KeyOwner{}, err
	}
	account, err := s.Store.Tenancy.ServiceAccount(ctx, org.ID, accountName)
	if errors.Is(err, storage.ErrNotFound) {
		err = fmt.Errorf("organization %s has no service account %s", orgName, accountName)
	}
	return identity.KeyOwner{ID: account.ID, Name: account.Name, OrgID: org.ID, OrgName: org.Name, ServiceAccount: true}, err
}

// wholeTime writes whole Unix seconds, "" for 0.
func wholeTime(seconds int64) string {
	if seconds == 0 {
		return ""
	}
	return time.Unix(seconds, 0).UTC().Format(time.RFC3339)
}
