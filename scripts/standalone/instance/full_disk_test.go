package instance_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"attestry/scripts/standalone/instance"
	"attestry/storage"
	"attestry/storage/storagetest"
)

func TestStartOnAFullDiskReportsTheReason(t *testing.T) {
	disk := storagetest.NewDisk(t, 64<<20)
	start := func() error {
		running, err := instance.Start(t.Context(), instance.Options{
			Listen: "127.0.0.1:0", Data: filepath.Join(disk.Path, "data"), Clock: time.Now, Log: slog.New(slog.DiscardHandler), ReportWait: time.Second,
		})
		if err != nil {
			return err
		}
		return running.Close()
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	disk.Fill()
	if err := start(); err == nil || !strings.Contains(err.Error(), storage.DiskFull) {
		t.Errorf("got %v on a full disk", err)
	}
	disk.Empty()
	if err := start(); err != nil {
		t.Errorf("got %v after the disk was emptied", err)
	}
}
