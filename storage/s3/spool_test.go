package s3

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/spool"
)

func TestFullFolderForTemporaryFilesIsUnavailable(t *testing.T) {
	err := explainSpool(&spool.FileError{Err: &fs.PathError{Op: "open", Path: "/tmp/x", Err: syscall.ENOSPC}})
	var client *evidence.Error
	if !errors.As(err, &client) || client.Code != evidence.Unavailable ||
		client.Message != "The folder for temporary files cannot be written to: the disk is full." {
		t.Errorf("clients read %+v of %v", client, err)
	}
}

func TestRefusedConnectionIsNotARefusedWrite(t *testing.T) {
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.EPERM)}
	err := explainWrite(asOutage(t.Context(), dial))
	var client *evidence.Error
	if !errors.As(err, &client) || client.Message != "The object store cannot be reached, please try again." || errors.Is(err, storage.ErrWriteRefused) {
		t.Errorf("clients read %+v of %v", client, err)
	}
}
