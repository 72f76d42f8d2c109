package expression

import "strings"

// contexts are the names by which an expression reads what it is evaluated for.
type contexts struct {
	// find returns the context of a name, without a position.
	find func(name string) (found context, ok bool)
	// listed names all of them in errors.
	listed string
}

// context reads a value of what the expression is evaluated for. The value may be null whatever the kind is.
type context struct {
	position
	kind valueType
	read func(scope) value
	// list reads the same as a list, for exists() and the right side of 'in'; nil for what is never one.
	list func(scope) value
}

func (c context) valueType() valueType { return c.kind }

func (c context) evaluate(in scope) (value, error) { return c.read(in), nil }

// asList reads a context as a list if it may be one.
func asList(n node) node {
	if c, ok := n.(context); ok && c.list != nil {
		return context{position: c.position, kind: listType, read: c.list}
	}
	return n
}

func policyContexts() contexts {
	return contexts{find: policyContext, listed: "flow, flow.name, flow.tags.<key>, artifact.name, artifact.fingerprint"}
}

func policyContext(name string) (found context, ok bool) {
	if key, found := strings.CutPrefix(name, "flow.tags."); found && key != "" {
		return context{kind: stringType, read: ofFlow(func(flow *Flow) value {
			text, ok := flow.Tags[key]
			if !ok {
				return value{}
			}
			return stringValue(text)
		})}, true
	}
	switch name {
	case "flow":
		return context{kind: flowType, read: ofFlow(func(*Flow) value { return value{kind: flowType} })}, true
	case "flow.name":
		return context{kind: stringType, read: ofFlow(func(flow *Flow) value { return stringValue(flow.Name) })}, true
	case "artifact.name":
		return context{kind: stringType, read: func(in scope) value { return stringValue(in.subject.Name) }}, true
	case "artifact.fingerprint":
		return context{kind: stringType, read: func(in scope) value { return stringValue(in.subject.Fingerprint) }}, true
	}
	return context{}, false
}

// ofFlow reads a value of the flow; without a flow it is null.
func ofFlow(read func(*Flow) value) func(scope) value {
	return func(in scope) value {
		if in.subject.Flow == nil {
			return value{}
		}
		return read(in.subject.Flow)
	}
}
