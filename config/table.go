package config

import (
	"reflect"
	"strings"

	"attestry/evidence"
)

const (
	// prefix begins the name of every variable.
	prefix = "ATTESTRY_"
	// fileSuffix makes, of the name of a variable with a secret, the name of the one that names a file with its value.
	fileSuffix = "_FILE"
)

// Variable describes one environment variable.
type Variable struct {
	Name     string
	Default  string // "" when there is none
	Required bool
	Meaning  string
	// Secret tells that the value is or has a secret, and so may be in a file instead: that of Name with _FILE.
	Secret bool

	with     string // settings with which it is required, without their prefix and with commas between them
	field    string // name of the field, by which a parser's fault is traced back
	min, max string // bounds, "" when there are none
	path     []int  // where in Settings
}

// Table lists all variables, in the order in which an operator meets them.
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
			Name:     prefix + name,
			Default:  field.Tag.Get("envDefault"),
			Required: strings.Contains(options, "required"),
			Meaning:  meaning,
			Secret:   secret,
			with:     field.Tag.Get("with"),
			field:    field.Name,
			min:      field.Tag.Get("min"),
			max:      field.Tag.Get("max"),
			path:     at,
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
