package mongodb_test

import (
	"context"
	"strings"
	"testing"

	"attestry/storage"
	"attestry/storage/mongodb"
)

func TestErrorsOfOpenKeepThePasswordSecret(t *testing.T) {
	things := []*storage.Schema{{
		Name: "things", Fields: []string{"org"},
		Indexes: []storage.Index{{Name: "org", Fields: []string{"org"}}},
	}}
	const secret = "s3cretWord"
	for _, uri := range []string{
		secret,
		"mongodb://user:" + secret + "@",
		"mongodb://user:" + secret + "/@127.0.0.1:1/",
		"mongodb://user:" + secret + "%zz@127.0.0.1:1/",
		"mongodb://user:" + secret + "@127.0.0.1:1/?authMechanism=" + secret,
		"mongodb://user:" + secret + "@127.0.0.1:1/?serverSelectionTimeoutMS=" + secret,
		"mongodb://user:" + secret + "@127.0.0.1:1/?serverSelectionTimeoutMS=50",
	} {
		db, err := mongodb.Open(context.Background(), mongodb.Options{URI: uri, Database: "x"}, things)
		if err == nil {
			_ = db.Close()
			t.Errorf("%s was opened", uri)
			continue
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error quotes the password: %v", err)
		}
	}
}
