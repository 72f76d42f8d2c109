package auditpackage

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"attestry/app"
	"attestry/app/population"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/csvtable"
	"attestry/evidence/framework"
	"attestry/evidence/period"
	"attestry/storage"
	"attestry/storage/governance"
	"attestry/storage/logs"
	"attestry/storage/spool"
	"attestry/tasks"
	"attestry/tasks/auditpackage/pdf"
)

// bundle is the bundle of a period while it is assembled.
type bundle struct {
	*Assembler
	assembly *audit.Assembly
	period   period.Period
	sample   population.Sample
	// frameworks are the latest of the organization, without their content.
	frameworks []governance.Framework
	// log is the organization's, and begin and end are its checkpoints at the bounds of the period, zero without one.
	log        logs.Log
	begin, end logs.Checkpoint
	reader     *population.Reader
}

func newReader(store *app.Store, release func(context.Context)) *population.Reader {
	reader := population.NewReader(store, batchBytes)
	reader.Digests, reader.Release = true, release
	return reader
}

// loadBundle reads the period and the log, and draws the sample.
func loadBundle(ctx context.Context, store *app.Store, reader *population.Reader, assembly *audit.Assembly) (*bundle, error) {
	b := &bundle{assembly: assembly, reader: reader}
	var err error
	if b.period, err = store.Periods.Get(ctx, period.Key(assembly.Org, assembly.Period)); err != nil {
		return nil, err
	}
	if b.frameworks, err = store.Frameworks.List(ctx, assembly.Org); err != nil {
		return nil, err
	}
	if b.log, err = logOf(ctx, store, assembly.Org); err != nil {
		return nil, err
	}
	if b.begin, b.end, err = b.reader.Checkpoints(ctx, &b.period, b.period.To); err != nil {
		return nil, err
	}
	b.sample, err = b.reader.Draw(ctx, &b.period, *assembly.Draw)
	return b, err
}

// state is stateOf for a bundle: its sample, the state of the sampled trails, the log, and the totals and the digest of
// the population. A kept reader counts a day again only if facts about it were recorded since.
func (b *bundle) state(ctx context.Context, store *app.Store) (string, error) {
	trails, err := store.Trails.GetMany(ctx, b.trails())
	if err != nil {
		return "", err
	}
	changed := evidence.ToMap(trails, func(t *evidence.Trail) (string, float64) { return t.Key(), t.EvaluatedAt })
	var extents []float64
	for some := range slices.Chunk(b.trails(), storage.MaxMany) {
		events, last, err := store.TrailEvents.Extent(ctx, b.period.Org, some)
		if err != nil {
			return "", err
		}
		extents = append(extents, float64(events), last)
	}
	totals, err := b.reader.Totals(ctx, &b.period, b.period.To)
	if err != nil {
		return "", err
	}
	return audit.Sum(struct {
		Schema     int
		OrgName    string
		Period     period.Period
		Totals     population.Totals
		Rows       string
		Sample     population.Sample
		Changed    map[string]float64
		Extents    []float64 // of the events of the sampled trails, such as approvals
		Frameworks []governance.Framework
		Log        []string
	}{
		audit.SchemaVersion, b.assembly.OrgName, b.period, totals, totals.Rows(), b.sample, changed, extents, b.frameworks,
		append([]string{b.log.Origin, b.begin.Note, b.end.Note}, b.log.Verifiers...),
	})
}

// trails are the keys of the sampled trails, sorted.
func (b *bundle) trails() []string {
	known := evidence.SetOf(b.sample.Rows, func(row *population.SampledRow) string { return row.TrailKey })
	delete(known, "")
	return slices.Sorted(maps.Keys(known))
}

func (a *Assembler) assembleBundle(ctx context.Context, assembly *audit.Assembly) (audit.Assembled, error) {
	b, err := loadBundle(ctx, a.store, newReader(a.store, nil), assembly)
	if err != nil {
		return audit.Assembled{}, err
	}
	b.Assembler = a
	assembled := audit.Assembled{At: evidence.Seconds(a.Clock()), Environments: b.period.Environments}
	if assembled.State, err = b.state(ctx, a.store); err != nil {
		return audit.Assembled{}, err
	}
	if assembled.Shown, err = shownOf(ctx, a.store, assembly.Org, nil, assembled.Environments); err != nil {
		return audit.Assembled{}, err
	}
	if assembled.Archive, err = a.storeArchive(ctx, assembly.Org, func(w io.Writer) error { return b.write(ctx, w) }); err != nil {
		return audit.Assembled{}, err
	}
	return assembled, a.store.Retention.Keep(ctx, assembly.OrgName, assembled.Archive.Object)
}

