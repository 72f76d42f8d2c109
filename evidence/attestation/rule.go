package attestation

import (
	_ "embed"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/itchyny/gojq"
)

const (
	// maxRule is the greatest rule or expression, in bytes.
	maxRule = 10_000
	// maxKept is how many states of regular expressions a compiled rule may keep.
	maxKept = 100_000
)

//go:embed prelude.jq
var preludeSource string

// rule is a compiled jq expression. It runs one payload at a time.
type rule struct {
	source string
	code   *gojq.Code
	meter  *meter // of the run under way
	// patterns and kept are the regular expressions that the code has met, and
	// their states. It keeps them for good, and payloads may bring ever new ones.
	patterns map[string]bool
	kept     int64
}

// compileRule compiles jq, put behind the guards. The error is for the client.
func compileRule(source string) (r *rule, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("not a jq expression that can be compiled")
		}
	}()
	r = &rule{source: source}
	return r, r.compile()
}

func (r *rule) compile() error {
	query, err := parseRule(r.source)
	if err != nil {
		return err
	}
	prelude, err := gojq.Parse(preludeSource)
	if err != nil {
		return fmt.Errorf("prelude: %w", err)
	}
	prelude.Term = &gojq.Term{Type: gojq.TermTypeQuery, Query: query}
	r.patterns, r.kept = map[string]bool{}, 0
	r.code, err = gojq.Compile(prelude, guards(r)...)
	return err
}

// remember notes a regular expression that the code keeps from now on.
func (r *rule) remember(source string, states int64) {
	if !r.patterns[source] {
		r.patterns[source] = true
		r.kept += states + int64(len(source))
	}
}

func parseRule(source string) (*gojq.Query, error) {
	if len(source) > maxRule {
		return nil, fmt.Errorf("longer than %d bytes", maxRule)
	}
	if strings.TrimSpace(source) == "" {
		return nil, errors.New("empty")
	}
	query, err := gojq.Parse(source)
	if err != nil {
		return nil, err
	}
	if len(query.Imports) > 0 || query.Meta != nil {
		return nil, errors.New("modules are not available")
	}
	if err := guardQuery(reflect.ValueOf(query)); err != nil {
		return nil, err
	}
	return query, nil
}

// run tells whether the rule gives true, and nothing else, on an input. The
// reason it does not is for the log: it holds nothing of the input.
func (r *rule) run(m *meter, input any) (fits bool, reason string) {
	defer func() {
		if recover() != nil {
			fits, reason = false, "fails"
		}
	}()
	r.meter = m
	if r.kept > maxKept {
		if err := r.compile(); err != nil {
			return false, "fails"
		}
	}
	results := r.code.RunWithContext(m, input)
	count := 0
	for {
		result, more := results.Next()
		if m.left <= 0 {
			return false, errWorkDone.Error()
		}
		switch {
		case !more && count == 0:
			return false, "gives nothing"
		case !more:
			return true, ""
		}
		if _, failed := result.(error); failed {
			return false, "fails"
		}
		if verdict, ok := result.(bool); !ok {
			return false, "gives no boolean"
		} else if !verdict {
			return false, "is not true"
		}
		count++
	}
}

// operators are the guarded ones of prelude.jq.
var operators = map[gojq.Operator]string{
	gojq.OpAdd: "add", gojq.OpSub: "sub", gojq.OpMul: "mul", gojq.OpDiv: "div", gojq.OpMod: "mod",
	gojq.OpEq: "eq", gojq.OpNe: "ne", gojq.OpGt: "gt", gojq.OpLt: "lt", gojq.OpGe: "ge", gojq.OpLe: "le",
	gojq.OpAssign: "assign", gojq.OpModify: "modify", gojq.OpUpdateAlt: "upd_alt",
	gojq.OpUpdateAdd: "upd_add", gojq.OpUpdateSub: "upd_sub", gojq.OpUpdateMul: "upd_mul",
	gojq.OpUpdateDiv: "upd_div", gojq.OpUpdateMod: "upd_mod",
}

