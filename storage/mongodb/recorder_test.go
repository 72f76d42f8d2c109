package mongodb_test

import (
	"testing"

	"attestry/app/recording/recordingtest"
	"attestry/storage"
	"attestry/storage/storagetest"
)

func TestRecorder(t *testing.T) {
	uri := server(t)
	recordingtest.RecorderBriefly(t, storagetest.DocumentsEngine{
		Locate: newDatabase,
		Open: func(t *testing.T, location string, schemas ...*storage.Schema) storage.Documents {
			return open(t, uri, location, schemas...)
		},
	})
}
