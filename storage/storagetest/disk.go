// Package storagetest is the suite that every storage engine must pass.
package storagetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Disk is a small in-memory file system for one test.
type Disk struct {
	// Path is its root.
	Path string
	t    *testing.T
}

// NewDisk mounts a file system of a size in bytes. It skips the test if it may not mount one, which takes root.
func NewDisk(t *testing.T, size int64) *Disk {
	t.Helper()
	d := &Disk{Path: t.TempDir(), t: t}
	if err := d.mount("-t", "tmpfs", "-o", fmt.Sprintf("size=%d,mode=0700", size), "tmpfs", d.Path); err != nil {
		t.Skipf("a file system of limited size cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if output, err := exec.Command("umount", d.Path).CombinedOutput(); err != nil {
			t.Errorf("unmount: %v: %s", err, output)
		}
	})
	return d
}

func (d *Disk) mount(arguments ...string) error {
	output, err := exec.Command("mount", arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

// MakeReadOnly remounts the file system. No file on it may be open for writing.
func (d *Disk) MakeReadOnly() {
	d.t.Helper()
	if err := d.mount("-o", "remount,ro", d.Path); err != nil {
		d.t.Fatal(err)
	}
}

// MakeWritable undoes MakeReadOnly.
func (d *Disk) MakeWritable() {
	d.t.Helper()
	if err := d.mount("-o", "remount,rw", d.Path); err != nil {
		d.t.Fatal(err)
	}
}

const filler = "filler"

// Fill writes a file that takes all free space.
func (d *Disk) Fill() {
	d.t.Helper()
	file, err := os.Create(filepath.Join(d.Path, filler))
	if err != nil {
		d.t.Fatal(err)
	}
	defer file.Close()
	for block := make([]byte, 64<<10); err == nil; {
		_, err = file.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatal(err)
	}
}

// Empty undoes Fill.
func (d *Disk) Empty() {
	d.t.Helper()
	if err := os.Remove(filepath.Join(d.Path, filler)); err != nil {
		d.t.Fatal(err)
	}
}
