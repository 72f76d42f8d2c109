package snapshot

import (
	"encoding/json"
	"slices"

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
	// Allowed tells that the environment's allow list had it.
	Allowed bool `json:"allowed,omitempty"`
	// Since and StartedAt are the snapshot with which it began to run; FirstAt is its first run here. Unix seconds.
	Since     int64   `json:"since"`
	StartedAt float64 `json:"started_at"`
	FirstAt   float64 `json:"first_at"`
	// Origins tell what each flow knows of it, the one that built it first.
	Origins []Origin `json:"origins,omitempty"`
}

// Origin is what a flow knows of a running artifact.
type Origin struct {
	evidence.Origin
	// Status is the artifact's state in its trail.
	Status evidence.Status `json:"status"`
	// Shortfall is what kept it from being compliant there, where policies were applied.
	Shortfall *policy.Shortfall `json:"shortfall,omitempty"`
	// Previous is what ran here before from the same flow under the same reference name, nil when nothing did.
	Previous *Predecessor `json:"previous,omitempty"`
	// Unapproved are the first of the flow's trails between that of Previous and its own that others had not approved when it
	// began to run, by name (docs/semantics.md 18.12).
	Unapproved []string `json:"unapproved,omitempty"`
}

// Predecessor is an artifact that another one has replaced, or runs beside.
type Predecessor struct {
	Fingerprint string `json:"fingerprint"`
	Name        string `json:"name"`
	// Since is the number of the snapshot with which it had begun to run.
	Since  int64           `json:"since"`
	Origin evidence.Origin `json:"origin"`
	// Status is its state in its trail when its successor was judged first.
	Status evidence.Status `json:"status"`
	// Again means that its successor had also run between the two: it was restarted, and replaced nothing. Snapshots of
	// earlier versions do not have it.
	Again bool `json:"again,omitempty"`
}

// Update gives a predecessor that still runs the name and the origin that it has now.
func (p *Predecessor) Update(running *Artifact) {
	lineage := LineageOf(&p.Origin)
	for i := range running.Origins {
		if origin := &running.Origins[i].Origin; LineageOf(origin) == lineage {
			p.Name, p.Origin = running.Name, *origin
		}
	}
}

// Instances is how many instances of the artifact run.
func (a *Artifact) Instances() int { return len(a.CreatedAt) }

// AllNames are the names under which it runs.
func (a *Artifact) AllNames() []string {
	if len(a.Names) == 0 {
		return []string{a.Name}
	}
	return a.Names
}

// NewestInstance is the start of the youngest instance, in Unix seconds.
func (a *Artifact) NewestInstance() int64 {
	if len(a.CreatedAt) == 0 {
		return 0
	}
	return a.CreatedAt[len(a.CreatedAt)-1]
}

// Repos lists the repositories that the artifact comes from, each once.
func (a *Artifact) Repos() []string {
	var repos []string
	for _, origin := range a.Origins {
		if origin.Repo != "" && !slices.Contains(repos, origin.Repo) {
			repos = append(repos, origin.Repo)
		}
	}
	return repos
}

// Facts returns what a snapshot keeps of an artifact's facts. flows names its origins' flows.
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

// CodeDiff is the address of the difference to what ran before, nil if there is none.
func (o *Origin) CodeDiff() *string {
	if o.Previous == nil {
		return nil
	}
	return evidence.CompareURL(&o.Previous.Origin, &o.Origin)
}

// Counts has the number of running artifacts by verdict. Its JSON keys are the contract's (docs/semantics.md 11.3).
type Counts struct {
	True  int `json:"true"`
	False int `json:"false"`
	Null  int `json:"null"`
}

// Running is how many artifacts there are.
func (c Counts) Running() int { return c.Judged() + c.Null }

// Judged is how many artifacts have a verdict.
func (c Counts) Judged() int { return c.True + c.False }

// Count counts verdicts.
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

// Context is what certain types of environments tell of an instance beyond what it runs and since when: one member is
// set, that of the environment's type (docs/semantics.md 10.1).
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

// AzureContext is the app that an instance is, and where its digest is from.
type AzureContext struct {
	AppName       string `json:"app_name"`
	AppKind       string `json:"app_kind"`
	DigestsSource string `json:"digests_source" enum:"acr,logs,kosli-cli" doc:"Where the fingerprint was learned."`
}

// CloudRunContext is the service's revision, or the job, that an instance is of.
type CloudRunContext struct {
	Kind         string  `json:"kind" enum:"service,job"`
	ServiceName  *string `json:"service_name" nullable:"true"`
	RevisionName *string `json:"revision_name" nullable:"true"`
	JobName      *string `json:"job_name" nullable:"true"`
}

// members lists the texts of a context, always in the same order.
func (c *Context) members() []string {
	if c == nil {
		return nil
	}
	var members []string
	if e := c.ECS; e != nil {
		members = append(members, e.TaskARN, evidence.Text(e.ClusterName), evidence.Text(e.ServiceName))
	}
	if a := c.Azure; a != nil {
		members = append(members, a.AppName, a.AppKind, a.DigestsSource)
	}
	if r := c.CloudRun; r != nil {
		members = append(members, r.Kind, evidence.Text(r.ServiceName), evidence.Text(r.RevisionName), evidence.Text(r.JobName))
	}
	return members
}

// size is the most that the context takes up in JSON, in bytes.
func (c *Context) size() int {
	if c == nil {
		return 0
	}
	return contextFrame + textSize(c.members()...)
}
