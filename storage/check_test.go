package storage_test

import (
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/storage"
)

func TestDocumentsThatAreTooLargeAreRefused(t *testing.T) {
	notes, _ := newNotes(t)
	if err := notes.Insert(t.Context(), note{ID: "a", Topic: strings.Repeat("x", storage.MaxBody)}); evidence.CodeOf(err) != evidence.TooLarge {
		t.Errorf("got %v", err)
	}
}
