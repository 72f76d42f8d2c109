package reports_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"attestry/evidence"
)

// model is what comes of a story, as lines of text: each thing that is kept, with
// the names of flows instead of their ids.
type model map[string]string

// compare tells what differs from another chronicle.
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

// modelBuilder tells what must come of deeds. It shares nothing with the code.
type modelBuilder struct {
	chronicle model
	built     []built
	attested  []attested
	waiting   []report
	running   map[string]run // by file
	number    int
	events    int
	seen      map[string]float64 // files, when they first ran
	places    []place
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

// run is a file that runs.
type run struct {
	file    string
	names   []string
	created []int64
	since   int
	started float64
	first   float64
	origins []source
	repos   []string // all that it had since it began to run
}

// source is where a flow knows a file from.
type source struct {
	built
	first    float64
	status   string
	previous *place
}

func (s *source) lineage() string { return s.Flow + "/" + s.Slot }

func (s *source) told() string {
	return fmt.Sprintf("%s/%s/%s %s %s repo=%s at=%v first=%v", s.Flow, s.Trail, s.Slot, s.id, shaOf(s.Commit), s.Repo, s.at, s.first)
}

// place is a file in a lineage.
type place struct {
	lineage, file, name string
	since               int
	source              source
	status              string
}

func (p *place) told() string {
	if p == nil {
		return "nothing"
	}
	return fmt.Sprintf("[%s %s since=%d %s %s]", p.file, p.name, p.since, p.source.told(), p.status)
}

// modelOf tells a story. Reports that were answered at once were judged then, the
// others when the environment was drained.
func modelOf(story []operation, answered map[int]bool) model {
	c := &modelBuilder{chronicle: model{}, running: map[string]run{}, seen: map[string]float64{}}
	for number, d := range story {
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
				c.settle()
			}
		case "drain":
			c.settle()
		}
	}
	for file, one := range c.running {
		key := fmt.Sprintf("running %s since %d", file, one.since)
		c.chronicle[key] = ""
		for _, repo := range one.repos {
			c.chronicle[key+" of "+repo] = fmt.Sprint(one.started)
		}
	}
	return c.chronicle
}

// settle judges the reports that wait.
func (c *modelBuilder) settle() {
	for _, report := range c.waiting {
		c.judge(report)
	}
	c.waiting = nil
}

func (c *modelBuilder) builtIn(d operation) bool {
	return slices.ContainsFunc(c.built, func(b built) bool { return b.Flow == d.Flow && b.Trail == d.Trail && b.File == d.File })
}

// resolve finds the files of images; those whose digest is unknown are what ran under
// their name.
func (c *modelBuilder) resolve(images []image) map[string]run {
	found := map[string]run{}
	for _, image := range c.assigned(images) {
		if image.File == "" {
			continue
		}
		one := found[image.File]
		one.file = image.File
		one.created = append(one.created, image.At)
		if !slices.Contains(one.names, image.Name) {
			one.names = append(one.names, image.Name)
		}
		slices.Sort(one.created)
		slices.Sort(one.names)
		found[image.File] = one
	}
	return found
}

// assigned gives the images of unknown digest a file, the oldest of a name first: each
// file that ran under the name and is not reported under it now takes one, and the one
// that began to run last takes the rest. Where there are more files, those go on whose
// instances are the youngest; where there is none, it is what is reported.
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

