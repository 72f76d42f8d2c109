package expression

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

const (
	// maxClaims bounds the values of a token, including each item of a list.
	maxClaims = 1000
	// maxClaimsDepth bounds the nesting of claims.
	maxClaimsDepth = 10
)

// ClaimsExpression is a parsed and checked condition over claims. It is safe for concurrent use.
type ClaimsExpression struct {
	root node
	text string
}

// ParseClaims reads an expression over claims.<name>, such as
//
//	claims.repository == "acme/shop" and claims.ref_protected == "true"
//
// in the grammar of Parse. The parts of a nested claim's name are joined by dots. Only claims whose names consist of
// letters, digits and '_', '.', '-', '~' can be named. Its error is an *Error.
func ParseClaims(text string) (*ClaimsExpression, error) {
	root, err := parse(text, claimContexts, NewPatterns(maxClaimPatterns))
	if err != nil {
		return nil, err
	}
	return &ClaimsExpression{root: root, text: text}, nil
}

// Unmet lists the parts of the condition that are false for claims: operands of its outermost 'and', or the whole.
func (e *ClaimsExpression) Unmet(claims Claims) []string {
	all := []rune(e.text)
	parts := e.root.conjuncts
	if len(parts) == 0 {
		parts = []operand{{node: e.root, begin: 1, end: len(all) + 1}}
	}
	var unmet []string
	for _, part := range parts {
		if result, err := part.evaluate(scope{claims: claims, steps: new(int)}); err != nil || !result.boolean {
			unmet = append(unmet, strings.TrimSpace(string(all[part.begin-1:part.end-1])))
		}
	}
	return unmet
}

// Evaluate reports whether the condition is true for claims. Its errors are those of Expression.Evaluate.
func (e *ClaimsExpression) Evaluate(claims Claims) (bool, error) {
	result, err := e.root.evaluate(scope{claims: claims, steps: new(int)})
	return result.boolean, err
}

// Restricts reports whether a token without claims does not meet the condition. Otherwise any token might meet it.
func (e *ClaimsExpression) Restricts() bool {
	holds, err := e.Evaluate(Claims{})
	return err != nil || !holds
}

var claimContexts = contexts{find: claimContext, listed: "claims.<name>"}

// claimContext reads a claim as a text or as a list. As a list, a text has one item: the claim aud may be either.
func claimContext(name string) (found node, ok bool) {
	name, ok = strings.CutPrefix(name, "claims.")
	if !ok || name == "" {
		return node{}, false
	}
	found = context(stringType, func(in scope) value {
		if claim := in.claims.values[name]; claim.kind == stringType {
			return claim
		}
		return value{}
	})
	found.asList = func(in scope) (value, error) {
		claim := in.claims.values[name]
		if claim.kind == stringType {
			return value{kind: listType, items: []value{claim}}, nil
		}
		return claim, nil
	}
	return found, true
}

// Claims are the claims of a token, by the names that conditions use.
type Claims struct {
	values map[string]value // texts, and lists of texts
}

// FlattenClaims makes Claims of a JSON object that was decoded with json.Decoder.UseNumber. Names of nested claims are
// joined by dots. Booleans become "true" and "false", numbers their JSON text. A list of such values can be read by
// 'in' and exists() and is null elsewhere; any other list is null. Too many or too deeply nested claims, and equal
// joined names, are an error, which contains nothing of the claims.
func FlattenClaims(decoded map[string]any) (Claims, error) {
	f := flattener{values: map[string]value{}}
	if err := f.object("", decoded, 1); err != nil {
		return Claims{}, err
	}
	return Claims{values: f.values}, nil
}

type flattener struct {
	values map[string]value
	count  int
}

func (f *flattener) object(prefix string, members map[string]any, depth int) error {
	if depth > maxClaimsDepth {
		return errors.New("the claims are nested too deep")
	}
	for name, member := range members {
		if err := f.claim(prefix+name, member, depth); err != nil {
			return err
		}
	}
	return nil
}

func (f *flattener) claim(name string, claim any, depth int) error {
	if f.count++; f.count > maxClaims {
		return errors.New("there are too many claims")
	}
	var flat value
	switch claim := claim.(type) {
	case map[string]any:
		return f.object(name+".", claim, depth+1)
	case []any:
		if f.count += len(claim); f.count > maxClaims {
			return errors.New("there are too many claims")
		}
		flat = listClaim(claim)
	default:
		flat = textClaim(claim)
	}
	if flat.kind == nullType {
		return nil
	}
	if _, taken := f.values[name]; taken {
		return errors.New("two claims have the same name when nested names are joined")
	}
	f.values[name] = flat
	return nil
}

// listClaim returns null for a list with other items than texts, numbers and booleans.
func listClaim(items []any) value {
	list := value{kind: listType}
	for _, item := range items {
		text := textClaim(item)
		if text.kind == nullType {
			return value{}
		}
		list.items = append(list.items, text)
	}
	return list
}

func textClaim(claim any) value {
	switch claim := claim.(type) {
	case string:
		return stringValue(claim)
	case bool:
		return stringValue(strconv.FormatBool(claim))
	case json.Number:
		return stringValue(claim.String())
	}
	return value{}
}
