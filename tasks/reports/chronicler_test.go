package reports_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"attestry/evidence"
)

// model is the expected or the stored result of operations: a text for each stored fact, with the names of flows and
// files instead of ids and fingerprints.
type model map[string]string

// compare returns the differences to the stored model, "" if there are none.
func (c model) compare(got model) string {
	var lines []string
	for key, want := range c {
		if found, ok := got[key]; !ok {
			lines = append(lines, fmt.Sprintf("%s is missing, want %s", key, want))
		} else if found != want {
			lines = append(lines, fmt.Sprintf("%s is\n\t%s, want\n\t%s", key, found, want))
		}
	}
	for key, found := range got {
		if _, ok := c[key]; !ok {
			lines = append(lines, fmt.Sprintf("%s is too much: %s", key, found))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines[:min(len(lines), 12)], "\n")
}

// modelBuilder computes the expected model of operations. It uses nothing of the tested code.
type modelBuilder struct {
	model       model
	built       []built
	attested    []attested
	waiting     []report
	running     map[string]run // by file
	number      int
	events      int
	seen        map[string]float64 // when each file first ran
	deployed    map[string]string  // the name with which each deployment began to run
	successions []succession
}

type built struct {
	operation
	id string
	at float64
}

type attested struct {
	operation
	at float64
}

type report struct {
	images []image
	at     float64
}

// run is a running file.
type run struct {
	file    string
	names   []string
	created []int64
	since   int
	started float64
	first   float64
	origins []source
	repos   []string // all repositories of its origins since it started
}

// source is an origin of a file: the last report of the file in a flow.
type source struct {
	built
	first    float64
	status   string
	previous *succession
}

func (s *source) lineage() string { return s.Flow + "/" + s.Slot }

func (s *source) describe() string {
	return fmt.Sprintf("%s/%s/%s %s %s repo=%s at=%v first=%v", s.Flow, s.Trail, s.Slot, s.id, shaOf(s.Commit), s.Repo, s.at, s.first)
}

// succession is a file that ran in a lineage, which is a slot of a flow.
type succession struct {
	lineage, file, name string
	since               int
	source              source
	status              string
}

func (p *succession) describe() string {
	if p == nil {
		return "nothing"
	}
	return fmt.Sprintf("[%s %s since=%d %s %s]", p.file, p.name, p.since, p.source.describe(), p.status)
}

// modelOf computes the expected model. Reports with an index in answered are processed at once, the others when the
// environment is drained.
func modelOf(operations []operation, answered map[int]bool) model {
	c := &modelBuilder{model: model{}, running: map[string]run{}, seen: map[string]float64{}, deployed: map[string]string{}}
	for number, d := range operations {
		switch d.Kind {
		case "build":
			c.built = append(c.built, built{operation: d, id: idOf(number), at: momentOf(number)})
		case "attest":
			if d.File == "" || c.builtIn(d) {
				c.attested = append(c.attested, attested{operation: d, at: momentOf(number)})
			}
		case "run":
			c.waiting = append(c.waiting, report{images: d.Images, at: momentOf(number) + 0.001})
			if answered[number] {
				c.drain()
			}
		case "drain":
			c.drain()
		}
	}
	for file, artifact := range c.running {
		key := fmt.Sprintf("running %s since %d", file, artifact.since)
		c.model[key] = ""
		for _, repo := range artifact.repos {
			c.model[key+" of "+repo] = fmt.Sprint(artifact.started)
		}
	}
	return c.model
}

// drain processes the waiting reports.
func (c *modelBuilder) drain() {
	for _, report := range c.waiting {
		c.process(report)
	}
	c.waiting = nil
}

func (c *modelBuilder) builtIn(d operation) bool {
	return slices.ContainsFunc(c.built, func(b built) bool { return b.Flow == d.Flow && b.Trail == d.Trail && b.File == d.File })
}

// resolve finds the files of images. An image without a digest is a file that ran under its name.
func (c *modelBuilder) resolve(images []image) map[string]run {
	found := map[string]run{}
	for _, image := range c.assigned(images) {
		if image.File == "" {
			continue
		}
		artifact := found[image.File]
		artifact.file = image.File
		artifact.created = append(artifact.created, image.At)
		if !slices.Contains(artifact.names, image.Name) {
			artifact.names = append(artifact.names, image.Name)
		}
		slices.Sort(artifact.created)
		slices.Sort(artifact.names)
		found[image.File] = artifact
	}
	return found
}

// assigned gives a file to each image without a digest. The candidates are the files that ran under the image's name
// and are not reported under it now. Each candidate gets one image, the oldest image first, and the candidate that
// started last gets the rest. If there are more candidates than images, those with the newest instances are taken. If
// there is no candidate, the images get the newest file that is reported under the name.
func (c *modelBuilder) assigned(images []image) []image {
	all := slices.Clone(images)
	slices.SortStableFunc(all, func(a, b image) int { return cmp.Compare(a.At, b.At) })
	unknown := map[string]int{}
	for _, image := range all {
		if image.File == "" {
			unknown[image.Name]++
		}
	}
	files := map[string][]string{}
	for name, count := range unknown {
		files[name] = c.lastUnder(name, count, images)
	}
	for i, image := range all {
		if left := files[image.Name]; image.File == "" && len(left) > 0 {
			all[i].File = left[0]
			if len(left) > 1 {
				files[image.Name] = left[1:]
			}
		}
	}
	return all
}

// lastUnder returns the candidates for images of a name, at most count.
func (c *modelBuilder) lastUnder(name string, count int, images []image) []string {
	now := map[string]int64{}
	for _, image := range images {
		if image.Name == name && image.File != "" {
			now[image.File] = max(now[image.File], image.At)
		}
	}
	gone := map[string]int64{}
	for _, artifact := range c.running {
		if _, reported := now[artifact.file]; !reported && slices.Contains(artifact.names, name) {
			gone[artifact.file] = slices.Max(artifact.created)
		}
	}
	youngest := func(choice map[string]int64, most int) []string {
		files := slices.SortedFunc(maps.Keys(choice), func(a, b string) int {
			return cmp.Or(cmp.Compare(choice[b], choice[a]), cmp.Compare(fingerprint(b), fingerprint(a)))
		})
		return files[:min(len(files), most)]
	}
	if len(gone) == 0 {
		return youngest(now, 1)
	}
	files := youngest(gone, count)
	slices.SortFunc(files, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.running[a].since, c.running[b].since), cmp.Compare(fingerprint(a), fingerprint(b)))
	})
	return files
}