// lastUnder are the files, count at most, that images of a name can be.
func (c *modelBuilder) lastUnder(name string, count int, images []image) []string {
	now := map[string]int64{}
	for _, image := range images {
		if image.Name == name && image.File != "" {
			now[image.File] = max(now[image.File], image.At)
		}
	}
	gone := map[string]int64{}
	for _, one := range c.running {
		if _, reported := now[one.file]; !reported && slices.Contains(one.names, name) {
			gone[one.file] = slices.Max(one.created)
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

// judge makes a snapshot of a report, if anything differs.
func (c *modelBuilder) judge(report report) {
	next := c.resolve(report.images)
	for file, one := range next {
		before, runs := c.running[file]
		one.since, one.started, one.first = c.number+1, report.at, report.at
		if runs {
			one.since, one.started, one.first, one.repos = before.since, before.started, before.first, before.repos
		} else if at, ran := c.seen[file]; ran {
			one.first = at
		}
		one.origins = c.sourcesOf(one, before)
		next[file] = one
	}
	var changes []turn
	for _, file := range slices.Sorted(maps.Keys(merged(c.running, next))) {
		before, ran := c.running[file]
		after, runs := next[file]
		changes = append(changes, turnOf(before, after, ran, runs))
	}
	if c.number > 0 && !slices.ContainsFunc(changes, func(t turn) bool { return t.kind != "unchanged" }) {
		return
	}
	c.number++
	c.tell(report.at, next, changes)
	c.running = next
}

func merged(a, b map[string]run) map[string]run {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// turn is what happened to a file.
type turn struct {
	kind     string
	was, now int
	learned  bool
	artifact run
}

func turnOf(before, after run, ran, runs bool) turn {
	t := turn{kind: "unchanged", was: len(before.created), now: len(after.created), artifact: after}
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

func records(one run) string {
	var ids []string
	for _, source := range one.origins {
		ids = append(ids, source.id)
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// sourcesOf finds what flows know of a file now, the one that knew it first in front.
func (c *modelBuilder) sourcesOf(one, before run) []source {
	var sources []source
	for _, flow := range []string{"build", "scan"} {
		var known source
		for _, b := range c.built {
			if b.File != one.file || b.Flow != flow {
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
		known.previous = c.previousOf(one, before, known)
		sources = append(sources, known)
	}
	slices.SortFunc(sources, func(a, b source) int { return cmp.Compare(a.first, b.first) })
	return sources
}

// previousOf is what the file follows: for what is new to a lineage, the last other
// file that began to run there before it.
func (c *modelBuilder) previousOf(one, before run, known source) *place {
	for _, source := range before.origins {
		if source.lineage() == known.lineage() {
			return source.previous
		}
	}
	var found *place
	for i := range c.places {
		p := &c.places[i]
		if p.lineage != known.lineage() || p.file == one.file || p.since >= one.since {
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

// statusOf judges a file in the trail and slot of a record.
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

// tell writes down a snapshot and everything that follows from it.
func (c *modelBuilder) tell(at float64, next map[string]run, changes []turn) {
	head := fmt.Sprintf("snapshot %d", c.number)
	c.chronicle[head] = fmt.Sprintf("at %v, %d run", at, len(next))
	slices.SortFunc(changes, func(a, b turn) int {
		late := func(t turn) bool { return t.kind == "exited" }
		if late(a) != late(b) {
			return cmp.Compare(map[bool]int{true: 1}[late(a)], map[bool]int{true: 1}[late(b)])
		}
		return cmp.Or(cmp.Compare(slices.Max(b.artifact.created), slices.Max(a.artifact.created)),
			cmp.Compare(fingerprint(a.artifact.file), fingerprint(b.artifact.file)))
	})
	for _, turn := range changes {
		one := turn.artifact
		if turn.kind != "exited" {
			c.chronicle[head+" "+one.file] = one.told()
		}
		if turn.kind != "unchanged" || turn.was != turn.now {
			c.chronicle[head+" change "+one.file] = fmt.Sprintf("%s %s from %d to %d, learned %v", one.names[0], turn.kind, turn.was, turn.now, turn.learned)
		}
		if turn.kind == "unchanged" {
			continue
		}
		c.tellEvent(at, turn)
		c.tellTrails(at, turn)
		if turn.kind != "exited" {
			c.tellDeployments(at, turn)
			next[one.file] = c.tellPlaces(one)
		}
	}
}

func (r *run) told() string {
	var parts []string
	for _, source := range r.origins {
		parts = append(parts, fmt.Sprintf("%s %s behind %s", source.told(), source.status, source.previous.told()))
	}
	return fmt.Sprintf("%v %v since=%d %v first=%v %s", r.names, r.created, r.since, r.started, r.first, strings.Join(parts, "; "))
}

func (c *modelBuilder) tellEvent(at float64, turn turn) {
	c.events++
	one := turn.artifact
	var flows, repos []string
	difference, record := "", ""
	for i, source := range one.origins {
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
	n := turn.now
	switch turn.kind {
	case "exited":
		n, sentence = turn.was, fmt.Sprintf("stopped running (from %d to 0)", turn.was)
	case "started-unknown":
		sentence = fmt.Sprintf("started running (from 0 to %d)", n)
	}
	noun := "instances"
	if n == 1 {
		noun = "instance"
	}
	text := fmt.Sprintf("snapshot %d at %v: %s %s %s: %d %s %s; %v %s %s", c.number, at, one.file, one.names[0], turn.kind, n, noun, sentence, flows, record, difference)
	c.chronicle[fmt.Sprint("event ", c.events)] = text
	for _, repo := range repos {
		c.chronicle[fmt.Sprint("event ", c.events, " of ", repo)] = text
	}
}

func (c *modelBuilder) tellTrails(at float64, turn turn) {
	kind := map[string]string{"started-unknown": "artifact_started_running", "exited": "artifact_stopped_running"}[turn.kind]
	if kind == "" {
		return
	}
	for _, source := range turn.artifact.origins {
		key := fmt.Sprintf("trail %s/%s %s of %d", source.Flow, source.Trail, turn.artifact.file, c.number)
		c.chronicle[key] = fmt.Sprintf("%s at %v %s %d", kind, at, source.Slot, turn.now)
	}
}

// tellDeployments notes what is known of a deployment when it is known first.
func (c *modelBuilder) tellDeployments(at float64, turn turn) {
	one := turn.artifact
	if _, ran := c.seen[one.file]; !ran {
		c.seen[one.file] = at
		c.chronicle["sighting "+one.file] = fmt.Sprint(at)
	}
	text := func(origin string) string { return fmt.Sprintf("%s at %v from %s", one.names[0], one.started, origin) }
	key := fmt.Sprintf("deployment %s %d", one.file, one.since)
	if turn.kind == "started-unknown" {
		c.chronicle[key] = text("nowhere")
	}
	if len(one.origins) > 0 && (turn.kind == "started-unknown" || turn.learned) {
		c.chronicle[key] = text(one.origins[0].id)
	}
	for _, source := range one.origins {
		if _, told := c.chronicle[key+" of "+source.Repo]; !told && source.Repo != "" {
			c.chronicle[key+" of "+source.Repo] = text(source.id)
		}
	}
}

// tellPlaces notes the places of a file in its lineages, and its repositories.
func (c *modelBuilder) tellPlaces(one run) run {
	for _, source := range one.origins {
		if source.Repo != "" && !slices.Contains(one.repos, source.Repo) {
			one.repos = append(slices.Clone(one.repos), source.Repo)
		}
		fresh := place{lineage: source.lineage(), file: one.file, name: one.names[0], since: one.since, source: source, status: source.status}
		known := slices.ContainsFunc(c.places, func(p place) bool {
			return p.lineage == fresh.lineage && p.file == fresh.file && p.since == fresh.since
		})
		if known {
			continue
		}
		c.places = append(c.places, fresh)
		c.chronicle[fmt.Sprintf("place %s %s %d", fresh.lineage, one.file, one.since)] = fmt.Sprintf("%v %s", one.started, fresh.told())
	}
	return one
}
