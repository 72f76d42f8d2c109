package snapshots

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/evidence/timeline"
)

type environmentDiffInput struct {
	server.OrgPath
	Snappish1 string `query:"snappish1" required:"true" doc:"The name of an environment, with #N, ~N or @{…} behind it for another snapshot than the latest."`
	Snappish2 string `query:"snappish2" required:"true" doc:"As snappish1; of the same environment or another one."`
}

// EnvironmentDiffResponse is the difference of two snapshots (docs/semantics.md 13.3).
type EnvironmentDiffResponse struct {
	Snappish1  DiffItem `json:"snappish1" doc:"What runs by the first only."`
	Snappish2  DiffItem `json:"snappish2" doc:"What runs by the second only."`
	Changed    DiffItem `json:"changed" doc:"What runs by both, in other numbers of instances."`
	NotChanged DiffItem `json:"not-changed" doc:"What runs by both, in the same number."`
}

// DiffItem is a part of a diff, sorted by name.
type DiffItem struct {
	SnapshotID string         `json:"snapshot_id,omitempty" doc:"env#N; only of what runs by one snapshot."`
	Artifacts  []ArtifactInfo `json:"artifacts"`
}

// ArtifactInfo is an artifact in a diff. Members that do not apply are left out.
type ArtifactInfo struct {
	Fingerprint         string   `json:"fingerprint"`
	Name                string   `json:"name"`
	MostRecentTimestamp int64    `json:"most_recent_timestamp" doc:"When its youngest instance started, in Unix seconds."`
	Flow                string   `json:"flow" doc:"The flow that built it, empty when no flow knows it."`
	CommitURL           *string  `json:"commit_url,omitempty"`
	InstanceCount       *int     `json:"instance_count,omitempty"`
	S1InstanceCount     *int     `json:"s1_instance_count,omitempty" doc:"Only of what has changed."`
	S2InstanceCount     *int     `json:"s2_instance_count,omitempty" doc:"Only of what has changed."`
	Pods                []string `json:"pods,omitempty" doc:"Names, in order."`
}

// diffSide is one of the two snapshots of a request.
type diffSide struct {
	environment evidence.Environment
	expression  timeline.Expression
	loaded      loadedSnapshot
}

func (s *diffSide) snapshotID() string {
	return s.environment.Name + "#" + strconv.FormatInt(s.loaded.Number, 10)
}

func (h *handlers) environmentDiff(ctx context.Context, in *environmentDiffInput) (*server.Answer[EnvironmentDiffResponse], error) {
	sides, err := h.diffSides(ctx, in)
	if err != nil {
		return nil, err
	}
	comparison, err := h.compareSides(ctx, &sides[0], &sides[1])
	if err != nil {
		return nil, err
	}
	flows, err := h.loadDiffFlows(ctx, &comparison)
	if err != nil {
		return nil, err
	}
	return server.Answered(EnvironmentDiffResponse{
		Snappish1:  DiffItem{SnapshotID: sides[0].snapshotID(), Artifacts: byName(comparison.OnlyFirst, flows.alone)},
		Snappish2:  DiffItem{SnapshotID: sides[1].snapshotID(), Artifacts: byName(comparison.OnlySecond, flows.alone)},
		Changed:    DiffItem{Artifacts: byName(comparison.Changed, flows.changed)},
		NotChanged: DiffItem{Artifacts: byName(comparison.Same, flows.unchanged)},
	}), nil
}

// diffSides parses both expressions of a request before it resolves their environments.
func (h *handlers) diffSides(ctx context.Context, in *environmentDiffInput) (sides [2]diffSide, err error) {
	var names [2]string
	for i, text := range []string{in.Snappish1, in.Snappish2} {
		if names[i], sides[i].expression, err = timeline.ParseSnappish(text); err != nil {
			return sides, err
		}
	}
	for i, name := range names {
		if sides[i].environment, err = h.LoadEnvironment(ctx, name); err != nil {
			return sides, err
		}
	}
	return sides, nil
}

