package attestation

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"attestry/evidence"
)

const (
	// schemaURL names a type's schema to the library; references are resolved
	// against it, and nothing is ever fetched.
	schemaURL = "attestation-type:///type_schema"
	// maxSubschemas bounds the objects of a schema: compiling takes the square of
	// their number.
	maxSubschemas = 5000
	// maxLongNumbers bounds the numbers beyond a float's precision: the library
	// compares them each with each.
	maxLongNumbers = 100
	// maxStates bounds the regular expressions of a schema, compiled, together.
	maxStates = 500_000
	// partWork is what applying a part of a schema to a value costs at least, with
	// what is noted of it when the value does not fit.
	partWork = 8
	// maxFindings bounds what is told of one payload.
	maxFindings = 100
)

// payloadSchema is a compiled JSON Schema. It validates one payload at a time.
type payloadSchema struct {
	root   *jsonschema.Schema
	meter  *meter // of the payload under way
	states int64  // of its regular expressions
}

// refusedLoader keeps schemas from reaching out of themselves. The drafts of JSON
// Schema are known without it.
type refusedLoader struct{}

func (refusedLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to '%s' is not available: a schema refers to itself only", url)
}

// compileSchema compiles a JSON Schema, draft 7 unless it names another one. The
// error is for the client.
func compileSchema(source json.RawMessage) (s *payloadSchema, err error) {
	defer func() {
		if recover() != nil {
			s, err = nil, errors.New("not a JSON Schema that can be compiled")
		}
	}()
	if evidence.NestsDeeper(source, MaxDepth) {
		return nil, errors.New("nests too deep")
	}
	document, err := decodeJSON(source)
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, ok := document.(map[string]any); !ok {
		return nil, errors.New("a JSON Schema is an object")
	}
	if err := checkNumbers(document); err != nil {
		return nil, err
	}
	if countObjects(document) > maxSubschemas {
		return nil, fmt.Errorf("has more than %d parts", maxSubschemas)
	}
	if _, long := weigh(document); long > maxLongNumbers {
		return nil, fmt.Errorf("has more than %d numbers of more than 15 digits", maxLongNumbers)
	}
	s = &payloadSchema{}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft7)
	compiler.UseLoader(refusedLoader{})
	compiler.UseRegexpEngine(s.compilePattern)
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	if s.root, err = compiler.Compile(schemaURL); err != nil {
		return nil, errors.New(schemaFault(err))
	}
	parts := []*jsonschema.Schema{s.root}
	for _, pointer := range dynamicAnchors(document, "") {
		// What is no part of the schema after all need not compile.
		if part, err := compiler.Compile(schemaURL + "#" + pointer); err == nil {
			parts = append(parts, part)
		}
	}
	s.charge(parts)
	return s, nil
}

// dynamicAnchors points to the parts that are found while validating only, by
// whoever refers to them from elsewhere.
func dynamicAnchors(value any, at string) []string {
	var pointers []string
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			pointers = append(pointers, dynamicAnchors(item, at+"/"+strconv.Itoa(i))...)
		}
	case map[string]any:
		if _, ok := value["$dynamicAnchor"]; ok {
			pointers = append(pointers, at)
		}
		for name, item := range value {
			step := url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
			pointers = append(pointers, dynamicAnchors(item, at+"/"+step)...)
		}
	}
	return pointers
}

func countObjects(value any) int {
	count := 0
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			count += countObjects(item)
		}
	case map[string]any:
		count = 1
		for _, item := range value {
			count += countObjects(item)
		}
	}
	return count
}

// schemaFault words what is wrong with a schema.
func schemaFault(err error) string {
	var broken *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	if errors.As(err, &broken) && errors.As(broken.Err, &invalid) {
		for at, text := range leaves(invalid) {
			return cut("at '" + at + "': " + text)
		}
	}
	return cut(strings.ReplaceAll(err.Error(), schemaURL, ""))
}

// countedPattern charges the meter for each match.
type countedPattern struct {
	*regexp.Regexp
	schema *payloadSchema
	states int64
}

func (s *payloadSchema) compilePattern(source string) (jsonschema.Regexp, error) {
	states, err := patternStates(source)
	if err != nil {
		return nil, err
	}
	if s.states += states; s.states > maxStates {
		return nil, errPattern
	}
	compiled, err := regexp.Compile(source)
	if err != nil {
		return nil, err
	}
	return countedPattern{Regexp: compiled, schema: s, states: states}, nil
}

// MatchString matches, or ends the validation when the meter is at its end.
func (p countedPattern) MatchString(text string) bool {
	if m := p.schema.meter; m != nil {
		p.schema.spend(int64(len(text)+1) * p.states / 16)
	}
	return p.Regexp.MatchString(text)
}

// outOfWork unwinds the validation.
type outOfWork struct{}

func (s *payloadSchema) spend(work int64) {
	if !s.meter.spend(work) || s.meter.stopped.Load() {
		panic(outOfWork{})
	}
}

