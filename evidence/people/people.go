// Package people reads the file of an organization that says which accounts one person has (docs/semantics.md 18.13).
package people

import (
	"fmt"
	"strings"

	"attestry/evidence"
	"attestry/evidence/yamlfile"
)

const (
	// MaxAccounts is how many accounts and names a file may have together.
	MaxAccounts = 20_000
	maxText     = 255
)

var format = yamlfile.Format{Name: "File of people", Columns: true}

// Parse reads a file. Each person's name counts as an account. What is wrong with it is a *yamlfile.Error, which is meant for whoever wrote it.
func Parse(content []byte) (evidence.Accounts, error) {
	root, err := format.Load(content)
	if err != nil {
		return nil, err
	}
	value, faults := format.Root(root)
	fields, _ := value.Mapping("People", "people")
	accounts := evidence.Accounts{}
	for _, one := range fields["people"].List() {
		of, ok := one.Mapping("Person", "name", "accounts")
		if !ok {
			continue
		}
		name := of["name"].BoundedText(maxText)
		add(accounts, of["name"], name, name)
		for _, account := range of["accounts"].List() {
			add(accounts, account, account.BoundedText(maxText), name)
		}
		if len(accounts) > MaxAccounts {
			one.Fault(fmt.Sprintf("Value error, there are at most %d names and accounts", MaxAccounts))
			break
		}
	}
	return accounts, faults.Err()
}

// add adds an account of a person, which no other one can have.
func add(to evidence.Accounts, value yamlfile.Value, account, person string) {
	key := strings.ToLower(account)
	if owner, taken := to[key]; taken {
		value.Fault("Value error, this is an account of '" + owner + "' already" + yamlfile.Shown(account))
		return
	}
	to[key] = person
}
