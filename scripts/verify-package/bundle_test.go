package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"attestry/app/population"
	"attestry/evidence/audit"
	"attestry/evidence/evidencetest"
	"attestry/evidence/translog"
)

// newBundle makes the bundle of a period without deployments, with a report and requirements, that a log has signed.
func newBundle(t *testing.T, log *testLog) []file {
	t.Helper()
	files := []file{
		{name: audit.PeriodPath, content: encode(t, audit.PeriodDocument{SchemaVersion: audit.SchemaVersion, Organization: "acme"})},
		{name: audit.TotalsPath, content: encode(t, population.NewTotals())},
		{name: audit.SamplePath, content: encode(t, population.Sample{Strata: []population.Stratum{}, Rows: []population.SampledRow{}})},
		{name: audit.PopulationPath, content: strings.Join(population.Columns, ",") + "\n"},
		{name: audit.RequirementsPath + "ours.csv", content: "not met"},
		{name: audit.PeriodReportPath, content: "%PDF the requirements are not met"},
	}
	var members []audit.Member
	for _, one := range files {
		members = append(members, audit.NewMember(one.name, []byte(one.content)))
	}
	sums := audit.Checksums(members)
	signed, err := log.keys.SignText(testOrigin, audit.Statement(testOrigin, []audit.Member{audit.NewMember(audit.ChecksumsPath, sums)}))
	evidencetest.Must(t, err)
	return append(files, file{name: audit.ChecksumsPath, content: string(sums)}, file{name: audit.SignaturePath, content: signed})
}

// TestForgedBundlesAreFound keeps the signature of a bundle, and changes what is unpacked beside the signed content.
func TestForgedBundlesAreFound(t *testing.T) {
	log := newLog(t)
	bundle := newBundle(t, log)
	keys := log.keys.Verifiers(testOrigin)
	forged := file{name: audit.PeriodReportPath, content: "%PDF all is well"}
	// joined is a member whose name contains the line of the report in SHA256SUMS, which then needs no report.
	report := slices.IndexFunc(bundle, func(f file) bool { return f.name == audit.PeriodReportPath })
	joined := slices.Clone(bundle)
	joined[report-1].name += "\n" + strings.TrimSuffix(string(audit.Checksums([]audit.Member{audit.NewMember(forged.name, []byte(bundle[report].content))})), "\n")
	joined = slices.Delete(joined, report, report+1)
	for name, c := range map[string]struct {
		files []file
		finds string // "" for none
	}{
		"a bundle":                        {bundle, ""},
		"one without its report":          {joined, "its name has a line break"},
		"one with another report":         {append([]file{forged}, joined...), "is no audit package"},
		"one with a member before it":     {append([]file{{name: "packages/f/t.tar.gz", content: "x"}}, bundle...), "is no audit package"},
		"one with other checksums before": {slices.Insert(slices.Clone(bundle), 1, file{name: audit.ChecksumsPath, content: "x"}), "SHA256SUMS: it is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			code := run([]string{"--log-key", keys[0], write(t, "bundle.tgz", pack(t, true, c.files...))}, &out, &out, false)
			if (code == sound) != (c.finds == "") || !strings.Contains(out.String(), c.finds) {
				t.Errorf("exit code %d, printed:\n%s", code, &out)
			}
		})
	}
}

// TestBundlesAreNotComparedWithALog has a log that does not exist and a checkpoint of another one.
func TestBundlesAreNotComparedWithALog(t *testing.T) {
	log, other := newLog(t), newLog(t)
	keys := log.keys.Verifiers(testOrigin)
	others := other.keys.Verifiers(otherOrigin)
	kept, err := other.keys.Sign(otherOrigin, &translog.Tree{})
	evidencetest.Must(t, err)
	var out bytes.Buffer
	code := run([]string{
		"--log-key", write(t, "keys", []byte(keys[0]+"\n"+others[0]+"\n")), "--log", "http://127.0.0.1:1/-/log/acme",
		"--checkpoint", write(t, "kept", []byte(kept)), write(t, "bundle.tgz", pack(t, true, newBundle(t, log)...)),
	}, &out, &out, false)
	if code != unusable || !strings.Contains(out.String(), "--log is for packages") {
		t.Errorf("exit code %d, printed:\n%s", code, &out)
	}
}
