package config

import (
	"reflect"
	"strings"
)

// prefix begins the name of every variable.
const prefix = "ATTESTRY_"

// Variable describes one environment variable.
type Variable struct {
	Name     string
	Default  string // "" when there is none
	Required bool
	Meaning  string

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
		variables = append(variables, Variable{
			Name:     prefix + name,
			Default:  field.Tag.Get("envDefault"),
			Required: strings.Contains(options, "required"),
			Meaning:  field.Tag.Get("doc"),
			field:    field.Name,
			min:      field.Tag.Get("min"),
			max:      field.Tag.Get("max"),
			path:     at,
		})
	}
	return variables
}
