package snapshot

import (
	"encoding/json"

	"attestry/evidence"
	"attestry/evidence/policy"
)

// Artifact is a fingerprint in a snapshot, with what was known and decided when the snapshot was made.
type Artifact struct {
	Reported
	// Compliant is nil where no policy is applied (docs/semantics.md 9.4).
	Compliant *bool `json:"compliant"`
	// Decisions has one element per policy that the snapshot applied, in its order.
	Decisions []Decision `json:"decisions,omitempty"`
	// Allowed is true if the environment's allow list had it.
	Allowed bool `json:"allowed,omitempty"`
	// Since is the number of the snapshot with which it began to run and StartedAt the time of that snapshot. FirstAt is
	// the start of its first run in the environment. Times are Unix seconds.
	Since     int64   `json:"since"`
	StartedAt float64 `json:"started_at"`
	FirstAt   float64 `json:"first_at"`
	// Origins has one element per flow that the artifact was reported to, the flow that built it first.
	Origins []Origin `json:"origins,omitempty"`
}

// Origin is the newest record of a running artifact in a flow, with its state there.
type Origin struct {
	evidence.Origin
	// Status is the artifact's state in its trail.
	Status evidence.Status `json:"status"`
	// Shortfall is why it is not compliant in its trail. It is set only where policies were applied.
	Shortfall *policy.Shortfall `json:"shortfall,omitempty"`
	// Previous is the artifact of the same flow and reference name that ran here before, nil if there was none.
	Previous *Predecessor `json:"previous,omitempty"`
	// Unapproved are the names of the first of the flow's trails, between Previous's trail and the artifact's own, without
	// independent approval when it began to run (docs/semantics.md 18.12).
	Unapproved []string `json:"unapproved,omitempty"`
}

// Predecessor is an artifact that another one has replaced, or runs beside.
type Predecessor struct {
	Fingerprint string `json:"fingerprint"`
	Name        string `json:"name"`
	// Since is the number of the snapshot with which it had begun to run.
	Since  int64           `json:"since"`
	Origin evidence.Origin `json:"origin"`
	// Status is its state in its trail when its successor was first evaluated.
	Status evidence.Status `json:"status"`
	// Again is true if the successor had already run after this artifact: it was restarted and replaced nothing. Snapshots
	// of earlier versions do not have it.
	Again bool `json:"again,omitempty"`
	// Together is true if the successor last began to run with the same snapshot as this artifact.
	Together bool `json:"-"`
}

// Update sets the current name and origin of a predecessor that is still running.
func (p *Predecessor) Update(running *Artifact) {
	if origin := running.OriginIn(LineageOf(&p.Origin)); origin != nil {
		p.Name, p.Origin = running.Name, origin.Origin
	}
}

// Instances is the number of running instances.
func (a *Artifact) Instances() int { return len(a.CreatedAt) }

// AllNames are the names under which it runs.
func (a *Artifact) AllNames() []string {
	if len(a.Names) == 0 {
		return []string{a.Name}
	}
	return a.Names
}

// NewestInstance is the latest start of an instance, in Unix seconds, or 0 without instances.
func (a *Artifact) NewestInstance() int64 {
	if len(a.CreatedAt) == 0 {
		return 0
	}
	return a.CreatedAt[len(a.CreatedAt)-1]
}

// Repos lists the repositories that the artifact comes from, each once.
func (a *Artifact) Repos() []string {
	repos := evidence.Map(a.Origins, func(o Origin) string { return o.Repo })
	return evidence.WithoutEmpty(evidence.Distinct(repos))
}

// Facts returns the policy facts that the snapshot has of the artifact. flows are the names of its origins' flows.
func (a *Artifact) Facts(flows []string) policy.Facts {
	facts := policy.Facts{Name: a.Name, Fingerprint: a.Fingerprint}
	for i := range a.Origins {
		origin := &a.Origins[i]
		flow := policy.Flow{Name: flows[i], Trail: origin.Trail, Status: origin.Status, Unapproved: origin.Unapproved}
		if origin.Shortfall != nil {
			flow.Shortfall = *origin.Shortfall
		}
		facts.Flows = append(facts.Flows, flow)
	}
	return facts
}

// CodeDiff is the URL of the code difference to the previous artifact, nil if there is none.
func (o *Origin) CodeDiff() *string {
	if o.Previous == nil {
		return nil
	}
	return evidence.CompareURL(&o.Previous.Origin, &o.Origin)
}

// Counts has the number of running artifacts by verdict. The API defines its JSON keys (docs/semantics.md 11.3).
type Counts struct {
	True  int `json:"true"`
	False int `json:"false"`
	Null  int `json:"null"`
}

// Running is the number of artifacts.
func (c Counts) Running() int { return c.Judged() + c.Null }

// Judged is the number of artifacts that have a verdict.
func (c Counts) Judged() int { return c.True + c.False }

// Count counts artifacts by verdict.
func Count(artifacts []Artifact) Counts {
	var counts Counts
	for _, artifact := range artifacts {
		switch {
		case artifact.Compliant == nil:
			counts.Null++
		case *artifact.Compliant:
			counts.True++
		default:
			counts.False++
		}
	}
	return counts
}

func encode(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic("snapshot: plain data does not encode: " + err.Error())
	}
	return body
}

// Context has further properties of an instance in environments of certain types. Only the member of the environment's
// type is set (docs/semantics.md 10.1).
type Context struct {
	ECS      *ECSContext      `json:"ecs,omitempty"`
	Azure    *AzureContext    `json:"azure,omitempty"`
	CloudRun *CloudRunContext `json:"cloud_run,omitempty"`
}

// ECSContext is the task that an instance is part of.
type ECSContext struct {
	TaskARN     string  `json:"task_arn"`
	ClusterName *string `json:"cluster_name" nullable:"true"`
	ServiceName *string `json:"service_name" nullable:"true"`
}

// AzureContext is the app of an instance, and the source of its digest.
type AzureContext struct {
	AppName       string `json:"app_name"`
	AppKind       string `json:"app_kind"`
	DigestsSource string `json:"digests_source" enum:"acr,logs,kosli-cli" doc:"Where the fingerprint was learned."`
}

// CloudRunContext is the service revision or the job of an instance.
type CloudRunContext struct {
	Kind         string  `json:"kind" enum:"service,job"`
	ServiceName  *string `json:"service_name" nullable:"true"`
	RevisionName *string `json:"revision_name" nullable:"true"`
	JobName      *string `json:"job_name" nullable:"true"`
}

// members lists the strings of a context in a fixed order.
func (c *Context) members() []string {
	if c == nil {
		return nil
	}
	var members []string
	if e := c.ECS; e != nil {
		members = append(members, e.TaskARN, evidence.ZeroIfNil(e.ClusterName), evidence.ZeroIfNil(e.ServiceName))
	}
	if a := c.Azure; a != nil {
		members = append(members, a.AppName, a.AppKind, a.DigestsSource)
	}
	if r := c.CloudRun; r != nil {
		members = append(members, r.Kind, evidence.ZeroIfNil(r.ServiceName), evidence.ZeroIfNil(r.RevisionName), evidence.ZeroIfNil(r.JobName))
	}
	return members
}

// size is an upper bound of the context's size in JSON, in bytes.
func (c *Context) size() int {
	if c == nil {
		return 0
	}
	return contextOverhead + textSize(c.members()...)
}
