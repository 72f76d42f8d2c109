package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// cluster describes two api and two worker processes with a Redis, a MinIO and a MongoDB-compatible server.
func (s *system) cluster(ctx context.Context) error {
	prepare := exec.CommandContext(ctx, "bash", "-euc", "source scripts/services/services.sh; trap stop_all EXIT; prepare_services")
	prepare.Stderr = os.Stderr
	free, err := freeAddresses(9)
	if err := errors.Join(err, prepare.Run()); err != nil {
		return err
	}
	redis := s.add("redis", free[0], nil, "redis-server", "--bind", "127.0.0.1", "--port", free[0][strings.Index(free[0], ":")+1:],
		"--dir", s.folder, "--save", "", "--maxmemory-policy", "noeviction")
	minio := s.add("minio", "http://"+free[1]+"/minio/health/ready",
		[]string{"MINIO_ROOT_USER=attestry", "MINIO_ROOT_PASSWORD=attestry-test", "MINIO_BROWSER=off", "MINIO_UPDATE=off", "HOME=" + s.folder},
		".cache/services/minio", "server", "--address", free[1], s.disk())
	mongodb := s.add("mongodb", free[2], nil, ".cache/services/mongodbtest", "--listen", free[2], "--data", s.path("mongodb"))
	process := func(name, file, monitor string, own ...string) *program {
		own = slices.Concat(s.settings, own, []string{"ATTESTRY_REDIS_URL=redis://" + free[0] + "/0", "ATTESTRY_MONITOR_LISTEN=" + monitor,
			"ATTESTRY_OBJECTS_URL=http://attestry:attestry-test@" + free[1] + "/attestry", "ATTESTRY_BASE_URL=http://" + free[3],
			// The MongoDB-compatible server loses updates of concurrent connections.
			"ATTESTRY_DATABASE_URL=mongodb://" + free[2] + "/attestry?maxPoolSize=1"})
		return s.add(name, "http://"+monitor+"/readyz", own, s.path(file))
	}
	api, api2 := process("api-1", "api", free[4], "ATTESTRY_LISTEN="+free[3]), process("api-2", "api", free[6], "ATTESTRY_LISTEN="+free[5])
	worker, worker2 := process("worker-1", "worker", free[7]), process("worker-2", "worker", free[8])
	s.addresses = []string{"http://" + free[3], "http://" + free[5]}
	full := s.fullDisk()
	s.faults = []fault{
		killed(api), killed(worker), killed(api, api2), killed(worker, worker2),
		paused(15*time.Second, worker), // longer than its lease
		{"redis is flushed", func() error { return flush(free[0]) }, func() error { return nil }, 0},
		{"redis is killed, and comes back empty", redis.kill, redis.start, 5 * time.Second},
		{"minio is killed", minio.kill, minio.start, 5 * time.Second}, paused(5*time.Second, minio),
		{"mongodb is told to stop", mongodb.terminate, mongodb.start, 5 * time.Second}, paused(5*time.Second, mongodb),
		{diskFull + " that minio has", full.begin, full.end, full.hold},
	}
	return nil
}

// flush removes all data of a Redis.
func flush(address string) error {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer connection.Close()
	answer := make([]byte, len("+OK"))
	if _, err = io.WriteString(connection, "FLUSHALL\r\n"); err == nil {
		_, err = io.ReadFull(connection, answer)
	}
	if err == nil && string(answer) != "+OK" {
		err = fmt.Errorf("the answer to FLUSHALL is %q", answer)
	}
	return err
}
