package mongodb

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"attestry/evidence"
	"attestry/storage"
)

// failures returns the kinds of errors in which the driver reports a code of the server.
func failures(code int) map[string]error {
	one := mongo.WriteError{Code: code}
	return map[string]error{
		"command":       mongo.CommandError{Code: int32(code)},
		"write":         mongo.WriteException{WriteErrors: []mongo.WriteError{one}},
		"write concern": mongo.WriteException{WriteConcernError: &mongo.WriteConcernError{Code: code}},
		"bulk write":    mongo.BulkWriteException{WriteErrors: []mongo.BulkWriteError{{WriteError: one}}},
	}
}

func TestServerThatRefusesWritesIsUnavailableWithItsReason(t *testing.T) {
	for code, want := range map[int]string{
		13:    "The database cannot be written to: permission is denied.",
		371:   "The database cannot be written to: its administrator has blocked writes.",
		14031: "The database cannot be written to: the disk is full.",
	} {
		for form, failure := range failures(code) {
			t.Run(form+": "+want, func(t *testing.T) {
				err := explainWrite(failure)
				var client *evidence.Error
				if !errors.As(err, &client) || client.Code != evidence.Unavailable || client.Message != want {
					t.Errorf("clients read %+v", client)
				}
				if !errors.Is(err, storage.ErrWriteRefused) {
					t.Errorf("the class of %v is another", err)
				}
			})
		}
	}
}

func TestOtherWriteErrorsAreReturnedUnchanged(t *testing.T) {
	for form, failure := range failures(duplicateKey) {
		if err := explainWrite(failure); !mongo.IsDuplicateKeyError(err) {
			t.Errorf("%s became %v", form, err)
		}
	}
	if err := explainWrite(nil); err != nil {
		t.Errorf("success became %v", err)
	}
}
