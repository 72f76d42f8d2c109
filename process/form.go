package process

import (
	"context"
	"errors"
	"fmt"

	"attestry/process/buildinfo"
	"attestry/storage"
)

// form is the version of the document format. A change increments it if older versions of the program must not use its
// documents. docs/operations.md says what each version migrates.
const form = 2

const formID = "documents"

// formSchema is the collection with one document: the newest form that a program has stored. The first process that
// opens a copy of a database writes it there.
var formSchema = &storage.Schema{Name: "document_form"}

// documentForm is a form and the version of the program that first used it in the database.
type documentForm struct {
	ID      string `json:"id"`
	Form    int    `json:"form"`
	Program string `json:"program"`
}

var errNewerForm = errors.New("the database is of a newer version of Attestry")

func forms(docs storage.Documents) storage.Collection[documentForm] {
	return storage.NewCollection(docs, formSchema, func(f *documentForm) string { return f.ID }, nil)
}

// refuseNewerForm returns an error if a newer version of the program has stored documents that this one cannot read.
func refuseNewerForm(ctx context.Context, docs storage.Documents) error {
	stored, err := forms(docs).GetOrZero(ctx, formID)
	if err != nil {
		return fmt.Errorf("find out which version the database is of: %w", err)
	}
	if newest := stored.Value; newest.Form > form {
		return fmt.Errorf("%w: %s has stored documents of form %d, and this is %s, which knows those up to %d; start that version, or restore a backup of before the upgrade",
			errNewerForm, newest.Program, newest.Form, buildinfo.Read().Version, form)
	}
	return nil
}

// recordForm stores the form of this version, unless the database has a newer one.
func recordForm(ctx context.Context, docs storage.Documents) error {
	current := documentForm{ID: formID, Form: form, Program: buildinfo.Read().Version}
	_, err := storage.Upsert(ctx, forms(docs), current, func(stored *documentForm) error {
		if stored.Form < form {
			*stored = current
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("note which version the database is of: %w", err)
	}
	return nil
}
