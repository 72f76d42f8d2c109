package process

import (
	"context"
	"errors"
	"fmt"

	"attestry/process/buildinfo"
	"attestry/storage"
)

// form is the version of the form of all documents. A change raises it if an earlier version of the program must not work on
// what this one stores. docs/operations.md says what each version of the program migrates.
const form = 1

const formID = "documents"

// formSchema declares the collection that has one document: the newest form that a program has stored documents in. A copy
// gets it when the first process opens it.
var formSchema = &storage.Schema{Name: "document_form"}

// documentForm is a form and the version of the program that has introduced it to the database.
type documentForm struct {
	ID      string `json:"id"`
	Form    int    `json:"form"`
	Program string `json:"program"`
}

var errNewerForm = errors.New("the database is of a newer version of Attestry")

func forms(docs storage.Documents) storage.Collection[documentForm] {
	return storage.NewCollection(docs, formSchema, func(f *documentForm) string { return f.ID }, nil)
}

// refuseNewerForm returns an error if a newer version of the program has stored documents that this one does not know.
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

// noteForm stores that this version stores documents of its form.
func noteForm(ctx context.Context, docs storage.Documents) error {
	current := documentForm{ID: formID, Form: form, Program: buildinfo.Read().Version}
	err := forms(docs).Insert(ctx, current)
	if errors.Is(err, storage.ErrExists) {
		_, err = forms(docs).Update(ctx, formID, func(stored *documentForm) error {
			if stored.Form < form {
				*stored = current
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("note which version the database is of: %w", err)
	}
	return nil
}