// process makes the snapshot of a report, if anything has changed.
func (c *modelBuilder) process(report report) {
	next := c.resolve(report.images)
	for file, artifact := range next {
		before, runs := c.running[file]
		artifact.since, artifact.started, artifact.first = c.number+1, report.at, report.at
		if runs {
			artifact.since, artifact.started, artifact.first, artifact.repos = before.since, before.started, before.first, before.repos
		} else if at, ran := c.seen[file]; ran {
			artifact.first = at
		}
		artifact.origins = c.sourcesOf(artifact, before)
		next[file] = artifact
	}
	var changes []transition
	for _, file := range slices.Sorted(maps.Keys(merged(c.running, next))) {
		before, ran := c.running[file]
		after, runs := next[file]
		changes = append(changes, transitionOf(before, after, ran, runs))
	}
	if c.number > 0 && !slices.ContainsFunc(changes, func(t transition) bool { return t.kind != "unchanged" }) {
		return
	}
	c.number++
	c.addSnapshot(report.at, next, changes)
	c.running = next
}

func merged(a, b map[string]run) map[string]run {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// transition is the change of a file between two snapshots.
type transition struct {
	kind     string
	was, now int
	learned  bool
	artifact run
}

func transitionOf(before, after run, ran, runs bool) transition {
	t := transition{kind: "unchanged", was: len(before.created), now: len(after.created), artifact: after}
	switch {
	case !runs:
		t.kind, t.artifact = "exited", before
	case !ran:
		t.kind = "started-unknown"
	case records(before) != records(after):
		t.kind, t.learned = "updated-provenance", len(before.origins) == 0
	}
	return t
}

func records(artifact run) string {
	ids := evidence.Map(artifact.origins, func(source source) string { return source.id })
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// sourcesOf returns the sources of a file in all flows, ordered by the first report.
func (c *modelBuilder) sourcesOf(artifact, before run) []source {
	var sources []source
	for _, flow := range []string{"build", "scan"} {
		var known source
		for _, b := range c.built {
			if b.File != artifact.file || b.Flow != flow {
				continue
			}
			if known.id == "" {
				known.first = b.at
			}
			known.built = b
		}
		if known.id == "" {
			continue
		}
		known.status = c.statusOf(known.built)
		known.previous = c.previousOf(artifact, before, known)
		sources = append(sources, known)
	}
	slices.SortFunc(sources, func(a, b source) int { return cmp.Compare(a.first, b.first) })
	return sources
}

// previousOf returns the predecessor of a file in a lineage. For a file that is new there, it is the other file that
// started last there before it.
func (c *modelBuilder) previousOf(artifact, before run, known source) *succession {
	for _, source := range before.origins {
		if source.lineage() == known.lineage() {
			return source.previous
		}
	}
	var found *succession
	for i := range c.successions {
		p := &c.successions[i]
		if p.lineage != known.lineage() || p.file == artifact.file || p.since >= artifact.since {
			continue
		}
		if found == nil || p.since > found.since || p.since == found.since && fingerprint(p.file) > fingerprint(found.file) {
			found = p
		}
	}
	if found == nil {
		return nil
	}
	previous := *found
	for _, source := range c.running[previous.file].origins {
		if source.lineage() == known.lineage() {
			previous.name, previous.source = c.running[previous.file].names[0], source
		}
	}
	previous.status = c.statusOf(previous.source.built)
	return &previous
}

// statusOf returns the compliance of a file in the trail and slot of a record.
func (c *modelBuilder) statusOf(of built) string {
	newest := of
	for _, b := range c.built {
		if b.Flow == of.Flow && b.Trail == of.Trail && b.Slot == of.Slot && b.File == of.File {
			newest = b
		}
	}
	own, whole := map[string]bool{}, map[string]bool{}
	for _, a := range c.attested {
		switch {
		case a.Flow != of.Flow || a.Trail != of.Trail:
		case a.File == "" && a.Slot == "":
			whole[a.Attestation] = a.Compliant
		case a.File == of.File && a.Slot == "":
			own[a.Attestation] = a.Compliant
		case a.File == "" && a.Slot == of.Slot && (a.Commit == "" || a.Commit == newest.Commit):
			own[a.Attestation] = a.Compliant
		}
	}
	for _, verdicts := range []map[string]bool{own, whole} {
		for _, compliant := range verdicts {
			if !compliant {
				return string(evidence.NonCompliant)
			}
		}
	}
	if of.Flow == "build" {
		_, trail := whole["x"]
		_, artifact := own["y"]
		if !trail || of.Slot == "web" && !artifact {
			return string(evidence.Incomplete)
		}
	}
	return string(evidence.Compliant)
}

// addSnapshot adds a snapshot and all records that it causes.
func (c *modelBuilder) addSnapshot(at float64, next map[string]run, changes []transition) {
	head := fmt.Sprintf("snapshot %d", c.number)
	c.model[head] = fmt.Sprintf("at %v, %d run", at, len(next))
	slices.SortFunc(changes, func(a, b transition) int {
		late := func(t transition) bool { return t.kind == "exited" }
		if late(a) != late(b) {
			return cmp.Compare(map[bool]int{true: 1}[late(a)], map[bool]int{true: 1}[late(b)])
		}
		return cmp.Or(cmp.Compare(slices.Max(b.artifact.created), slices.Max(a.artifact.created)),
			cmp.Compare(fingerprint(a.artifact.file), fingerprint(b.artifact.file)))
	})
	for _, transition := range changes {
		artifact := transition.artifact
		if transition.kind != "exited" {
			c.model[head+" "+artifact.file] = artifact.describe()
		}
		if transition.kind != "unchanged" || transition.was != transition.now {
			c.model[head+" change "+artifact.file] = fmt.Sprintf("%s %s from %d to %d, learned %v", artifact.names[0], transition.kind, transition.was, transition.now, transition.learned)
		}
		if transition.kind == "unchanged" {
			continue
		}
		c.addEvent(at, transition)
		c.addTrailEvents(at, transition)
		if transition.kind != "exited" {
			c.addDeployments(at, transition)
			next[artifact.file] = c.addSuccessions(artifact)
		}
	}
}

func (r *run) describe() string {
	parts := evidence.Map(r.origins, func(source source) string {
		return fmt.Sprintf("%s %s behind %s", source.describe(), source.status, source.previous.describe())
	})
	return fmt.Sprintf("%v %v since=%d %v first=%v %s", r.names, r.created, r.since, r.started, r.first, strings.Join(parts, "; "))
}

func (c *modelBuilder) addEvent(at float64, transition transition) {
	c.events++
	artifact := transition.artifact
	var flows, repos []string
	difference, record := "", ""
	for i, source := range artifact.origins {
		flows = append(flows, source.Flow)
		if source.Repo != "" && !slices.Contains(repos, source.Repo) {
			repos = append(repos, source.Repo)
		}
		if i > 0 {
			continue
		}
		record = source.id
		if source.previous != nil {
			difference = fmt.Sprintf("https://github.com/acme/%s/compare/%s...%s", source.Flow, shaOf(source.previous.source.Commit), shaOf(source.Commit))
		}
	}
	sentence := "changed"
	n := transition.now
	switch transition.kind {
	case "exited":
		n, sentence = transition.was, fmt.Sprintf("stopped running (from %d to 0)", transition.was)
	case "started-unknown":
		sentence = fmt.Sprintf("started running (from 0 to %d)", n)
	}
	noun := "instances"
	if n == 1 {
		noun = "instance"
	}
	text := fmt.Sprintf("snapshot %d at %v: %s %s %s: %d %s %s; %v %s %s", c.number, at, artifact.file, artifact.names[0], transition.kind, n, noun, sentence, flows, record, difference)
	c.model[fmt.Sprint("event ", c.events)] = text
	for _, repo := range repos {
		c.model[fmt.Sprint("event ", c.events, " of ", repo)] = text
	}
}

func (c *modelBuilder) addTrailEvents(at float64, transition transition) {
	kind := map[string]string{"started-unknown": "artifact_started_running", "exited": "artifact_stopped_running"}[transition.kind]
	if kind == "" {
		return
	}
	for _, source := range transition.artifact.origins {
		key := fmt.Sprintf("trail %s/%s %s of %d", source.Flow, source.Trail, transition.artifact.file, c.number)
		c.model[key] = fmt.Sprintf("%s at %v %s %d", kind, at, source.Slot, transition.now)
	}
}

// addDeployments adds the deployments of a started file, and the origin of a deployment when it is first known.
func (c *modelBuilder) addDeployments(at float64, transition transition) {
	artifact := transition.artifact
	if _, ran := c.seen[artifact.file]; !ran {
		c.seen[artifact.file] = at
		c.model["sighting "+artifact.file] = fmt.Sprint(at)
	}
	key := fmt.Sprintf("deployment %s %d", artifact.file, artifact.since)
	text := func(origin string) string {
		return fmt.Sprintf("%s at %v from %s", c.deployed[key], artifact.started, origin)
	}
	if transition.kind == "started-unknown" {
		c.deployed[key] = artifact.names[0]
		c.model[key] = text("nowhere")
	}
	if len(artifact.origins) > 0 && (transition.kind == "started-unknown" || transition.learned) {
		c.model[key] = text(artifact.origins[0].id)
	}
	for _, source := range artifact.origins {
		if _, known := c.model[key+" of "+source.Repo]; !known && source.Repo != "" {
			c.model[key+" of "+source.Repo] = text(source.id)
		}
	}
}

// addSuccessions adds the successions of a file in its lineages, and returns it with all repositories.
func (c *modelBuilder) addSuccessions(artifact run) run {
	for _, source := range artifact.origins {
		if source.Repo != "" && !slices.Contains(artifact.repos, source.Repo) {
			artifact.repos = append(slices.Clone(artifact.repos), source.Repo)
		}
		fresh := succession{lineage: source.lineage(), file: artifact.file, name: artifact.names[0], since: artifact.since, source: source, status: source.status}
		known := slices.ContainsFunc(c.successions, func(p succession) bool {
			return p.lineage == fresh.lineage && p.file == fresh.file && p.since == fresh.since
		})
		if known {
			continue
		}
		c.successions = append(c.successions, fresh)
		c.model[fmt.Sprintf("place %s %s %d", fresh.lineage, artifact.file, artifact.since)] = fmt.Sprintf("%v %s", artifact.started, fresh.describe())
	}
	return artifact
}
