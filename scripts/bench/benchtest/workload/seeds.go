package workload

import (
	"context"
	"strconv"
	"time"

	"attestry/app/recording"
	"attestry/evidence"
)

func (f *fixture) scopeOf(trail string) recording.Scope {
	return recording.Scope{
		Org: f.org, OrgName: organization, Flow: f.flow(), Trail: trail, By: organization, At: evidence.Seconds(time.Now()),
	}
}

// seedImages reports the images of a cluster and their second versions to two flows: one builds them, each from a
// commit of one of twenty repositories, and the other one scans them.
func seedImages(ctx context.Context, f *fixture, pods int) error {
	return concurrently(pods+replaceable(pods), func(i int) error {
		version := firstVersion
		if i >= pods {
			version, i = secondVersion, i-pods
		}
		fingerprint := digest(f.scope, version, i)
		scope := f.scopeOf(component(i) + "-" + fingerprint[:12])
		repo, err := f.store.Repos.Report(ctx, f.org, evidence.RepoInfo{Name: "org/" + team(i), URL: repoURL(team(i))}, scope.At)
		if err != nil {
			return err
		}
		record := artifactRecord(scope, team(i), component(i), fingerprint)
		record.Repo = repo.ID
		record.Commit = &evidence.GitCommit{
			SHA1: record.CommitSHA, Timestamp: new(scope.At - time.Hour.Seconds()), Branch: new("main"),
			Author: new("A. Person <person@example.com>"), Message: new("Change the colour of a button"), URL: new(record.CommitURL),
		}
		for _, purpose := range []string{"-build", "-scan"} {
			scope.Flow, record.ID = f.flow()+purpose, evidence.NewID()
			if err := f.store.Recorder.Report(ctx, scope, record, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// seedArtifacts reports artifacts, each to its own trail.
func seedArtifacts(ctx context.Context, f *fixture, artifacts int) error {
	return concurrently(artifacts, func(i int) error {
		scope := f.scopeOf("trail-" + strconv.Itoa(i))
		return f.store.Recorder.Report(ctx, scope, artifactRecord(scope, "team", "component", digest(f.scope, firstVersion, i)), nil)
	})
}

// seedTrail reports artifacts to one trail, and attests each of them several times.
func seedTrail(attestations int) seed {
	return func(ctx context.Context, f *fixture, artifacts int) error {
		return concurrently(artifacts, func(i int) error {
			scope := f.scopeOf("trail")
			record := artifactRecord(scope, "team", component(i), digest(f.scope, firstVersion, i))
			if err := f.store.Recorder.Report(ctx, scope, record, nil); err != nil {
				return err
			}
			for n := range attestations {
				attestation := evidence.Attestation{
					ID: evidence.NewID(), Org: f.org, Trail: scope.Trail, Name: "check-" + strconv.Itoa(n), Type: evidence.TypeGeneric,
					Compliant: true, Fingerprint: record.Fingerprint, CreatedAt: scope.At,
				}
				if err := f.store.Recorder.Attest(ctx, scope, attestation, nil); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func artifactRecord(scope recording.Scope, team, component, fingerprint string) evidence.ArtifactRecord {
	sha := fingerprint[:40]
	return evidence.ArtifactRecord{
		ID: evidence.NewID(), Org: scope.Org, Trail: scope.Trail, Name: component, Fingerprint: fingerprint,
		Filename: image(team, component), BuildURL: repoURL(team) + "/actions/runs/1",
		CommitSHA: sha, CommitURL: repoURL(team) + "/commit/" + sha,
		CreatedAt: scope.At, ReportedBy: organization,
	}
}

func repoURL(team string) string { return "https://github.com/org/" + team }
