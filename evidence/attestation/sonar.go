package attestation

import (
	"bytes"
	"encoding/json"
	"fmt"

	"attestry/evidence"
)

// SonarResults is the result of a Sonar analysis. Other members, such as branch, are kept.
type SonarResults struct {
	_          struct{}     `json:"-" additionalProperties:"true"`
	ServerURL  *string      `json:"serverUrl,omitempty" nullable:"true" format:"uri-reference"`
	TaskID     *string      `json:"taskId,omitempty" nullable:"true"`
	Status     *string      `json:"status,omitempty" nullable:"true"`
	AnalysedAt string       `json:"analysedAt"`
	Revision   string       `json:"revision"`
	ChangedAt  *string      `json:"changedAt,omitempty" nullable:"true"`
	Project    SonarProject `json:"project"`
	// QualityGate is nil if the project has none.
	QualityGate *QualityGate `json:"qualityGate,omitempty"`
	raw         json.RawMessage
}

// SonarProject is the analysed project.
type SonarProject struct {
	_    struct{} `json:"-" additionalProperties:"true"`
	Name string   `json:"name,omitempty" default:""`
	Key  string   `json:"key"`
	URL  string   `json:"url" format:"uri-reference"`
}

// QualityGate is the quality gate of the analysis; null for none.
type QualityGate struct {
	_          struct{}               `json:"-" additionalProperties:"true" nullable:"true"`
	Name       *string                `json:"name,omitempty" nullable:"true"`
	Status     string                 `json:"status" doc:"OK, or something else."`
	Conditions []QualityGateCondition `json:"conditions"`
}

// QualityGateCondition is one condition of a gate.
type QualityGateCondition struct {
	_              struct{} `json:"-" additionalProperties:"true"`
	Metric         string   `json:"metric"`
	ErrorThreshold string   `json:"errorThreshold"`
	Operator       string   `json:"operator"`
	Status         string   `json:"status"`
	Value          *string  `json:"value,omitempty" nullable:"true"`
	OnLeakPeriod   *bool    `json:"onLeakPeriod,omitempty" nullable:"true"`
}

// UnmarshalJSON decodes the known members and keeps the JSON.
func (s *SonarResults) UnmarshalJSON(data []byte) error {
	type plain SonarResults
	var decoded plain
	if err := json.Unmarshal(data, &decoded); err != nil {
		return err
	}
	decoded.raw = bytes.Clone(data)
	*s = SonarResults(decoded)
	return nil
}

// MarshalJSON returns the JSON that was decoded.
func (s SonarResults) MarshalJSON() ([]byte, error) {
	if s.raw != nil {
		return s.raw, nil
	}
	type plain SonarResults
	return json.Marshal(plain(s))
}

type sonarRule struct {
	Gate struct {
		Status string `json:"status"`
	} `json:"qualityGate"`
}

// Compliant reports whether the status of the quality gate is OK. Without a gate it is false (docs/semantics.md 6.3).
func (r *sonarRule) Compliant() bool { return IsSonarOK(r.Gate.Status) }

// IsSonarOK reports whether the status of a quality gate makes an attestation compliant.
func IsSonarOK(status string) bool { return status == "OK" }

func summarizeSonar(results SonarResults) []string {
	gate := results.QualityGate
	if gate == nil {
		return []string{"no quality gate for project " + results.Project.Key}
	}
	text := fmt.Sprintf("quality gate %s for project %s", gate.Status, results.Project.Key)
	var failing []string
	for _, of := range gate.Conditions {
		if !IsSonarOK(of.Status) {
			failing = append(failing, fmt.Sprintf("%s is %s (%s %s)", of.Metric, evidence.ZeroIfNil(of.Value), of.Operator, of.ErrorThreshold))
		}
	}
	if len(failing) > 0 {
		text += ": " + firstOf(failing)
	}
	return []string{text}
}
