package s3

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"attestry/evidence"
)

func TestFullFolderForTemporaryFilesIsUnavailableAndNotTheServersFault(t *testing.T) {
	err := explainWrite(fmt.Errorf("make a temporary file: %w", &fs.PathError{Op: "open", Path: "/tmp/x", Err: syscall.ENOSPC}))
	var client *evidence.Error
	if !errors.As(err, &client) || client.Code != evidence.Unavailable ||
		client.Message != "The folder for temporary files cannot be written to: the disk is full." {
		t.Errorf("clients read %+v of %v", client, err)
	}
}
