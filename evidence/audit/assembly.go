package audit

import (
	"cmp"
	"slices"
	"strings"

	"attestry/evidence/job"
	"attestry/evidence/period"
)

// AskedInterval is how much AskedAt may be behind, in seconds, so that few reads of a package write.
const AskedInterval = 3600.0

// killedReason is the reason of an assembly whose last worker reported none.
const killedReason = "The worker ended while it assembled the package."

// Assembly is what is known about a subject's package: whether one is requested, and the last one.
type Assembly struct {
	// ID says what the package is of; the members below say it in parts.
	ID   string `json:"id"`
	Org  string `json:"org"`
	Kind Kind   `json:"kind"`
	Flow string `json:"flow"` // id
	// Trail is a name. Fingerprint and Attestation, an id, are set for packages of these kinds.
	Trail       string `json:"trail,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Attestation string `json:"attestation,omitempty"`
	// Period is the name of the audit that a bundle is of, and Draw the sample in it.
	Period string       `json:"period,omitempty"`
	Draw   *period.Draw `json:"draw,omitempty"`
	// OrgName is the organization's name when the package was last requested.
	OrgName string `json:"org_name"`

	// Trace is the reference to the trace of the last request.
	Trace string `json:"trace,omitempty"`
	// Wanted counts the requests: a package of WantedState, or of a later state. Answered is
	// the last of these numbers that a package was assembled for, or that failed.
	Wanted      int64  `json:"wanted"`
	WantedState string `json:"wanted_state"`
	Answered    int64  `json:"answered"`
	// Status is how far the assembly is; nothing is due once all requests are answered.
	job.Status
	// Failure is set when the last request has failed, until a client has read it or asks again.
	Failure *Failure `json:"failure,omitempty"`

	// Ready is the last package that was assembled, nil if there is none or nobody has requested it for long.
	Ready *Assembled `json:"ready,omitempty"`
	// AskedAt is when a ready package was last requested, in Unix seconds, exact to AskedInterval.
	AskedAt float64 `json:"asked_at,omitempty"`
	// Replaced are earlier packages whose objects are still stored.
	Replaced []ReplacedObject `json:"replaced,omitempty"`
}

// ObjectKeys returns the keys of the objects that the assembly names.
func (a *Assembly) ObjectKeys() []string {
	keys := a.Ready.objects()
	for _, replaced := range a.Replaced {
		keys = append(keys, replaced.Object)
	}
	return keys
}

// Assembled is a package in the object store.
type Assembled struct {
	// Request is the number of the request that it answers.
	Request int64 `json:"request"`
	// State is that of the facts: a package of another state is assembled anew. So is one that shows
	// something else than Shown of these controls and environments.
	State        string   `json:"state"`
	Shown        string   `json:"shown"`
	Controls     []string `json:"controls,omitempty"`     // identifiers
	Environments []string `json:"environments,omitempty"` // ids
	Archive      Stored   `json:"archive"`
	// Report is the report of a trail by itself, nil for other packages.
	Report *Stored `json:"report,omitempty"`
	// Lost is how many evidence files the object store had lost.
	Lost int `json:"lost,omitempty"`
	// At is when it was assembled, in Unix seconds.
	At float64 `json:"at"`
}

// objects are the keys of its objects, none of no package.
func (a *Assembled) objects() []string {
	switch {
	case a == nil:
		return nil
	case a.Report == nil:
		return []string{a.Archive.Object}
	}
	return []string{a.Archive.Object, a.Report.Object}
}

// Failure is why no package of a state could be assembled, in words for clients.
type Failure struct {
	State  string `json:"state"`
	Reason string `json:"reason"`
}

// Stored is an object.
type Stored struct {
	Object string `json:"object"` // key
	Size   int64  `json:"size"`   // bytes
	SHA256 string `json:"sha256"`
}

// ReplacedObject is an object that was a package, or a report, until a time in Unix seconds.
type ReplacedObject struct {
	Object string  `json:"object"` // key
	At     float64 `json:"at"`
}

// recheckLost is how long a package that lacks evidence is good, in seconds: the evidence may have been restored since.
const recheckLost = 600.0

// IsCurrent reports whether the ready package shows a state of the facts, and what is shown beside them.
func (a *Assembly) IsCurrent(state, shown string, now float64) bool {
	return a.Ready != nil && a.Ready.State == state && a.Ready.Shown == shown && (a.Ready.Lost == 0 || now-a.Ready.At < recheckLost)
}

// Ask asks for a package of a state at a time in Unix seconds. It returns the number of the request,
// which requests of the same state share until it is answered.
func (a *Assembly) Ask(state, orgName string, now float64) int64 {
	a.OrgName = orgName
	if a.Wanted > a.Answered && a.WantedState == state {
		return a.Wanted
	}
	if a.Wanted == a.Answered {
		a.Failure = nil
		a.Start(now)
	}
	a.Wanted++
	a.WantedState = state
	return a.Wanted
}

// Retry asks for a package again whose assembly was given up, at a time in Unix seconds.
func (a *Assembly) Retry(now float64) {
	a.Failure = nil
	a.Wanted++
	a.Start(now)
}

// LastAsked is when the package that is ready was last requested, in Unix seconds.
func (a *Assembly) LastAsked() float64 { return max(a.AskedAt, a.Ready.At) }

// Expire forgets, at a time in Unix seconds, the ready package unless it was requested after an earlier time.
func (a *Assembly) Expire(since, at float64) {
	if a.Ready != nil && a.LastAsked() <= since {
		a.Discard(a.Ready, at)
		a.Ready = nil
	}
}

// TakeFailure returns why the last request of a state has failed, once.
func (a *Assembly) TakeFailure(state string) (reason string, ok bool) {
	if a.Failure == nil || a.Failure.State != state || a.Wanted > a.Answered {
		return "", false
	}
	reason, a.Failure = a.Failure.Reason, nil
	return reason, true
}

// Progress is how far a request has come.
type Progress string

// How far requests come.
const (
	Pending  Progress = "pending"
	Complete Progress = "ready"
	Failed   Progress = "failed"
)

// ProgressOf tells how far the request of a number has come.
func (a *Assembly) ProgressOf(request int64) Progress {
	switch {
	case a.Ready != nil && a.Ready.Request >= request:
		return Complete
	case a.Answered >= request:
		return Failed
	default:
		return Pending
	}
}

// Begin begins an attempt of a worker at a time in Unix seconds and returns the number of its request. It is not ok if
// none waits or another worker is at it. After the last attempt that killed its worker, the assembly has failed.
func (a *Assembly) Begin(holder string, now float64) (request int64, ok bool) {
	if a.Due > 0 && !a.Taken(now) && a.Exhausted(&job.Assemble) {
		a.giveUp(a.Wanted, cmp.Or(a.Reason, killedReason), now)
		return 0, false
	}
	if !a.Claim(&job.Assemble, holder, now) {
		return 0, false
	}
	a.Reason = ""
	return a.Wanted, true
}

// Succeed notes the package with which a worker answers a request. It is not ok if another worker has
// taken the assembly over; then the package is noted as replaced.
func (a *Assembly) Succeed(holder string, fresh Assembled) bool {
	if a.Holder != holder {
		a.Discard(&fresh, fresh.At)
		return false
	}
	if a.Ready != nil {
		a.Discard(a.Ready, fresh.At)
	}
	a.Ready = &fresh
	a.answer(fresh.Request, fresh.At)
	return true
}

// Discard notes the objects of a package that is not needed any more at a time in Unix seconds.
func (a *Assembly) Discard(unused *Assembled, at float64) {
	for _, object := range unused.objects() {
		if !slices.ContainsFunc(a.Replaced, func(r ReplacedObject) bool { return r.Object == object }) {
			a.Replaced = append(a.Replaced, ReplacedObject{Object: object, At: at})
		}
	}
}

// Lose forgets the package that is ready if it has a lost object.
func (a *Assembly) Lose(object string, at float64) {
	if a.Uses(object) {
		a.Discard(a.Ready, at)
		a.Ready = nil
	}
}

// FailAttempt notes why an attempt failed, for clients. Without a further attempt that answers the request.
func (a *Assembly) FailAttempt(request int64, reason string, again bool, now float64) {
	if !a.Fail(&job.Assemble, now, now, now, 0, reason) || !again {
		a.giveUp(request, reason, now)
	}
}

// giveUp answers a request by the failure of the last attempt.
func (a *Assembly) giveUp(request int64, reason string, now float64) {
	a.Failure = &Failure{State: a.WantedState, Reason: reason}
	a.answer(request, now)
	a.Reason = reason
	if a.Due == 0 {
		a.Park(now, reason)
	}
}

// answer notes that a request is answered at a time in Unix seconds. Later requests wait on.
func (a *Assembly) answer(request int64, now float64) {
	a.Answered = max(a.Answered, request)
	if a.Answered == a.Wanted {
		a.Complete()
		return
	}
	a.Start(now)
}

// Uses reports whether an object is, or is part of, the package that is ready.
func (a *Assembly) Uses(object string) bool { return slices.Contains(a.Ready.objects(), object) }

// AssemblyID is the id of the package of a subject.
func AssemblyID(kind Kind, org string, parts ...string) string {
	return strings.Join(append([]string{org, string(kind)}, parts...), "/")
}

// Forget forgets what was replaced before a time in Unix seconds. Objects in kept are tried again at a later time.
func (a *Assembly) Forget(before float64, kept map[string]bool, again float64) {
	a.Replaced = slices.DeleteFunc(a.Replaced, func(r ReplacedObject) bool { return r.At <= before && !kept[r.Object] })
	for i := range a.Replaced {
		if one := &a.Replaced[i]; one.At <= before {
			one.At = again
		}
	}
	slices.SortStableFunc(a.Replaced, func(a, b ReplacedObject) int { return cmp.Compare(a.At, b.At) })
}
