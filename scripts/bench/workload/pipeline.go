package workload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"strconv"
	"sync"
	"time"

	"attestry/app/recording"
	"attestry/evidence"
	"attestry/scripts/bench/baseline"
	"attestry/scripts/bench/measure"
)

const (
	// flowName is the flow that pipelines of the benchmark report to; it comes into
	// being with the first report.
	flowName   = "pipeline"
	pathPrefix = "/api/v2"
	okText     = `"OK"`
	okMessage  = `{"message":"OK"}`
	// seeders is how many write at once what a row needs to be there.
	seeders = 16
)

// attestationRows are the rows about pipelines that attest an artifact of a trail
// of their own, and about many that attest to one trail.
func attestationRows(clients ...int) []Row {
	var rows []Row
	for _, n := range clients {
		rows = append(rows, Row{
			Name:    "attestation, " + counted(n, "client"),
			clients: n,
			prepare: func(s *stage, i int) (measure.Client, error) { return prepareAttestation(s, "trail-"+strconv.Itoa(i)) },
		})
	}
	most := clients[len(clients)-1]
	return append(rows, Row{
		Name:    "attestation to one trail, " + counted(most, "client"),
		clients: most,
		prepare: func(s *stage, _ int) (measure.Client, error) { return prepareAttestation(s, "trail") },
	})
}

// prepareAttestation reports an artifact to a trail; what is repeated is to attest
// it by its fingerprint.
func prepareAttestation(s *stage, trail string) (measure.Client, error) {
	service, bare := s.client(), newClient(s.bare.Address, s.key)
	fingerprint := digest(s.scope, trail, 0)
	artifact := artifactBody(trail, fingerprint)
	if err := service.post(s.artifacts(), artifact, answer{http.StatusCreated, okMessage}); err != nil {
		return measure.Client{}, err
	}
	body, contentType, err := attestationForm(fingerprint)
	if err != nil {
		return measure.Client{}, err
	}
	path := pathPrefix + "/attestations/" + organization + "/" + s.flow() + "/trail/" + trail + "/generic"
	prepared := measure.Client{
		Service: func() error {
			return service.send(http.MethodPost, path, contentType, body, answer{http.StatusCreated, okText})
		},
		Baseline: func() error {
			return bare.send(http.MethodPost, baseline.AttestationPath, contentType, body, answer{http.StatusOK, okText})
		},
	}
	return prepared, errors.Join(prepared.Service(), prepared.Baseline())
}

func attestationForm(fingerprint string) (body []byte, contentType string, err error) {
	var buffer bytes.Buffer
	form := multipart.NewWriter(&buffer)
	err = form.WriteField("data_json", `{"attestation_name":"unit-test","is_compliant":true,"artifact_fingerprint":"`+fingerprint+
		`","git_commit_info":{"sha1":"`+fingerprint[:40]+`","message":"Change the colour of the button","author":"A. Person <person@example.com>",`+
		`"branch":"main","timestamp":1750923680,"url":"https://github.com/org/repo/commit/`+fingerprint[:40]+
		`"},"origin_url":"https://github.com/org/repo/actions/runs/1","user_data":{}}`)
	if err := errors.Join(err, form.Close()); err != nil {
		return nil, "", err
	}
	return buffer.Bytes(), form.FormDataContentType(), nil
}

// artifactRows are the rows about pipelines that report a new artifact to a new
// trail each time.
func artifactRows(clients ...int) []Row {
	var rows []Row
	for _, n := range clients {
		rows = append(rows, Row{
			Name:    "artifact report, " + counted(n, "client"),
			clients: n,
			prepare: prepareArtifacts,
		})
	}
	return rows
}

func prepareArtifacts(s *stage, i int) (measure.Client, error) {
	service, bare := s.client(), newClient(s.bare.Address, s.key)
	kind, sent := "artifact-"+strconv.Itoa(i), 0
	next := func() []byte {
		sent++
		return artifactBody(kind+"-"+strconv.Itoa(sent), digest(s.scope, kind, sent))
	}
	prepared := measure.Client{
		Service:  func() error { return service.post(s.artifacts(), next(), answer{http.StatusCreated, okMessage}) },
		Baseline: func() error { return bare.post(baseline.ArtifactPath, next(), answer{http.StatusOK, okText}) },
	}
	return prepared, errors.Join(prepared.Service(), prepared.Baseline())
}

func artifactBody(trail, fingerprint string) []byte {
	return fmt.Appendf(nil, `{"fingerprint":%q,"filename":"registry.example.com/team/component:1.4.2","git_commit":%q,`+
		`"build_url":"https://github.com/org/repo/actions/runs/1","commit_url":"https://github.com/org/repo/commit/%s",`+
		`"trail_name":%q,"template_reference_name":"component"}`, fingerprint, fingerprint[:40], fingerprint[:40], trail)
}

