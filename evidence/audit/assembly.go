package audit

import (
	"cmp"
	"slices"
	"strings"

	"attestry/evidence/job"
	"attestry/evidence/period"
)

// RequestedInterval is the precision of RequestedAt, in seconds: most reads of a package then need no write.
const RequestedInterval = 3600.0

// killedReason is the reason of an assembly whose last worker ended without storing one.
const killedReason = "The worker ended while it assembled the package."

// Assembly is the state of a subject's package: its requests, and the last package that was assembled.
type Assembly struct {
	// ID is made of the kind and the members below that name the subject.
	ID   string `json:"id"`
	Org  string `json:"org"`
	Kind Kind   `json:"kind"`
	Flow string `json:"flow"` // id
	// Trail is a name. Fingerprint and Attestation, an id, are set for packages of artifacts and attestations.
	Trail       string `json:"trail,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Attestation string `json:"attestation,omitempty"`
	// Period is the name of the audit of a bundle, and Draw its sample.
	Period string       `json:"period,omitempty"`
	Draw   *period.Draw `json:"draw,omitempty"`
	// OrgName is the organization's name when the package was last requested.
	OrgName string `json:"org_name"`

	// Trace is the reference to the trace of the last request.
	Trace string `json:"trace,omitempty"`
	// Wanted is the number of the last request, which is for a package of WantedState or a later state. Answered is the
	// number of the last request that has succeeded or failed.
	Wanted      int64  `json:"wanted"`
	WantedState string `json:"wanted_state"`
	Answered    int64  `json:"answered"`
	// Status is that of the job; nothing is due once all requests are answered.
	job.Status
	// Failure is set when the last request has failed, until a client has read it or requests a package again.
	Failure *Failure `json:"failure,omitempty"`

	// Ready is the last package that was assembled, nil if there is none or it has expired.
	Ready *Assembled `json:"ready,omitempty"`
	// RequestedAt is when the ready package was last requested, in Unix seconds, with the precision of
	// RequestedInterval.
	RequestedAt float64 `json:"asked_at,omitempty"`
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
	// State is the digest of the facts, and Shown that of the controls and environments. If one of them has changed, the
	// package is assembled again.
	State        string   `json:"state"`
	Shown        string   `json:"shown"`
	Controls     []string `json:"controls,omitempty"`     // identifiers
	Environments []string `json:"environments,omitempty"` // ids
	Archive      Stored   `json:"archive"`
	// Report is the separate report of a trail, nil for other packages.
	Report *Stored `json:"report,omitempty"`
	// Lost is the number of evidence files that the object store had lost.
	Lost int `json:"lost,omitempty"`
	// At is when it was assembled, in Unix seconds.
	At float64 `json:"at"`
}

// objects are the keys of its objects, none for nil.
func (a *Assembled) objects() []string {
	switch {
	case a == nil:
		return nil
	case a.Report == nil:
		return []string{a.Archive.Object}
	}
	return []string{a.Archive.Object, a.Report.Object}
}

// Failure is why no package of a state could be assembled. Clients get the reason.
type Failure struct {
	State  string `json:"state"`
	Reason string `json:"reason"`
}

// Stored is an object in the object store.
type Stored struct {
	Object string `json:"object"` // key
	Size   int64  `json:"size"`   // bytes
	SHA256 string `json:"sha256"`
}

// ReplacedObject is an object of a former package.
type ReplacedObject struct {
	Object string  `json:"object"` // key
	At     float64 `json:"at"`     // when it was replaced, in Unix seconds
}

// maxLossAge is how long a package that lacks evidence is current, in seconds: the evidence may be restored.
const maxLossAge = 600.0

// IsCurrent reports whether the ready package is of these states and, if it lacks evidence, younger than maxLossAge.
func (a *Assembly) IsCurrent(state, shown string, now float64) bool {
	return a.Ready != nil && a.Ready.State == state && a.Ready.Shown == shown && (a.Ready.Lost == 0 || now-a.Ready.At < maxLossAge)
}

// Ask requests a package of a state at a time in Unix seconds. It returns the number of the request. Requests of the
// same state share a number until it is answered.
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

// Retry requests a package again after its assembly has failed, at a time in Unix seconds.
func (a *Assembly) Retry(now float64) {
	a.Failure = nil
	a.Wanted++
	a.Start(now)
}

// LastRequested is when the ready package was last requested, in Unix seconds.
func (a *Assembly) LastRequested() float64 { return max(a.RequestedAt, a.Ready.At) }

// Expire discards the ready package at a time in Unix seconds, unless it was requested after since.
func (a *Assembly) Expire(since, at float64) {
	if a.Ready != nil && a.LastRequested() <= since {
		a.Discard(a.Ready, at)
		a.Ready = nil
	}
}

// TakeFailure returns and clears why the last request failed. ok is false unless it failed and was for this state.
func (a *Assembly) TakeFailure(state string) (reason string, ok bool) {
	if a.Failure == nil || a.Failure.State != state || a.Wanted > a.Answered {
		return "", false
	}
	reason, a.Failure = a.Failure.Reason, nil
	return reason, true
}

// Progress is the state of a request.
type Progress string

// The states of requests.
const (
	Pending  Progress = "pending"
	Complete Progress = "ready"
	Failed   Progress = "failed"
)

// ProgressOf returns the state of the request of a number.
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

// Begin begins an attempt of a worker at a time in Unix seconds and returns the number of its request. ok is false if
// none waits or another worker has the lease. If the last allowed attempt killed its worker, the request fails.
func (a *Assembly) Begin(holder string, now float64) (request int64, ok bool) {
	if a.Due > 0 && !a.Taken(job.Assemble.Lease.Seconds(), now) && a.Exhausted(&job.Assemble) {
		a.giveUp(a.Wanted, cmp.Or(a.Reason, killedReason), now)
		return 0, false
	}
	if !a.Claim(&job.Assemble, holder, now) {
		return 0, false
	}
	a.Reason = ""
	return a.Wanted, true
}

// Succeed sets the package that a worker has assembled for a request. It is not ok if another worker has taken over the
// lease: then the package is recorded as replaced.
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

// Discard records the objects of an unused package as replaced, at a time in Unix seconds. Equal packages share objects,
// so an object may have been replaced before.
func (a *Assembly) Discard(unused *Assembled, at float64) {
	for _, object := range unused.objects() {
		a.Replaced = slices.DeleteFunc(a.Replaced, func(r ReplacedObject) bool { return r.Object == object })
		a.Replaced = append(a.Replaced, ReplacedObject{Object: object, At: at})
	}
}

// Lose discards the ready package if it has the lost object.
func (a *Assembly) Lose(object string, at float64) {
	if a.Uses(object) {
		a.Discard(a.Ready, at)
		a.Ready = nil
	}
}

// FailAttempt records why an attempt failed, for clients. Unless there is a further attempt, the request has failed.
func (a *Assembly) FailAttempt(request int64, reason string, again bool, now float64) {
	if !a.Fail(&job.Assemble, now, now, now, 0, reason) || !again {
		a.giveUp(request, reason, now)
	}
}

// giveUp fails a request with the reason of its last attempt.
func (a *Assembly) giveUp(request int64, reason string, now float64) {
	a.Failure = &Failure{State: a.WantedState, Reason: reason}
	a.answer(request, now)
	a.Reason = reason
	if a.Due == 0 {
		a.Park(now, reason)
	}
}

// answer marks a request as answered at a time in Unix seconds. Later requests keep waiting.
func (a *Assembly) answer(request int64, now float64) {
	a.Answered = max(a.Answered, request)
	if a.Answered == a.Wanted {
		a.Complete()
		return
	}
	a.Start(now)
}

// Uses reports whether an object belongs to the ready package.
func (a *Assembly) Uses(object string) bool { return slices.Contains(a.Ready.objects(), object) }

// AssemblyID is the id of the package of a subject.
func AssemblyID(kind Kind, org string, parts ...string) string {
	return strings.Join(append([]string{org, string(kind)}, parts...), "/")
}

// Forget removes objects that were replaced before a time in Unix seconds. Those in kept stay, as if replaced at again.
func (a *Assembly) Forget(before float64, kept map[string]bool, again float64) {
	a.Replaced = slices.DeleteFunc(a.Replaced, func(r ReplacedObject) bool { return r.At <= before && !kept[r.Object] })
	for i := range a.Replaced {
		if one := &a.Replaced[i]; one.At <= before {
			one.At = again
		}
	}
	slices.SortStableFunc(a.Replaced, func(a, b ReplacedObject) int { return cmp.Compare(a.At, b.At) })
}
