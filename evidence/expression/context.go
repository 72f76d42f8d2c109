package expression

import "strings"

// contexts are the names by which an expression reads its subject or claims.
type contexts struct {
	// find returns the context of a name, without a column.
	find func(name string) (found node, ok bool)
	// listed is their list in errors.
	listed string
}

var policyContexts = contexts{
	find: policyContext, listed: "flow, flow.name, flow.tags.<key>, artifact.name, artifact.fingerprint",
}

func policyContext(name string) (found node, ok bool) {
	if key, found := strings.CutPrefix(name, "flow.tags."); found && key != "" {
		return flowContext(stringType, func(flow *Flow) value {
			text, ok := flow.Tags[key]
			if !ok {
				return value{}
			}
			return stringValue(text)
		}), true
	}
	switch name {
	case "flow":
		return flowContext(flowType, func(*Flow) value { return value{kind: flowType} }), true
	case "flow.name":
		return flowContext(stringType, func(flow *Flow) value { return stringValue(flow.Name) }), true
	case "artifact.name":
		return context(stringType, func(in scope) value { return stringValue(in.subject.Name) }), true
	case "artifact.fingerprint":
		return context(stringType, func(in scope) value { return stringValue(in.subject.Fingerprint) }), true
	}
	return node{}, false
}

// flowContext reads a value of the flow, null without a flow.
func flowContext(kind valueType, read func(*Flow) value) node {
	return context(kind, func(in scope) value {
		if in.subject.Flow == nil {
			return value{}
		}
		return read(in.subject.Flow)
	})
}
