package mongodb_test

import (
	"testing"

	"attestry/storage"
	"attestry/storage/storagetest"
)

func TestRecorder(t *testing.T) {
	uri := server(t)
	storagetest.RecorderBriefly(t, storagetest.DocumentsEngine{
		Locate: newDatabase,
		Open: func(t *testing.T, location string, schemas ...*storage.Schema) storage.Documents {
			return open(t, uri, location, schemas...)
		},
	})
}