// lookupRow is about finding one artifact among many by the beginning of its
// fingerprint.
func lookupRow(artifacts int) Row {
	return Row{
		Name:    fmt.Sprintf("artifact by fingerprint among %d, 1 client", artifacts),
		clients: 1,
		prepare: func(s *stage, _ int) (measure.Client, error) {
			err := s.seed(artifacts, func(ctx context.Context, scope recording.Scope, i int) error {
				scope.Trail = "trail-" + strconv.Itoa(i)
				return s.instance.Process.Store.Recorder.Report(ctx, scope, s.record(scope, "component", i), nil)
			})
			if err != nil {
				return measure.Client{}, err
			}
			asked := 0
			return s.reading(func() string {
				asked++
				return pathPrefix + "/artifacts/" + organization + "/" + s.flow() + "/fingerprint/" +
					digest(s.scope, "image", asked*7919%artifacts)[:12]
			})
		},
	}
}

// trailRow is about reading a trail of many artifacts with many attestations
// each, all its events included.
func trailRow(artifacts, attestations int) Row {
	return Row{
		Name:    fmt.Sprintf("trail of %d artifacts and %d attestations, %d events, 1 client", artifacts, artifacts*attestations, 1+artifacts*(1+attestations)),
		clients: 1,
		prepare: func(s *stage, _ int) (measure.Client, error) {
			recorder := s.instance.Process.Store.Recorder
			err := s.seed(artifacts, func(ctx context.Context, scope recording.Scope, i int) error {
				scope.Trail = "trail"
				record := s.record(scope, "component-"+strconv.Itoa(i), i)
				if err := recorder.Report(ctx, scope, record, nil); err != nil {
					return err
				}
				for n := range attestations {
					attestation := evidence.Attestation{
						ID: evidence.NewID(), Org: scope.Org, Trail: scope.Trail, Name: "check-" + strconv.Itoa(n), Type: evidence.TypeGeneric,
						Compliant: true, Fingerprint: record.Fingerprint, CreatedAt: scope.At,
					}
					if err := recorder.Attest(ctx, scope, attestation, nil); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return measure.Client{}, err
			}
			return s.reading(func() string { return pathPrefix + "/trails/" + organization + "/" + s.flow() + "/trail" })
		},
	}
}

// flow is the name of the stage's flow, which nobody else uses.
func (s *stage) flow() string { return s.scope + "-" + flowName }

// artifacts is where artifacts are reported to.
func (s *stage) artifacts() string { return pathPrefix + "/artifacts/" + organization + "/" + s.flow() }

func (s *stage) record(scope recording.Scope, name string, i int) evidence.ArtifactRecord {
	fingerprint := digest(s.scope, "image", i)
	return evidence.ArtifactRecord{
		ID: evidence.NewID(), Org: scope.Org, Trail: scope.Trail, Name: name, Fingerprint: fingerprint,
		Filename: "registry.example.com/team/component:1.4.2", CommitSHA: fingerprint[:40],
		BuildURL: "https://github.com/org/repo/actions/runs/1", CommitURL: "https://github.com/org/repo/commit/" + fingerprint[:40],
		CreatedAt: scope.At, ReportedBy: organization,
	}
}

// seed lets several writers do what a row needs n times, past the HTTP server.
func (s *stage) seed(n int, write func(ctx context.Context, scope recording.Scope, i int) error) error {
	ctx := context.Background()
	found, err := s.instance.Process.Store.Tenancy.Organization(ctx, organization)
	if err != nil {
		return err
	}
	return together(n, func(_, i int) error {
		return write(ctx, recording.Scope{
			Org: found.ID, OrgName: organization, Flow: s.flow(), By: organization, At: evidence.Seconds(time.Now()),
		}, i)
	})
}

// together lets the seeders, known by number, do something n times.
func together(n int, do func(seeder, i int) error) error {
	faults := make([]error, seeders)
	var working sync.WaitGroup
	for seeder := range seeders {
		working.Go(func() {
			for i := seeder; i < n && faults[seeder] == nil; i += seeders {
				faults[seeder] = do(seeder, i)
			}
		})
	}
	working.Wait()
	return errors.Join(faults...)
}

// reading repeats a request that reads; the bare handler answers as many bytes.
func (s *stage) reading(path func() string) (measure.Client, error) {
	service, bare := s.client(), newClient(s.bare.Address, s.key)
	prepared := measure.Client{Service: func() error { return service.get(path()) }}
	if err := prepared.Service(); err != nil {
		return measure.Client{}, err
	}
	prepared.AnswerBytes = len(service.response.Body())
	same := baseline.BytesPath + strconv.Itoa(prepared.AnswerBytes)
	prepared.Baseline = func() error { return bare.get(same) }
	return prepared, prepared.Baseline()
}