// write writes the archive. The same facts make the same bytes. It reads the population once, so totals and list agree.
func (b *bundle) write(ctx context.Context, w io.Writer) error {
	out := newArchive(w)
	about, err := b.document(ctx)
	if err != nil {
		return err
	}
	files, frameworks, err := b.readFrameworks(ctx)
	if err != nil {
		return err
	}
	survey := b.reader.NewSurvey(&b.period, frameworks...)
	rows, err := holdTable(population.Columns, func(after string) ([][]string, string, error) { return survey.Lines(ctx, "", after) })
	if err != nil {
		return err
	}
	defer rows.Close()
	totals, err := survey.Totals(ctx, b.period.To)
	if err != nil {
		return err
	}
	assessed, err := survey.Assessments(ctx, b.period.To)
	if err != nil {
		return err
	}
	for _, one := range []struct {
		path  string
		value any
	}{{audit.PeriodPath, about}, {audit.TotalsPath, totals}, {audit.SamplePath, b.sample}} {
		if err := writeJSON(out, one.path, b.period.To, one.value); err != nil {
			return err
		}
	}
	if err := out.stream(audit.PopulationPath, b.period.To, rows.Size, rows); err != nil {
		return err
	}
	if err := out.addAll(files); err != nil {
		return err
	}
	if err := b.writeRequirements(out, assessed); err != nil {
		return err
	}
	report, err := pdf.RenderPeriod(&pdf.PeriodDocument{PeriodDocument: about, Totals: totals, Sample: b.sample, Assessments: assessed})
	if err != nil {
		return err
	}
	if err := out.add(audit.PeriodReportPath, b.period.To, report); err != nil {
		return err
	}
	for _, row := range b.sample.Rows {
		path := audit.PackagePath(row.Flow, row.Trail)
		if row.TrailKey == "" || slices.ContainsFunc(out.members, func(known audit.Member) bool { return known.Path == path }) {
			continue
		}
		if err := b.writePackage(ctx, out, path, row.TrailKey); err != nil {
			return err
		}
	}
	rest := []member{{audit.RecountPath, b.period.To, audit.Recount}, {audit.BundleInstructionsPath, b.period.To, audit.BundleInstructions}}
	if err := out.addAll(rest); err != nil {
		return err
	}
	if err := b.writeChecksums(out); err != nil {
		return err
	}
	return out.close()
}

func (b *bundle) document(ctx context.Context) (document audit.PeriodDocument, err error) {
	document = audit.PeriodDocument{
		SchemaVersion: audit.SchemaVersion, Generator: b.Generator, Organization: b.assembly.OrgName, Period: b.period,
		LogBegin: b.begin.Note, LogEnd: b.end.Note,
	}
	document.Environments, err = environmentNames(ctx, b.store, b.period.Org, b.period.Environments)
	return document, err
}

// holdTable buffers a table as CSV, so that its size is known.
func holdTable(columns []string, rows func(after string) ([][]string, string, error)) (*spool.Spool, error) {
	table, err := csvtable.NewReader(columns, rows)
	if err != nil {
		return nil, err
	}
	return spool.New(table, maxInMemory)
}

func (b *bundle) readFrameworks(ctx context.Context) (files []member, parsed []framework.Framework, err error) {
	for _, latest := range b.frameworks {
		stored, err := b.store.Frameworks.Version(ctx, b.period.Org, latest.Name, latest.Version)
		if err != nil {
			return nil, nil, err
		}
		one, err := stored.Parse()
		if err != nil {
			return nil, nil, err
		}
		parsed, files = append(parsed, one), append(files, member{audit.FrameworksPath + stored.Name + ".yml", b.period.To, stored.Content})
	}
	return files, parsed, nil
}

// writeRequirements writes how far the period meets each framework.
func (b *bundle) writeRequirements(out *archive, assessed []population.Assessment) error {
	for i, latest := range b.frameworks {
		path := audit.RequirementsPath + latest.Name
		if err := writeJSON(out, path+".json", b.period.To, assessed[i]); err != nil {
			return err
		}
		table, err := holdTable(population.RequirementColumns, func(string) ([][]string, string, error) { return assessed[i].Lines(), "", nil })
		if err != nil {
			return err
		}
		if err := errors.Join(out.stream(path+".csv", b.period.To, table.Size, table), table.Close()); err != nil {
			return err
		}
	}
	return nil
}

// writePackage assembles the package of a trail unless it is ready, and writes it.
func (b *bundle) writePackage(ctx context.Context, out *archive, path, key string) error {
	flow, trail, _ := strings.Cut(key, "/")
	subject := audit.Assembly{
		ID: audit.AssemblyID(audit.OfTrail, b.assembly.Org, key), Org: b.assembly.Org, OrgName: b.assembly.OrgName, Kind: audit.OfTrail, Flow: flow, Trail: trail,
	}
	requests := NewRequests(b.store, new(tasks.Waiters), b.Clock, nil) // waiters that never wake: only this worker waits
	answer, err := requests.Ask(ctx, subject, 0)
	// The log may not cover the facts at the first attempt, and there may be no other worker for the second.
	for until := time.Now().Add(MaxWait); err == nil && answer.Progress != audit.Complete && time.Now().Before(until); {
		if err = b.Assemble(ctx, subject.ID); err == nil {
			answer, err = requests.Ask(ctx, subject, CoverPause)
		}
	}
	if err != nil {
		return err
	}
	if answer.Progress != audit.Complete {
		return evidence.Errorf(evidence.Unavailable, "The package of trail '%s' could not be assembled. %s", trail, answer.Reason)
	}
	stored := answer.Package.Archive
	content, err := requests.Open(ctx, subject.ID, stored, 0, -1)
	if err != nil {
		return err
	}
	defer content.Close()
	return out.stream(path, b.period.To, stored.Size, content)
}

// writeChecksums writes the checksums of all members, and signs them if the organization has a log.
func (b *bundle) writeChecksums(out *archive) error {
	sums := audit.Checksums(out.members)
	if err := out.add(audit.ChecksumsPath, b.period.To, sums); err != nil {
		return err
	}
	if len(b.LogKeys) == 0 || b.log.Origin == "" {
		return nil
	}
	text, err := b.LogKeys.SignText(b.log.Origin, audit.Statement(b.log.Origin, []audit.Member{audit.NewMember(audit.ChecksumsPath, sums)}))
	if err != nil {
		return err
	}
	return out.add(audit.SignaturePath, b.period.To, []byte(text))
}