// charge makes every part of the schema charge the meter when it meets a value,
// since references multiply: parts that each refer to the next one twice take 2^n
// steps, and the library knows no end. It does so by the format, which is looked
// at before all that takes long but for the enum and the constant. These are moved
// behind it.
func (s *payloadSchema) charge(parts []*jsonschema.Schema) {
	eachPart(parts, func(part *jsonschema.Schema) {
		var choices []any
		if part.Enum != nil {
			choices = part.Enum.Values
			part.Extensions = append(part.Extensions, choice{s, choices, &kind.Enum{Want: choices}})
		}
		if part.Const != nil {
			part.Extensions = append(part.Extensions, choice{s, []any{*part.Const}, &kind.Const{Want: *part.Const}})
		}
		part.Enum, part.Const = nil, nil
		fixed := int64(partWork + len(part.Required) + len(part.Properties) + len(part.DependentRequired) + len(part.Dependencies))
		format := part.Format
		counted := &jsonschema.Format{Name: "any", Validate: func(value any) error {
			s.spend(fixed + members(part, value))
			if format == nil {
				return nil
			}
			return format.Validate(value)
		}}
		if format != nil {
			counted.Name = format.Name
		}
		part.Format = counted
	})
}

// choice is an enum or a constant that charges the meter.
type choice struct {
	schema *payloadSchema
	values []any
	fault  jsonschema.ErrorKind
}

// Validate reports a value that is none of the choices.
func (c choice) Validate(ctx *jsonschema.ValidatorContext, value any) {
	c.schema.spend(int64(len(c.values)) * comparison(value))
	for _, other := range c.values {
		if equal, err := ctx.Equals(value, other); err == nil && equal {
			return
		}
	}
	ctx.AddError(c.fault)
}

// comparison is what comparing a value with another may cost. Numbers are made
// exact ones for it.
func comparison(value any) int64 {
	switch value.(type) {
	case json.Number:
		return 40
	case []any, map[string]any:
		values, _ := weigh(value)
		return 40 * values
	default:
		return 1
	}
}

// members is what a part costs for the size of the value it meets.
func members(part *jsonschema.Schema, value any) int64 {
	switch value := value.(type) {
	case string:
		return int64(len(value)) / 16
	case map[string]any:
		return int64(len(value) * (1 + len(part.PatternProperties)))
	case []any:
		if part.UniqueItems {
			return comparisons(value)
		}
		return int64(len(value))
	default:
		return 1
	}
}

// comparisons is what finding duplicates may cost: numbers beyond a float's
// precision share their hashes, and are compared each with each.
func comparisons(items []any) int64 {
	values, long := weigh(items)
	return 4*values + 16*long*long
}

// weigh counts the values in a value, text by its length, and its numbers of more
// than 15 digits.
func weigh(value any) (values, long int64) {
	values = 1
	add := func(item any) {
		moreValues, moreLong := weigh(item)
		values, long = values+moreValues, long+moreLong
	}
	switch value := value.(type) {
	case json.Number:
		if len(value) > 15 {
			long++
		}
	case string:
		values += int64(len(value)) / 16
	case []any:
		for _, item := range value {
			add(item)
		}
	case map[string]any:
		for _, item := range value {
			add(item)
		}
	}
	return values, long
}

// eachPart visits all schemas that can be reached from some.
func eachPart(roots []*jsonschema.Schema, visit func(*jsonschema.Schema)) {
	seen := map[*jsonschema.Schema]bool{}
	queue := slices.Clone(roots)
	for len(queue) > 0 {
		part := queue[0]
		queue = queue[1:]
		if part == nil || seen[part] {
			continue
		}
		seen[part] = true
		fields := reflect.ValueOf(part).Elem()
		for i := range fields.NumField() {
			if fields.Type().Field(i).IsExported() {
				queue = appendParts(queue, fields.Field(i))
			}
		}
		visit(part)
	}
}

// appendParts finds the schemas in a field: one, or a list or map of them, or
// what jsonschema keeps as any of these.
func appendParts(queue []*jsonschema.Schema, field reflect.Value) []*jsonschema.Schema {
	switch value := field.Interface().(type) {
	case *jsonschema.Schema:
		return append(queue, value)
	case *jsonschema.DynamicRef:
		if value != nil {
			return append(queue, value.Ref)
		}
		return queue
	}
	switch field.Kind() {
	case reflect.Interface:
		if !field.IsNil() {
			return appendParts(queue, field.Elem())
		}
	case reflect.Slice:
		for i := range field.Len() {
			queue = appendParts(queue, field.Index(i))
		}
	case reflect.Map:
		for _, key := range field.MapKeys() {
			queue = appendParts(queue, field.MapIndex(key))
		}
	}
	return queue
}

// check returns what does not fit, as one Invalid error naming the places; nil
// when all does.
func (s *payloadSchema) check(m *meter, payload any) (err error) {
	defer func() {
		switch fault := recover(); fault.(type) {
		case nil:
		case outOfWork:
			err = outOfWorkError()
		default:
			err = dataFault("The type's schema cannot be applied to it")
		}
	}()
	s.meter = m
	err = s.root.Validate(payload)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	found := map[string]string{}
	for at, text := range leaves(invalid) {
		where := dataField
		if at != "" {
			where += "." + at
		}
		found[where] = cut(text)
	}
	return evidence.ValidationError(found)
}

func outOfWorkError() error {
	return dataFault("Validating it by the type's schema takes too much work")
}

// leaves are the causes at the bottom of a validation error, by location: names
// and positions with dots between.
func leaves(root *jsonschema.ValidationError) map[string]string {
	found := map[string]string{}
	queue := []*jsonschema.ValidationError{root}
	for len(queue) > 0 && len(found) < maxFindings {
		next := queue[0]
		queue = append(queue[1:], next.Causes...)
		if len(next.Causes) > 0 {
			continue
		}
		at := strings.Join(next.InstanceLocation, ".")
		if _, taken := found[at]; !taken {
			found[at] = next.BasicOutput().Error.String()
		}
	}
	return found
}
