package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/scripts/clienttest"
)

const (
	nginxSite       = "../../deploy/nginx/attestry.conf"
	nginxClients    = 4
	nginxBootstrap  = "users: [{name: administrator, api_keys: [{key: " + apitest.AdminKey + ", description: test}]}]\norganizations: [{name: acme, members: {administrator: admin}}]\n"
	nginxTemplate   = "version: 1\ntrail: {attestations: [{name: unit-test, type: generic}]}\n"
	nginxConfigFile = `user root;
daemon off;
worker_processes 2;
pid nginx.pid;
error_log error.log warn;
events {}
http {
	access_log off;
	client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
	include site.conf;
}
`
)

// child is a process that can be stopped and started again.
type child struct {
	t       *testing.T
	address string
	monitor string // address of its metrics
	program string
	args    []string
	environ []string
	output  bytes.Buffer
	running *exec.Cmd
}

func (c *child) start() {
	c.t.Helper()
	c.running = exec.Command(c.program, c.args...)
	c.running.Env, c.running.Stdout, c.running.Stderr = append(os.Environ(), c.environ...), &c.output, &c.output
	if err := c.running.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		c.stop()
		if c.t.Failed() {
			c.t.Log(c.output.String())
		}
	})
	apitest.Eventually(c.t, c.address+" is ready", func() bool {
		response, err := http.Get("http://" + c.address + "/ready")
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
}

func (c *child) stop() {
	c.t.Helper()
	if c.running == nil {
		return
	}
	stopped := c.running
	c.running = nil
	if err := stopped.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Error(err)
	}
	if err := stopped.Wait(); err != nil {
		c.t.Errorf("%s: %v", c.address, err)
	}
}

// recordsAttestations reports whether the process has recorded attestations since it was started.
func (c *child) recordsAttestations() bool {
	response, err := http.Get("http://" + c.monitor + "/metrics")
	if err != nil {
		return false
	}
	defer response.Body.Close()
	metrics, err := io.ReadAll(response.Body)
	return err == nil && regexp.MustCompile(`attestry_http_request_duration_seconds_count\{method="POST",.*status="201"\}`).Match(metrics)
}

// balanced is a service of two api processes behind nginx.
type balanced struct {
	folder    string
	processes []*child
	client    *clienttest.Client
}

// startBalanced starts the processes that the nginx site describes, at free addresses.
func startBalanced(t *testing.T, nginx string) *balanced {
	t.Helper()
	content, err := os.ReadFile(nginxSite)
	if err != nil {
		t.Fatal(err)
	}
	site := string(content)
	drain := regexp.MustCompile(`ATTESTRY_DRAIN_DELAY=\w+`).FindString(site)
	b := &balanced{folder: t.TempDir()}
	program := filepath.Join(b.folder, "api")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "attestry/api").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	redis, err := apitest.EmptyRedis(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := apitest.NewBucket()
	if err != nil {
		t.Fatal(err)
	}
	front := apitest.FreeAddress(t)
	apitest.WriteFile(t, filepath.Join(b.folder, "bootstrap.yaml"), nginxBootstrap)
	shared := []string{
		"ATTESTRY_DATABASE_URL=" + apitest.NewMongoDB(), "ATTESTRY_OBJECTS_URL=" + bucket, "ATTESTRY_REDIS_URL=" + redis, "ATTESTRY_BASE_URL=http://" + front,
		"ATTESTRY_BOOTSTRAP_FILE=" + filepath.Join(b.folder, "bootstrap.yaml"), "ATTESTRY_LOG_LEVEL=warn", "ATTESTRY_TRUSTED_PROXIES=127.0.0.1",
		drain,
	}
	for _, documented := range []string{"127.0.0.1:8001", "127.0.0.1:8002"} {
		c := &child{t: t, address: apitest.FreeAddress(t), monitor: apitest.FreeAddress(t), program: program}
		c.environ = append([]string{"ATTESTRY_LISTEN=" + c.address, "ATTESTRY_MONITOR_LISTEN=" + c.monitor}, shared...)
		c.start()
		b.processes = append(b.processes, c)
		site = strings.Replace(site, documented, c.address, 1)
	}
	apitest.WriteFile(t, filepath.Join(b.folder, "site.conf"), strings.Replace(site, "listen 80;", "listen "+front+";", 1))
	apitest.WriteFile(t, filepath.Join(b.folder, "nginx.conf"), nginxConfigFile)
	(&child{t: t, address: front, program: nginx, args: []string{"-p", b.folder, "-e", "error.log", "-c", "nginx.conf"}}).start()
	b.client = clienttest.New("acme", apitest.AdminKey, "http://"+front)
	return b
}

// TestProcessesBehindNginxRestartWithoutAFailedRequest restarts one process after the other while clients send
// requests. nginx does not repeat requests that were sent and may have been recorded.
func TestProcessesBehindNginxRestartWithoutAFailedRequest(t *testing.T) {
	nginx := os.Getenv("ATTESTRY_TEST_NGINX")
	if nginx == "" || apitest.RealRedis == "" || apitest.RealMongoDB == "" || apitest.RealS3 == "" {
		t.Skip("scripts/test --long restarts processes behind nginx")
	}
	b := startBalanced(t, nginx)
	var answered, failed atomic.Int64
	send := func(r clienttest.Request) {
		status, body, err := b.client.Send(context.Background(), r)
		answered.Add(1)
		if (err != nil || status != http.StatusOK && status != http.StatusCreated) && failed.Add(1) <= 10 {
			t.Errorf("%s %s: %d %.200s %v", r.Method, r.Path, status, body, err)
		}
	}
	send(clienttest.Form(http.MethodPut, "/flows/{org}/template_file", "data_json", `{"name": "backend", "description": ""}`, "template_file", []byte(nginxTemplate)))
	send(clienttest.BeginTrail("backend", "release"))
	var clients sync.WaitGroup
	stop := make(chan struct{})
	for i := range nginxClients {
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				send(clienttest.Attest("backend", "release", "", "unit-test", fmt.Sprintf("%d-%d", i, n), true, nil))
				send(clienttest.CreateEnvironment(fmt.Sprintf("cluster-%d", i)))
				send(clienttest.Request{Method: http.MethodGet, Path: "/environments/{org}"})
			}
		})
	}
	for _, p := range b.processes {
		before := answered.Load()
		p.stop()
		p.start()
		apitest.Eventually(t, "nginx sends requests to the restarted process", p.recordsAttestations)
		if n := answered.Load() - before; n < 100 {
			t.Errorf("%d requests were answered meanwhile", n)
		}
	}
	close(stop)
	clients.Wait()
	t.Logf("%d of %d requests failed", failed.Load(), answered.Load())
	log, err := os.ReadFile(filepath.Join(b.folder, "error.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range b.processes {
		disabled := `upstream server temporarily disabled while reading response header from upstream.* upstream: "http://` + p.address + `/ready"`
		if !regexp.MustCompile(disabled).Match(log) {
			t.Errorf("nginx did not take %s out because it was not ready", p.address)
		}
	}
	if t.Failed() {
		t.Logf("%s", log)
	}
}
