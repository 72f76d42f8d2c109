package template

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"go.yaml.in/yaml/v4"

	"attestry/evidence/yamlfile"
)

// ParseStored reads a template that was accepted once. Earlier versions of this
// service took names of any length, and read YAML with another library, which also
// takes files that Parse refuses.
func ParseStored(content []byte) (Template, error) {
	root, err := format.Load(content)
	if err == nil {
		if parsed, err := read(root, len(content)); err == nil {
			return parsed, nil
		}
	}
	if root, err = formerDocument(content); err != nil {
		return Template{}, err
	}
	return read(root, len(content))
}

// formerDocument is Format.Load with the former library.
func formerDocument(content []byte) (root *yaml.Node, err error) {
	// The library panics on some malformed files.
	defer func() {
		if recover() != nil {
			root, err = nil, errors.New("the file cannot be parsed")
		}
	}()
	file, err := parser.ParseBytes(bytes.TrimPrefix(content, yamlfile.ByteOrderMark), 0)
	if err != nil {
		return nil, fmt.Errorf("parse the file: %w", err)
	}
	anchors := formerAnchors{}
	for _, doc := range file.Docs {
		if _, directive := doc.Body.(*ast.DirectiveNode); !directive {
			root = anchors.node(doc.Body)
		}
	}
	return root, nil
}

// formerAnchors are the nodes that aliases stand for.
type formerAnchors map[string]*yaml.Node

// node converts a tree of the former library.
func (a formerAnchors) node(from ast.Node) *yaml.Node {
	switch from := from.(type) {
	case ast.MapNode:
		node := &yaml.Node{Kind: yaml.MappingNode}
		for pairs := from.MapRange(); pairs.Next(); {
			node.Content = append(node.Content, scalar(yamlfile.StringTag, formerName(pairs.Key())), a.node(pairs.Value()))
		}
		return node
	case *ast.SequenceNode:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		for _, value := range from.Values {
			node.Content = append(node.Content, a.node(value))
		}
		return node
	case *ast.StringNode:
		return scalar(yamlfile.StringTag, from.Value)
	case *ast.LiteralNode:
		return scalar(yamlfile.StringTag, from.Value.Value)
	case *ast.IntegerNode:
		return scalar(yamlfile.IntTag, fmt.Sprint(from.Value))
	case *ast.NullNode, nil:
		return scalar(yamlfile.NullTag, "null")
	case *ast.AnchorNode:
		node := a.node(from.Value)
		a[formerName(from.Name)] = node
		return node
	case *ast.AliasNode:
		if node := a[formerName(from.Value)]; node != nil {
			return &yaml.Node{Kind: yaml.AliasNode, Alias: node}
		}
	}
	return &yaml.Node{Kind: yaml.ScalarNode} // which no template has
}

func formerName(node ast.Node) string { return strings.TrimSpace(node.GetToken().Value) }

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}