// guardQuery rewrites all that hangs on a node of jq's syntax tree, from the
// leaves up, to what prelude.jq defines.
func guardQuery(node reflect.Value) error {
	switch node.Kind() {
	case reflect.Pointer:
		if node.IsNil() {
			return nil
		}
		if err := guardQuery(node.Elem()); err != nil {
			return err
		}
		return guardNode(node.Interface())
	case reflect.Struct:
		for i := range node.NumField() {
			if err := guardQuery(node.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Slice:
		for i := range node.Len() {
			if err := guardQuery(node.Index(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func guardNode(node any) error {
	switch node := node.(type) {
	case *gojq.Query:
		if name, ok := operators[node.Op]; ok {
			*node = gojq.Query{FuncDefs: node.FuncDefs, Term: call(name, node.Left, node.Right)}
		}
	case *gojq.Func:
		// jq's inner functions, and ours, would go round the guards.
		if strings.HasPrefix(node.Name, "_") {
			return fmt.Errorf("function not defined: %s/%d", node.Name, len(node.Args))
		}
	case *gojq.FuncDef:
		if strings.HasPrefix(node.Name, "_") {
			return fmt.Errorf("the name of a function cannot begin with an underscore: %s", node.Name)
		}
	case *gojq.String:
		for i, part := range node.Queries {
			if part.Term == nil || part.Term.Str == nil {
				node.Queries[i] = before(part, "ok")
			}
		}
	case *gojq.PatternObject:
		if node.KeyQuery != nil {
			node.KeyQuery = before(node.KeyQuery, "key")
		}
	case *gojq.Index:
		if node.Start != nil && !node.IsSlice && !literal(node.Start) {
			node.Start = before(node.Start, "key")
		}
	case *gojq.Term:
		guardTerm(node)
	}
	return nil
}

// guardTerm charges formats, iteration and slices.
func guardTerm(term *gojq.Term) {
	suffixes := term.SuffixList
	guarded := *term
	guarded.SuffixList = nil
	switch {
	case guarded.Type == gojq.TermTypeFormat && guarded.Str == nil:
		formatted := guarded
		guarded = parenthesized(pipe(&gojq.Query{Term: call("ok")}, &gojq.Query{Term: &formatted}))
	case guarded.Type == gojq.TermTypeIndex && guarded.Index.IsSlice:
		sliced := guarded
		guarded = parenthesized(pipe(&gojq.Query{Term: call("slice")}, &gojq.Query{Term: &sliced}))
	}
	for _, suffix := range suffixes {
		guard := ""
		switch {
		case suffix.Iter:
			guard = "iter"
		case suffix.Index != nil && suffix.Index.IsSlice:
			guard = "slice"
		}
		if guard != "" {
			inner := guarded
			guarded = *before(&gojq.Query{Term: &inner}, guard).Term
		}
		guarded.SuffixList = append(guarded.SuffixList, suffix)
	}
	*term = guarded
}

// literal tells whether an index is plain.
func literal(index *gojq.Query) bool {
	term := index.Term
	return term != nil && len(term.SuffixList) == 0 &&
		(term.Type == gojq.TermTypeNumber || term.Type == gojq.TermTypeUnary ||
			term.Type == gojq.TermTypeString && len(term.Str.Queries) == 0)
}

func call(name string, args ...*gojq.Query) *gojq.Term {
	return &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: "_attestry_" + name, Args: args}}
}

func parenthesized(query *gojq.Query) gojq.Term {
	return gojq.Term{Type: gojq.TermTypeQuery, Query: query}
}

func pipe(left, right *gojq.Query) *gojq.Query {
	return &gojq.Query{Left: left, Op: gojq.OpPipe, Right: right}
}

// before has what a query gives checked by a guard. It makes a term of the two, as
// jq expects in some places.
func before(query *gojq.Query, guard string) *gojq.Query {
	whole := parenthesized(query)
	checked := parenthesized(pipe(&gojq.Query{Term: &whole}, &gojq.Query{Term: call(guard)}))
	return &gojq.Query{Term: &checked}
}
