package environments_test

import (
	"fmt"
	"slices"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
)

// deployed returns the deployment of an artifact that began to run at a time; with a repository, its copy for that
// repository.
func deployed(environment, repo string, at float64) snapshot.Deployment {
	return snapshot.Deployment{
		Org: "acme", Environment: environment, Fingerprint: fmt.Sprint("f", at), Snapshot: int64(at), Timestamp: at, Repo: repo,
		Origin: &snapshot.Origin{Origin: evidence.Origin{Repo: repo, Commit: &evidence.GitCommit{Timestamp: new(at / 2)}}},
	}
}

func record(s *apptest.Fixture, made ...snapshot.Deployment) {
	batch := &storage.Batch{}
	s.Deployments.RecordIn(batch, made, nil)
	s.Must(batch.Write(s.T.Context(), s.Db))
}

func TestMomentsAreTheNewestOfMany(t *testing.T) {
	s := apptest.NewFixture(t)
	var made []snapshot.Deployment
	for i := range 2_500 {
		made = append(made, deployed("prod", "", float64(i)), deployed("prod", "r1", float64(i)))
	}
	record(s, made...)
	for _, query := range []environments.DeploymentQuery{
		{Org: "acme"}, {Org: "acme", Environments: []string{"prod"}}, {Org: "acme", Repo: "r1"},
		{Org: "acme", Repo: "r1", Environments: []string{"prod", "beta"}},
	} {
		query.From, query.To, query.Limit = 10, 2_400, 2_200
		moments, err := s.Deployments.Moments(t.Context(), query)
		s.Must(err)
		if len(moments) != 2_200 || moments[0].At != 2_400 || moments[2_199].At != 201 {
			t.Errorf("%+v: %d moments", query, len(moments))
			continue
		}
		if one := moments[7]; one.Environment != "prod" || one.LeadTime == nil || *one.LeadTime != one.At/2 {
			t.Errorf("%+v: %+v", query, one)
		}
	}
	if count, err := s.Deployments.Count(t.Context(), environments.DeploymentQuery{Org: "acme", To: 1e9, Limit: 3, Offset: 5}); count != 2_500 || err != nil {
		t.Errorf("counted %d, %v", count, err)
	}
}

func TestDeploymentsOfARepositoryAreListedBySeveralEnvironments(t *testing.T) {
	s := apptest.NewFixture(t)
	record(s,
		deployed("prod", "r1", 1), deployed("prod", "r2", 2), deployed("beta", "r1", 3), deployed("idle", "r1", 4),
		deployed("prod", "r1", 5), deployed("prod", "", 6), deployed("beta", "r1", 7),
	)
	query := environments.DeploymentQuery{
		Org: "acme", Repo: "r1", Environments: []string{"beta", "prod"}, From: 2, To: 9, Offset: 1, Limit: 5,
	}
	found, err := s.Deployments.List(t.Context(), query)
	s.Must(err)
	times := evidence.Map(found, func(one snapshot.Deployment) float64 { return one.Timestamp })
	if count, err := s.Deployments.Count(t.Context(), query); count != 3 || err != nil || !slices.Equal(times, []float64{5, 3}) {
		t.Errorf("found %v of %d, %v", times, count, err)
	}
	query.Environments = []string{}
	found, err = s.Deployments.List(t.Context(), query)
	if count, failed := s.Deployments.Count(t.Context(), query); len(found) != 0 || err != nil || count != 0 || failed != nil {
		t.Errorf("nowhere are %d of %d, %v, %v", len(found), count, err, failed)
	}
}
