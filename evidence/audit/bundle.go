package audit

import (
	_ "embed"
	"net/url"

	"attestry/evidence/period"
)

// OfPeriod is the kind of a bundle: all that an auditor asks for of a period (docs/semantics.md 26.6). It is no package by
// itself, and has packages of trails.
const OfPeriod Kind = "period"

// The members of a bundle beside ChecksumsPath, SignaturePath and the packages, in their order.
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

// PackagePath is where the package of a sampled trail is in a bundle.
func PackagePath(flow, trail string) string {
	return "packages/" + url.PathEscape(flow) + "/" + url.PathEscape(trail) + ".tar.gz"
}

// PeriodDocument is the member at PeriodPath.
type PeriodDocument struct {
	SchemaVersion int           `json:"schema_version"`
	Generator     string        `json:"generator"`
	Organization  string        `json:"organization"`
	Period        period.Period `json:"period"`
	// Environments are the names of those of the period, by id.
	Environments map[string]string `json:"environments"`
	// LogBegin and LogEnd are checkpoints of the log: the last one before the period, and the first one behind it. They are
	// signed notes, "" if there are none.
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
