package workload

import (
	"context"
	"fmt"
	"time"

	"attestry/app/recording"
	"attestry/evidence"
)

// know lets two flows report the images of a cluster, and those that some of them are
// replaced by: one builds them from a commit of one of twenty repositories, the other
// one scans them.
func (s *stage) know(seed string, pods int) error {
	return s.seed(pods+rolled(pods), func(ctx context.Context, scope recording.Scope, i int) error {
		version := firstVersion
		if i >= pods {
			version, i = secondVersion, i-pods
		}
		record, err := s.knownImage(ctx, scope, i, digest(seed, version, i))
		if err != nil {
			return err
		}
		pipeline := scope.Flow
		for _, flow := range []string{"-build", "-scan"} {
			scope.Flow, scope.Trail = pipeline+flow, component(i)+"-"+record.CommitSHA[:12]
			record.ID, record.Trail = evidence.NewID(), scope.Trail
			if err := s.instance.Process.Store.Recorder.Report(ctx, scope, record, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// knownImage is the record of an image as a pipeline tells of it.
func (s *stage) knownImage(ctx context.Context, scope recording.Scope, i int, fingerprint string) (evidence.ArtifactRecord, error) {
	url := "https://github.com/org/" + team(i)
	repo, err := s.instance.Process.Store.Repos.Report(ctx, scope.Org, evidence.RepoInfo{Name: "org/" + team(i), URL: url}, scope.At)
	sha := digest(s.scope, fingerprint, i)[:40]
	committed := evidence.Seconds(time.Now().Add(-time.Hour))
	return evidence.ArtifactRecord{
		Org: scope.Org, Name: component(i), Fingerprint: fingerprint, Filename: imageName(i),
		CommitSHA: sha, CommitURL: url + "/commit/" + sha, Repo: repo.ID, BuildURL: url + "/actions/runs/1",
		Commit: &evidence.GitCommit{
			SHA1: sha, Timestamp: &committed, Branch: new("main"), Author: new("A. Person <person@example.com>"),
			Message: new(fmt.Sprintf("Change the colour of button %d", i)), URL: new(url + "/commit/" + sha),
		},
		CreatedAt: scope.At, ReportedBy: organization,
	}, err
}
