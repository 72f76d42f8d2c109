package evidence

// Allowance permits one artifact in one environment (docs/semantics.md 9.5).
type Allowance struct {
	ID          string `json:"id"`
	Org         string `json:"org"`
	Environment string `json:"environment"` // id
	Fingerprint string `json:"fingerprint"`
	// ArtifactName and Description are as sent; the latter says why.
	ArtifactName string `json:"artifact_name"`
	Description  string `json:"description"`
	// UserID and UserName tell who permitted it last, At when, in Unix seconds.
	UserID   string  `json:"user_id"`
	UserName string  `json:"user_name"`
	At       float64 `json:"at"`
}

// Repeat takes over what a later request says. Its time never goes back.
func (a *Allowance) Repeat(later Allowance) {
	later.ID, later.At = a.ID, TimeAfter(a.At, later.At)
	*a = later
}
