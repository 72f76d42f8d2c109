package environments_test

import (
	"cmp"
	"slices"
	"testing"

	"attestry/app/apptest"
	"attestry/storage/environments"
)

func TestRunningArtifactsAreListedOncePerEnvironment(t *testing.T) {
	s := apptest.NewFixture(t)
	running := func(environment, fingerprint string, since int64) environments.Running {
		return environments.Running{Org: "acme", Environment: environment, Fingerprint: fingerprint, Since: since}
	}
	ofRepo := running("prod", "f1", 1)
	ofRepo.Repo, ofRepo.Name, ofRepo.StartedAt = "r", "app", 7
	s.Must(s.Running.Start(t.Context(), []environments.Running{
		running("prod", "f1", 1), ofRepo, running("prod", "f2", 2), running("test", "f1", 3), running("idle", "f3", 1),
	}))
	for name, c := range map[string]struct {
		environments []string
		want         []environments.Running
	}{
		"none":    {nil, nil},
		"unknown": {[]string{"x"}, nil},
		"one":     {[]string{"prod"}, []environments.Running{{Environment: "prod", Fingerprint: "f1", Since: 1}, {Environment: "prod", Fingerprint: "f2", Since: 2}}},
		"several": {[]string{"test", "idle"}, []environments.Running{{Environment: "idle", Fingerprint: "f3", Since: 1}, {Environment: "test", Fingerprint: "f1", Since: 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.Running.In(t.Context(), c.environments)
			slices.SortFunc(got, func(a, b environments.Running) int {
				return cmp.Or(cmp.Compare(a.Environment, b.Environment), cmp.Compare(a.Since, b.Since))
			})
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}
