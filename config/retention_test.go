package config_test

import (
	"maps"
	"testing"

	"attestry/config"
)

func TestRetentionNeedsABucket(t *testing.T) {
	const folder = ": needs a bucket with object lock: ATTESTRY_OBJECTS_URL names a folder, from which files can be deleted"
	for name, test := range map[string]struct {
		given map[string]string
		on    bool
		fault string
	}{
		"nothing":                 {map[string]string{}, false, ""},
		"empty settings":          {map[string]string{"DAYS": "", "ORGANIZATIONS": "", "MODE": ""}, false, ""},
		"zero days":               {map[string]string{"DAYS": "0", "ORGANIZATIONS": "acme=0"}, false, ""},
		"a mode alone":            {map[string]string{"MODE": "compliance"}, false, ""},
		"days":                    {map[string]string{"DAYS": "1"}, true, "ATTESTRY_RETENTION_DAYS" + folder},
		"days of an organization": {map[string]string{"ORGANIZATIONS": "acme=0,demo=30"}, true, "ATTESTRY_RETENTION_ORGANIZATIONS" + folder},
	} {
		t.Run(name, func(t *testing.T) {
			given := map[string]string{}
			for setting, value := range test.given {
				given["ATTESTRY_RETENTION_"+setting] = value
			}
			_, err := config.Load(environ(given))
			if err == nil && test.fault != "" || err != nil && err.Error() != test.fault {
				t.Errorf("with a folder: %v", err)
			}
			bucket := maps.Clone(given)
			bucket["ATTESTRY_OBJECTS_URL"] = "http://KEY:secret@minio:9000/attestry"
			settings, err := config.Load(environ(bucket))
			if err != nil || settings.Retention.On() != test.on {
				t.Errorf("with a bucket: %+v, %v", settings.Retention, err)
			}
		})
	}
}
