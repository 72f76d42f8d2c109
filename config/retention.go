package config

import (
	"errors"
	"fmt"

	"attestry/evidence"
)

const (
	retentionDays          = prefix + "RETENTION_DAYS"
	retentionOrganizations = prefix + "RETENTION_ORGANIZATIONS"
	// maxRetentionDays is 100 years. A greater number is taken for a typing error.
	maxRetentionDays = 36500
)

// OrganizationDays maps the names of organizations to numbers of days.
type OrganizationDays map[string]int

// UnmarshalText reads a list such as "acme=3650,demo=0".
func (o *OrganizationDays) UnmarshalText(text []byte) error {
	days, err := readNumbers(string(text), "organization", func(name string) error {
		if err := evidence.CheckOrganizationName(name); err != nil {
			return fmt.Errorf("%q is not the name of an organization: %w", name, err)
		}
		return nil
	}, "number of days", 0, maxRetentionDays)
	*o = days
	return err
}

// RetentionMode says who may end a retention before its time.
type RetentionMode string

// The modes of retention.
const (
	Governance RetentionMode = "governance"
	Compliance RetentionMode = "compliance"
)

// UnmarshalText reads one of the modes.
func (m *RetentionMode) UnmarshalText(text []byte) error {
	if *m = RetentionMode(text); *m != Governance && *m != Compliance {
		return errors.New("is not one of governance, compliance")
	}
	return nil
}

// On reports whether any object is put under retention.
func (r Retention) On() bool { return r.setting() != "" }

// setting returns the name of the variable that enables retention, or "".
func (r Retention) setting() string {
	if r.Days > 0 {
		return retentionDays
	}
	for _, days := range r.Organizations {
		if days > 0 {
			return retentionOrganizations
		}
	}
	return ""
}
