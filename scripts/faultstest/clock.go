package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	clockVariable = "FAULTS_CLOCK"
	// maxAhead is how far clocks jump ahead.
	maxAhead = time.Hour
	// now is how time.Now reads the clock of the runtime, and jumpingNow how it does in the tested programs.
	now, jumpingNow = "sec, nsec, mono := runtimeNow()\n", now + "\tsec += *jump\n"
	// jump is a file that is added to the package time. Each change of it has all packages compiled again.
	jump = `package time

import (
	"syscall"
	"unsafe"
)

// jump is by how many seconds the clock is ahead. It is in memory that is shared with scripts/faultstest.
var jump = func() *int64 {
	path, _ := syscall.Getenv("` + clockVariable + `")
	file, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		return new(int64) // such as of a child process
	}
	shared, err := syscall.Mmap(file, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return (*int64)(unsafe.Pointer(&shared[0]))
}()
`
)

// build builds the programs of the service with a package time whose wall clock can be set: it adds the seconds in a
// file to the wall clock, and nothing to the monotonic clock, as if the clock of the machine were set.
func (s *system) build(ctx context.Context) error {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	folder := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	content, err := os.ReadFile(filepath.Join(folder, "time.go"))
	if err != nil {
		return err
	}
	if strings.Count(string(content), now) != 1 {
		return errors.New("the package time of this Go version is different: see scripts/faultstest/clock.go")
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(folder, "time.go"): s.path("time.go"), filepath.Join(folder, "jump.go"): s.path("jump.go"),
	}})
	for name, content := range map[string]string{
		"time.go": strings.Replace(string(content), now, jumpingNow, 1), "jump.go": jump, "overlay.json": string(overlay), "clock": strings.Repeat("\x00", 8),
	} {
		err = errors.Join(err, os.WriteFile(s.path(name), []byte(content), 0o600))
	}
	if err != nil {
		return err
	}
	s.settings = append(s.settings, clockVariable+"="+s.path("clock"))
	build := exec.CommandContext(ctx, "go", "build", "-overlay", s.path("overlay.json"), "-o", s.folder+"/",
		"./scripts/verify-package", "./scripts/standalone", "./api", "./worker")
	build.Stderr = os.Stderr
	return build.Run()
}

// setClocks sets the clocks of all processes of the service ahead, and waits until an answer has that time.
func (s *system) setClocks(ahead time.Duration) error {
	file, err := os.OpenFile(s.path("clock"), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(binary.NativeEndian.AppendUint64(nil, uint64(ahead/time.Second)))
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	for end := time.Now().Add(recoveryTime); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		answer, err := http.Get(s.addresses[0] + "/ready")
		if err != nil {
			continue
		}
		date, err := http.ParseTime(answer.Header.Get("Date"))
		if answer.Body.Close(); err == nil && time.Until(date.Add(-ahead)).Abs() < 5*time.Second {
			return nil
		}
	}
	return fmt.Errorf("the clock of %s did not jump", s.addresses[0])
}

// jumps are the faults of clocks. Each sets all clocks of the service, and then back to the right time.
func (s *system) jumps() []fault {
	jump := func(name string, ahead time.Duration) fault {
		return fault{name, func() error { return s.setClocks(ahead) }, func() error { return s.setClocks(0) }, 10 * time.Second}
	}
	return []fault{
		jump("clocks jump an hour ahead, and back", maxAhead),
		jump("clocks jump ten minutes back, and ahead", -10*time.Minute),
	}
}
