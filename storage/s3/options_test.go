package s3_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"attestry/storage/s3"
)

func TestParseURLReadsEveryPart(t *testing.T) {
	for address, want := range map[string]s3.Options{
		"http://key:secret@127.0.0.1:9000/evidence": {
			Endpoint: "http://127.0.0.1:9000", Bucket: "evidence", AccessKey: "key", SecretKey: "secret",
		},
		"https://key:a%2Fb%40c@s3.eu-west-1.amazonaws.com/evidence?region=eu-west-1": {
			Endpoint: "https://s3.eu-west-1.amazonaws.com", Bucket: "evidence", Region: "eu-west-1", AccessKey: "key", SecretKey: "a/b@c",
		},
	} {
		got, err := s3.ParseURL(address)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseURL(%q) = %+v, %v", address, got, err)
		}
	}
}

func TestParseURLRefusesFaultsAndShowsNoSecret(t *testing.T) {
	for _, address := range []string{
		"",
		"key:hidden@host/bucket",
		"ftp://key:hidden@host/bucket",
		"http://key:hidden@/bucket",
		"http://key:hidden@host",
		"http://key:hidden@host/",
		"http://key:hidden@host/bucket/folder",
		"http://key:hidden@host/Bucket_Name",
		"http://key:hidden@host/bucket?secure=false",
		"http://key:hidden@host/bucket#part",
		"http://key:hidden%zz@host/bucket",
		"http://key:hidden@host:port/bucket",
		"http://key@host/bucket",
		"http://:hidden@host/bucket",
		"http://host/bucket",
	} {
		_, err := s3.ParseURL(address)
		if err == nil {
			t.Errorf("ParseURL took %q", address)
		} else if strings.Contains(err.Error(), "hidden") {
			t.Errorf("the secret shows in %q", err)
		}
	}
}

func TestOptionsPrintWithoutTheSecret(t *testing.T) {
	options := s3.Options{Endpoint: "http://host", Bucket: "bucket", AccessKey: "access", SecretKey: "s3cr3t"}
	if printed := fmt.Sprintf("%v %+v %#v", options, options, options); strings.Contains(printed, "s3cr3t") {
		t.Errorf("printed: %s", printed)
	}
}
