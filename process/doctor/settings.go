package doctor

import (
	"context"
	"errors"
	"strings"

	"attestry/config"
	"attestry/storage"
)

// examineSettings finds settings that are valid each by itself, but not with one another or with what is stored.
func examineSettings(ctx context.Context, s *Subject) (found []Finding, err error) {
	of := &s.Settings
	for _, one := range []struct {
		found            bool
		measured, advice string
	}{
		{of.Stores.Database.Engine == config.Pebble && len(of.Worker.Queues) < len(config.QueueNames),
			"ATTESTRY_QUEUES leaves out queues that with Pebble no other process serves", "serve all queues"},
		{len(of.Log.Witnesses) > 0 && of.Log.KeyFile == "",
			"ATTESTRY_LOG_WITNESSES names witnesses, and without ATTESTRY_LOG_KEY_FILE nothing is logged", "set both or neither"},
		{of.SignIn.Issuer != "" && !bool(of.HTTP.Web),
			"ATTESTRY_OIDC_ISSUER signs people in to pages that ATTESTRY_WEB leaves out", "switch the pages on, or leave the issuer out"},
		{of.HTTP.HTTPS() && strings.HasPrefix(string(of.HTTP.BaseURL), "http://"),
			"ATTESTRY_BASE_URL begins with http://, and the API is served over HTTPS", "begin it with https://"},
		{of.Retention.Mode == config.Compliance && !of.Retention.On(),
			"ATTESTRY_RETENTION_MODE is set, and no days of retention are", "set ATTESTRY_RETENTION_DAYS, or no mode"},
	} {
		if one.found {
			found = append(found, warning(one.advice, "%s", one.measured))
		}
	}
	for name := range of.Retention.Organizations {
		_, err := s.Store.Tenancy.Organization(ctx, name)
		if errors.Is(err, storage.ErrNotFound) {
			found = append(found, warning("correct the name", "ATTESTRY_RETENTION_ORGANIZATIONS has %s, and no organization is called so", name))
		} else if err != nil {
			return nil, err
		}
	}
	return orOK(found, "none contradicts another"), nil
}
