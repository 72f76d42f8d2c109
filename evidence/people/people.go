// Package people reads an organization's file that maps accounts to people (docs/semantics.md 18.13).
package people

import (
	"fmt"
	"strings"

	"attestry/evidence"
	"attestry/evidence/yamlfile"
)

const (
	// MaxAccounts bounds the accounts and names of a file.
	MaxAccounts = 20_000
	maxText     = 255
)

var format = yamlfile.Format{Name: "File of people", Columns: true}

// Parse reads a file. A person's name counts as an account. Faults are a *yamlfile.Error, for the file's author.
func Parse(content []byte) (evidence.Accounts, error) {
	return yamlfile.Parse(format, content, accountsOf)
}

func accountsOf(value yamlfile.Value) evidence.Accounts {
	fields, _ := value.Mapping("People", "people")
	accounts := evidence.Accounts{}
	for _, one := range fields["people"].List() {
		person, ok := one.Mapping("Person", "name", "accounts")
		if !ok {
			continue
		}
		name := person["name"].BoundedText(maxText)
		add(accounts, person["name"], name, name)
		for _, account := range person["accounts"].List() {
			add(accounts, account, account.BoundedText(maxText), name)
		}
		if len(accounts) > MaxAccounts {
			one.Fault(fmt.Sprintf("Value error, there are at most %d names and accounts", MaxAccounts))
			break
		}
	}
	return accounts
}

// add adds an account of a person. An account that another person has is a fault.
func add(to evidence.Accounts, value yamlfile.Value, account, person string) {
	key := strings.ToLower(account)
	if owner, taken := to[key]; taken {
		value.Fault("Value error, this is an account of '" + owner + "' already" + yamlfile.Shown(account))
		return
	}
	to[key] = person
}
