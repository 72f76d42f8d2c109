package docs_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"attestry/api/docs"
)

func newPage(t *testing.T) docs.Page {
	t.Helper()
	page, err := docs.New("Attestry", "/api/v2/openapi.json", "/api/v2/docs")
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// elements calls visit with each element of the page.
func elements(t *testing.T, page docs.Page, visit func(*html.Node)) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page.HTML))
	if err != nil {
		t.Fatal(err)
	}
	for node := range root.Descendants() {
		if node.Type == html.ElementNode {
			visit(node)
		}
	}
}

// directive returns the sources of a directive of the policy.
func directive(t *testing.T, policy, name string) []string {
	t.Helper()
	for part := range strings.SplitSeq(policy, "; ") {
		if fields := strings.Fields(part); fields[0] == name {
			return fields[1:]
		}
	}
	t.Fatalf("the policy has no %s: %s", name, policy)
	return nil
}

func TestPolicyAllowsInlineScriptsAndStylesOnlyByTheirHashes(t *testing.T) {
	page := newPage(t)
	inline := 0
	elements(t, page, func(node *html.Node) {
		of := map[string]string{"script": "script-src", "style": "style-src"}[node.Data]
		for _, attribute := range node.Attr {
			if attribute.Key == "style" || strings.HasPrefix(attribute.Key, "on") {
				t.Errorf("<%s %s> is not allowed by any hash", node.Data, attribute.Key)
			}
		}
		if of == "" || node.FirstChild == nil {
			return
		}
		inline++
		sum := sha256.Sum256([]byte(node.FirstChild.Data))
		hash := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		if !slices.Contains(directive(t, page.Policy, of), hash) {
			t.Errorf("%s lacks the hash of %.60q", of, node.FirstChild.Data)
		}
	})
	if inline == 0 {
		t.Error("found neither scripts nor styles in the page")
	}
	if strings.Contains(page.Policy, "unsafe") || strings.Contains(page.Policy, "*") || strings.Contains(page.Policy, "http") {
		t.Errorf("the policy is not strict: %s", page.Policy)
	}
	if got := directive(t, page.Policy, "default-src"); !slices.Equal(got, []string{"'none'"}) {
		t.Errorf("default-src %v", got)
	}
}

func TestPageRefersOnlyToItsOwnFiles(t *testing.T) {
	page := newPage(t)
	var names []string
	for _, file := range page.Files {
		names = append(names, file.Name)
		content, err := file.Plain()
		if err != nil || len(content) == 0 || file.ContentType == "" {
			t.Errorf("%s: %d bytes of %q, %v", file.Name, len(content), file.ContentType, err)
		}
	}
	elements(t, page, func(node *html.Node) {
		for _, attribute := range node.Attr {
			if attribute.Key != "src" && attribute.Key != "href" {
				continue
			}
			name, ok := strings.CutPrefix(attribute.Val, "/api/v2/docs/")
			if !ok || !slices.Contains(names, name) {
				t.Errorf("<%s> refers to %s", node.Data, attribute.Val)
			}
		}
	})
	if !slices.Contains(names, "swagger-ui-bundle.js") || !slices.Contains(names, "swagger-ui.css") {
		t.Errorf("the page loads %v", names)
	}
}