// compareSides reads and compares the two snapshots. Those of logical environments have no trees, so all artifacts are
// read if one of the environments is logical.
func (h *handlers) compareSides(ctx context.Context, first, second *diffSide) (snapshot.Comparison, error) {
	read := h.resolveSnapshot
	logical := first.environment.Logical() || second.environment.Logical()
	if logical {
		read = h.loadSnapshot
	}
	for _, side := range []*diffSide{first, second} {
		var err error
		if side.loaded, err = read(ctx, side.environment, side.expression); err != nil {
			return snapshot.Comparison{}, err
		}
	}
	if logical {
		return snapshot.Compare(first.loaded.Artifacts, second.loaded.Artifacts), nil
	}
	return h.Snapshots.Comparison(ctx, &first.loaded.Snapshot, &second.loaded.Snapshot)
}

// diffFlows are the flows that built the artifacts of a diff, by id.
type diffFlows map[string]evidence.Flow

// loadDiffFlows reads the flows: one command for up to a thousand.
func (h *handlers) loadDiffFlows(ctx context.Context, comparison *snapshot.Comparison) (diffFlows, error) {
	var ids []string
	add := func(artifact *snapshot.Artifact) {
		if len(artifact.Origins) > 0 {
			ids = append(ids, artifact.Origins[0].Flow)
		}
	}
	for _, artifacts := range [][]snapshot.Artifact{comparison.OnlyFirst, comparison.OnlySecond} {
		for i := range artifacts {
			add(&artifacts[i])
		}
	}
	for _, pairs := range [][]snapshot.Pair{comparison.Changed, comparison.Same} {
		for i := range pairs {
			add(&pairs[i].Second)
		}
	}
	return h.Flows.Names(ctx, server.Access(ctx).OrgID, resource.SortUnique(ids))
}

func byName[T any](artifacts []T, show func(*T) ArtifactInfo) []ArtifactInfo {
	infos := resource.Map(artifacts, show)
	slices.SortFunc(infos, func(a, b ArtifactInfo) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return infos
}

// alone shows an artifact that runs in only one of the snapshots.
func (f diffFlows) alone(artifact *snapshot.Artifact) ArtifactInfo {
	info := f.info(artifact)
	info.InstanceCount = new(artifact.Instances())
	return info
}

// changed shows an artifact that runs in both snapshots, with different numbers of instances.
func (f diffFlows) changed(pair *snapshot.Pair) ArtifactInfo {
	info := f.inBoth(pair)
	info.S1InstanceCount, info.S2InstanceCount = new(pair.First.Instances()), new(pair.Second.Instances())
	return info
}

// unchanged shows an artifact that runs in both snapshots, with the same number of instances.
func (f diffFlows) unchanged(pair *snapshot.Pair) ArtifactInfo {
	info := f.inBoth(pair)
	info.InstanceCount = new(pair.Second.Instances())
	return info
}

// inBoth shows an artifact as it is in the second snapshot, with the pods of both.
func (f diffFlows) inBoth(pair *snapshot.Pair) ArtifactInfo {
	info := f.info(&pair.Second)
	info.MostRecentTimestamp = max(info.MostRecentTimestamp, pair.First.NewestInstance())
	info.Pods = resource.SortUnique(slices.AppendSeq(info.Pods, maps.Keys(pair.First.Pods)))
	return info
}

func (f diffFlows) info(artifact *snapshot.Artifact) ArtifactInfo {
	info := ArtifactInfo{
		Fingerprint: artifact.Fingerprint, Name: artifact.Name,
		MostRecentTimestamp: artifact.NewestInstance(), Pods: slices.Sorted(maps.Keys(artifact.Pods)),
	}
	if len(artifact.Origins) > 0 {
		origin := &artifact.Origins[0]
		info.Flow, info.CommitURL = f[origin.Flow].Name, resource.NilIfEmpty(origin.CommitURL)
	}
	return info
}
