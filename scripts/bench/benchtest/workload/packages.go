package workload

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"attestry/evidence"
	"attestry/evidence/audit"
)

const (
	// evidenceBytes is the size of an evidence file. 500 of them are 1 GiB.
	evidenceBytes = 1<<30/500 + 1
	// reportedPods is how many pods the cluster of reportBeside has.
	reportedPods = 100
	// Each package of assembleAll has 20 attestations with 1 MiB of evidence in all.
	fewAttestations = 20
	fewBytes        = 1 << 20 / fewAttestations
)

// evidenceOf makes the content of an evidence file, which differs by number.
type evidenceOf func(number, size int) []byte

// randomBytes makes content that cannot be compressed, like archives.
func randomBytes(number, size int) []byte {
	content := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(number), byte(number >> 8)}).Read(content) // returns no error
	return content
}

func testResults(number, size int) []byte {
	random := rand.New(rand.NewPCG(uint64(number), 1))
	content := make([]byte, 0, size+1_000)
	for len(content) < size {
		content = fmt.Appendf(content, "  <testcase classname=\"com.example.%s.%s\" name=\"test_%08x\" time=\"%.3f\"/>\n",
			team(random.IntN(80)), component(random.IntN(1_000)), random.Uint32(), random.Float64())
	}
	return content[:size]
}

// evidenceFolder is the folder of the evidence files that the baseline archives.
func (f *fixture) evidenceFolder() string { return filepath.Join(f.data, f.scope+"-evidence") }

// seedPackage attests a trail size times, with evidence that it also writes to evidenceFolder.
func seedPackage(of evidenceOf) seed {
	return func(ctx context.Context, f *fixture, attestations int) error {
		if err := os.Mkdir(f.evidenceFolder(), 0o700); err != nil {
			return err
		}
		return concurrently(attestations, func(i int) error {
			content := of(i, evidenceBytes)
			if err := os.WriteFile(filepath.Join(f.evidenceFolder(), strconv.Itoa(i)), content, 0o600); err != nil {
				return err
			}
			return f.attest(ctx, packagedTrail(0), "check-"+strconv.Itoa(i), content)
		})
	}
}

// seedPackages attests size trails.
func seedPackages(ctx context.Context, f *fixture, trails int) error {
	return concurrently(trails*fewAttestations, func(i int) error {
		return f.attest(ctx, packagedTrail(i/fewAttestations), "check-"+strconv.Itoa(i), randomBytes(i, fewBytes))
	})
}

func packagedTrail(number int) string { return "trail-" + strconv.Itoa(number) }

func (f *fixture) attest(ctx context.Context, trail, name string, content []byte) error {
	stored, err := f.store.Objects.Put(ctx, f.org, bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return err
	}
	scope := f.scopeOf(trail)
	return f.store.Recorder.Attest(ctx, scope, evidence.Attestation{
		ID: evidence.NewID(), Org: f.org, Trail: trail, Name: name, Type: evidence.TypeGeneric, Compliant: true, CreatedAt: scope.At,
		Evidence: &evidence.EvidenceFile{
			Object: stored.Key, SHA256: stored.SHA256, Size: stored.Size, ContentType: "application/octet-stream", Filename: name,
		},
	}, nil)
}

// assemble requests the package of a trail, waits for it and deletes it, so that the next request assembles it again.
// The baseline archives the evidence files.
func assemble(c *client) (service, baseline requests, err error) {
	next := c.packageOf(packagedTrail(0), http.MethodPost)
	next.then = func() error {
		if err := c.awaitPackage(c.connection, packagedTrail(0)); err != nil {
			return err
		}
		return c.deletePackage(packagedTrail(0))
	}
	return always(next), always(request{method: http.MethodPatch, body: []byte("{}"), then: c.archive}), nil
}

// archive archives the evidence files with tar and gzip, and waits until the archive is durable.
func (c *client) archive() error {
	const script = `set -o pipefail; tar -cf - -C "$1" . | gzip -1 >"$1.tar.gz" && sync "$1.tar.gz"`
	output, err := exec.Command("bash", "-c", script, "bash", c.evidenceFolder()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("tar and gzip: %w: %s", err, output)
	}
	return nil
}

// firstByte downloads the first byte of a package that is ready.
func firstByte(c *client) (service, baseline requests, err error) {
	next := c.packageOf(packagedTrail(0), http.MethodGet)
	next.firstByte = true
	direct := always(request{method: http.MethodPatch, body: []byte("{}")})
	return always(next), direct, c.awaitPackage(c.connection, packagedTrail(0))
}

// reportBeside makes each client a cluster. Service and baseline get the same sequence of reports.
func reportBeside(c *client) (service, baseline requests, err error) {
	next, _, err := c.reports("cluster", c.scope, reportedPods, change{func(r *report) { r.replaceByOtherVersion(0) }, created})
	return next, next, err
}

// assembleAll requests the packages of all trails at once, waits for them and deletes them.
func assembleAll(c *client) error {
	for _, do := range []func(by *connection, trail string) error{
		func(by *connection, trail string) error {
			_, err := by.send(c.packageOf(trail, http.MethodPost))
			return err
		},
		c.awaitPackage,
		func(_ *connection, trail string) error { return c.deletePackage(trail) },
	} {
		err := concurrently(c.size, func(i int) error { return do(newConnection(c.address, c.key), packagedTrail(i)) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *fixture) packageOf(trail, method string) request {
	return request{method: method, path: f.path("/trails/{org}/{flow}/" + trail + "/audit_package"), want: answer{status: http.StatusOK}}
}

// awaitPackage requests the package of a trail until it is ready.
func (f *fixture) awaitPackage(by *connection, trail string) error {
	return by.sendUntil(f.packageOf(trail, http.MethodHead), answer{status: http.StatusServiceUnavailable})
}

// deletePackage deletes the package of a trail, so that it can be assembled again and the disk does not fill up.
func (f *fixture) deletePackage(trail string) error {
	ctx := context.Background()
	flow, err := f.store.Flows.Resolve(ctx, f.org, f.flow())
	if err != nil {
		return err
	}
	var archive string
	id := audit.AssemblyID(audit.OfTrail, f.org, evidence.TrailKey(flow.ID, trail))
	_, err = f.store.Assemblies.Update(ctx, id, func(assembly *audit.Assembly) {
		archive, assembly.Ready = assembly.Ready.Archive.Object, nil
	})
	if err != nil {
		return err
	}
	return f.store.Objects.Delete(ctx, archive)
}
