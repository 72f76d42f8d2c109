package instance_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"attestry/scripts/standalone/instance"
	"attestry/storage"
)

// smallDisk is a folder on a disk of its own.
func smallDisk(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("no disk can be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// fill leaves a disk with less than a database takes to open, and returns the file that fills it.
func fill(t *testing.T, disk string) string {
	t.Helper()
	name := filepath.Join(disk, "filler")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for block := make([]byte, 1<<20); ; {
		if _, err := file.Write(block); errors.Is(err, syscall.ENOSPC) {
			return name
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestStartOnAFullDiskEndsWithTheReason(t *testing.T) {
	disk := smallDisk(t)
	start := func() error {
		running, err := instance.Start(t.Context(), instance.Options{
			Listen: "127.0.0.1:0", Data: filepath.Join(disk, "data"), Clock: time.Now, Log: slog.New(slog.DiscardHandler), ReportWait: time.Second,
		})
		if err != nil {
			return err
		}
		return running.Close()
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	filler := fill(t, disk)
	if err := start(); err == nil || !strings.Contains(err.Error(), storage.DiskFull) {
		t.Errorf("without room the start ends with %v", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := start(); err != nil {
		t.Errorf("with room again the start ends with %v", err)
	}
}
