package config

import (
	"reflect"
	"strings"

	"attestry/evidence"
)

const (
	prefix = "ATTESTRY_"
	// fileSuffix makes NAME_FILE, the variable with the path of a file that has the secret NAME.
	fileSuffix = "_FILE"
)

// Variable describes one environment variable.
type Variable struct {
	Name     string
	Default  string // "" when there is none
	Required bool
	Meaning  string
	// Secret means that the value is or contains a secret. It can be in a file that the variable Name_FILE names.
	Secret bool

	requiredWith string // settings that require this one, without their prefix, separated by commas
	field        string // name of the field, which the errors of the parser have
	min, max     string // bounds, "" for none
	path         []int  // index of the field in Settings
}

// Table returns all variables, in the order of Settings.
func Table() []Variable {
	return variablesOf(reflect.TypeFor[Settings](), nil)
}

func variablesOf(group reflect.Type, path []int) []Variable {
	var variables []Variable
	for i := range group.NumField() {
		field := group.Field(i)
		at := append(append([]int{}, path...), i)
		tag, ok := field.Tag.Lookup("env")
		if !ok {
			variables = append(variables, variablesOf(field.Type, at)...)
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		meaning, secret := field.Tag.Get("doc"), holdsSecret(field.Type)
		if secret {
			meaning += "; can be in a file that " + prefix + name + fileSuffix + " names"
		}
		variables = append(variables, Variable{
			Name:         prefix + name,
			Default:      field.Tag.Get("envDefault"),
			Required:     strings.Contains(options, "required"),
			Meaning:      meaning,
			Secret:       secret,
			requiredWith: field.Tag.Get("with"),
			field:        field.Name,
			min:          field.Tag.Get("min"),
			max:          field.Tag.Get("max"),
			path:         at,
		})
	}
	return variables
}

func holdsSecret(t reflect.Type) bool {
	secret := reflect.TypeFor[evidence.Secret]()
	if t.Kind() != reflect.Struct {
		return t == secret
	}
	for i := range t.NumField() {
		if t.Field(i).Type == secret {
			return true
		}
	}
	return false
}
