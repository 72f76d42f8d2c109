package main

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"attestry/app/population"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/period"
	"attestry/evidence/snapshot"
	"attestry/evidence/translog"
)

// bundle has the content of the bundle of an audit (docs/semantics.md 26.6) and the findings.
type bundle struct {
	newVerifier func() *audit.Verifier
	maxDocument int64 // bytes, of a document that is in memory
	about       audit.PeriodDocument
	// totals and sample are read from the bundle. counted and drawn are computed from its population.
	totals, counted   population.Totals
	sample            population.Sample
	drawn             *period.Sample
	members           []audit.Member
	checksums, signed []byte
	packages          int
	findings          []string
}

func (b *bundle) report(format string, values ...any) {
	b.findings = append(b.findings, fmt.Sprintf(format, values...))
}

// add reads a member.
func (b *bundle) add(name string, content io.Reader) error {
	if strings.Contains(name, "\n") { // SHA256SUMS would seem to list several members
		b.report("%s: its name has a line break", name)
	}
	hash := sha256.New()
	read := io.TeeReader(content, hash)
	documents := map[string]any{audit.PeriodPath: &b.about, audit.TotalsPath: &b.totals, audit.SamplePath: &b.sample}
	var err error
	switch {
	case documents[name] != nil:
		var document []byte
		if document, err = b.readDocument(read); err == nil {
			err = audit.Decode(document, documents[name])
		}
		b.drawn = period.NewSample(b.sample.Draw)
	case name == audit.PopulationPath:
		err = b.readPopulation(read)
	case name == audit.ChecksumsPath:
		return b.readOnce(name, &b.checksums, read)
	case name == audit.SignaturePath:
		return b.readOnce(name, &b.signed, read)
	case strings.HasPrefix(name, "packages/"):
		b.packages++
		var result audit.Result
		result, err = verify(read, b.newVerifier(), func(string) {})
		for _, finding := range result.Findings {
			b.report("%s: %s", name, finding)
		}
		if of := result.Manifest; err == nil && (of.Subject.Organization != b.about.Organization || name != audit.PackagePath(of.Subject.Flow, of.Subject.Trail)) {
			b.report("%s: it is the package of something else", name)
		}
	}
	if err != nil {
		b.report("%s: %v", name, err)
	}
	size, err := io.Copy(io.Discard, read)
	b.members = append(b.members, audit.Member{Path: name, Size: size, SHA256: hex.EncodeToString(hash.Sum(nil))})
	return err
}

// readOnce reads a member that SHA256SUMS does not list. A second one would not be compared with anything.
func (b *bundle) readOnce(name string, into *[]byte, content io.Reader) (err error) {
	if *into != nil {
		b.report("%s: it is there twice", name)
	}
	*into, err = b.readDocument(content)
	return err
}

func (b *bundle) readDocument(content io.Reader) ([]byte, error) {
	document, err := io.ReadAll(io.LimitReader(content, b.maxDocument+1))
	if err == nil && int64(len(document)) > b.maxDocument {
		err = fmt.Errorf("it is longer than %d MiB; a greater --memory allows more", b.maxDocument>>20)
	}
	return document, err
}

// readPopulation counts the rows and draws the sample.
func (b *bundle) readPopulation(content io.Reader) error {
	lines := csv.NewReader(content)
	lines.ReuseRecord = true
	if columns, err := lines.Read(); err != nil || !slices.Equal(columns, population.Columns) {
		return errors.Join(err, errors.New("its columns are not known"))
	}
	column := func(name string) int { return slices.Index(population.Columns, name) }
	for {
		line, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		id := line[column("id")]
		environment, _, _ := strings.Cut(id, "/")
		b.drawn.Add(environment, line[column("verdict")], id)
		incidents, _ := strconv.Atoi(line[column("incidents")]) // an invalid number counts as 0, and the totals differ
		b.counted.Add(&population.Row{
			Kind: snapshot.DeploymentKind(line[column("kind")]), Verdict: line[column("verdict")], Approval: period.Approval(line[column("approval")]),
			AllowListed: line[column("allow_listed")] == "true", BrokeGlass: line[column("broke_glass")] == "true", Incidents: incidents,
			Unapproved: strings.Fields(line[column("unapproved_trails")]),
		})
	}
}

// compare adds findings if the checksums, totals, sample or signature do not match the members.
func (b *bundle) compare(o *options) {
	if sums := audit.Checksums(b.members); string(sums) != string(b.checksums) {
		b.report("%s: it does not have the checksums of the members", audit.ChecksumsPath)
	}
	rows := b.counted.Deployments
	if b.totals.Deployments != rows || b.totals.Events.Started != rows || !maps.Equal(b.totals.By, b.counted.By) {
		b.report("%s: it counts %d deployments, %v, the population has %d, %v", audit.TotalsPath, b.totals.Deployments, b.totals.By, rows, b.counted.By)
	}
	same := slices.EqualFunc(b.drawn.Drawn(), b.sample.Rows, func(a period.Drawn, row population.SampledRow) bool { return a.ID == row.ID && a.Rank == row.Rank })
	if !same || b.sample.Population != rows {
		b.report("%s: another sample is drawn by its seed", audit.SamplePath)
	}
	for _, row := range b.sample.Rows {
		path := audit.PackagePath(row.Flow, row.Trail)
		if row.Trail != "" && !slices.ContainsFunc(b.members, func(m audit.Member) bool { return m.Path == path }) {
			b.report("%s: it is missing", path)
		}
	}
	if len(o.Keys) == 0 {
		return
	}
	text, signers, err := translog.OpenText(string(b.signed), o.Keys...)
	signed := []audit.Member{audit.NewMember(audit.ChecksumsPath, b.checksums)}
	if err != nil || !slices.ContainsFunc(signers, func(origin string) bool { return text == audit.Statement(origin, signed) }) {
		b.report("%s: no key that is trusted has signed the checksums", audit.SignaturePath)
	}
}

// print prints the result and returns the exit code.
func (b *bundle) print(out io.Writer, o *options) int {
	b.compare(o)
	shown, more := first(b.findings)
	err := bundleTemplate.Execute(out, map[string]any{
		"Period": b.about.Period, "Organization": b.about.Organization, "Deployments": evidence.Count(b.counted.Deployments, "deployment"),
		"Sampled": len(b.sample.Rows), "Seed": b.sample.Seed, "Packages": evidence.Count(b.packages, "package"),
		"Findings": shown, "More": more, "Keys": o.Keys,
	})
	if err != nil || len(b.findings) > 0 {
		return unsound
	}
	return sound
}
