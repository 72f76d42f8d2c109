package audit

import (
	_ "embed"
	"net/url"

	"attestry/evidence/period"
)

// OfPeriod is the kind of a bundle: the evidence of an audit period (docs/semantics.md 26.6). A bundle is not a
// package, but contains packages of trails.
const OfPeriod Kind = "period"

// The members of a bundle, in order, except ChecksumsPath, SignaturePath and the packages.
const (
	PeriodPath             = "audit.json"
	PopulationPath         = "population.csv"
	SamplePath             = "sample.json"
	TotalsPath             = "totals.json"
	FrameworksPath         = "frameworks/"
	RequirementsPath       = "requirements/"
	PeriodReportPath       = "report.pdf"
	RecountPath            = "recount.py"
	BundleInstructionsPath = "README.md"
)

// PackagePath is the member with the package of a sampled trail.
func PackagePath(flow, trail string) string {
	return "packages/" + url.PathEscape(flow) + "/" + url.PathEscape(trail) + ".tar.gz"
}

// PeriodDocument is the member at PeriodPath.
type PeriodDocument struct {
	SchemaVersion int           `json:"schema_version"`
	Generator     string        `json:"generator"`
	Organization  string        `json:"organization"`
	Period        period.Period `json:"period"`
	// Environments maps the ids of the period's environments to names.
	Environments map[string]string `json:"environments"`
	// LogBegin and LogEnd are checkpoints of the log, the last one before the period and the first one after it, as signed
	// notes; "" if there are none.
	LogBegin string `json:"log_begin"`
	LogEnd   string `json:"log_end"`
}

// BundleInstructions is the member at BundleInstructionsPath, and Recount that at RecountPath.
var (
	//go:embed BUNDLE.md
	BundleInstructions []byte
	//go:embed recount.py
	Recount []byte
)
