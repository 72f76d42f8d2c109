package s3_test

import (
	"fmt"
	"strings"
	"testing"

	"attestry/storage/s3"
)

func TestOpenRefusesFaultyOptionsAndShowsNoSecret(t *testing.T) {
	sound := s3.Options{Endpoint: "http://127.0.0.1:1", Bucket: "evidence", AccessKey: "access", SecretKey: "s3cr3t"}
	for name, spoil := range map[string]func(*s3.Options){
		"scheme": func(o *s3.Options) { o.Endpoint = "ftp://host" },
		"host":   func(o *s3.Options) { o.Endpoint = "http://" },
		"bucket": func(o *s3.Options) { o.Bucket = "Bucket_Name" },
		"access": func(o *s3.Options) { o.AccessKey = "" },
		"secret": func(o *s3.Options) { o.SecretKey = "" },
	} {
		options := sound
		spoil(&options)
		_, err := s3.Open(t.Context(), options)
		if err == nil || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOptionsPrintWithoutTheSecret(t *testing.T) {
	options := s3.Options{Endpoint: "http://host", Bucket: "bucket", AccessKey: "access", SecretKey: "s3cr3t"}
	if printed := fmt.Sprintf("%v %+v %#v", options, options, options); strings.Contains(printed, "s3cr3t") {
		t.Errorf("printed: %s", printed)
	}
}
