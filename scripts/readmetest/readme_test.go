package readmetest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"attestry/scripts/readmetest"
)

const (
	root = "../../"

	maxReadmeLines = 200
	maxProseWidth  = 120
)

var (
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	// notInAnchor matches characters that are left out of the anchor of a heading.
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// pages returns the pages of the root folder, docs/ and scripts/.
func pages(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, folder := range []string{"", "docs/", "scripts/"} {
		files, err := filepath.Glob(root + folder + "*.md")
		if err != nil || len(files) == 0 {
			t.Fatalf("%v, and %d pages in %s", err, len(files), folder)
		}
		found = append(found, files...)
	}
	return found
}

// linksOf returns the targets of a page's links, without those to other sites.
func linksOf(t *testing.T, page string) []string {
	t.Helper()
	var targets []string
	for _, match := range link.FindAllStringSubmatch(fenced.ReplaceAllString(readmetest.Read(t, page), ""), -1) {
		if !strings.Contains(match[1], "://") {
			targets = append(targets, match[1])
		}
	}
	return targets
}

// anchors returns the anchors of a page's headings.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	var found []string
	for _, match := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(readmetest.Read(t, page), ""), -1) {
		text := notInAnchor.ReplaceAllString(strings.ToLower(match[1]), "")
		found = append(found, strings.ReplaceAll(text, " ", "-"))
	}
	return found
}

func TestReadmeIsShort(t *testing.T) {
	if lines := strings.Count(readmetest.Read(t, root+"README.md"), "\n"); lines > maxReadmeLines {
		t.Errorf("README.md has %d lines, at most %d are allowed", lines, maxReadmeLines)
	}
}

// TestLinksResolve follows the relative links of all pages, to a heading if they name one.
func TestLinksResolve(t *testing.T) {
	for _, page := range pages(t) {
		for _, target := range linksOf(t, page) {
			name, anchor, named := strings.Cut(target, "#")
			file := page
			if name != "" {
				file = filepath.Join(filepath.Dir(page), name)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, target)
			} else if named && !slices.Contains(anchors(t, file), anchor) {
				t.Errorf("%s links to %s, but the page has no such heading", page, target)
			}
		}
	}
}

func TestIndexListsEveryPage(t *testing.T) {
	listed := linksOf(t, root+"docs/README.md")
	for _, page := range pages(t) {
		name := filepath.Base(page)
		if filepath.Dir(page) == filepath.Clean(root+"docs") && name != "README.md" && !slices.Contains(listed, name) {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}

// TestProseIsWrapped leaves out tables, and code, which is between fences or indented.
func TestProseIsWrapped(t *testing.T) {
	for _, page := range pages(t) {
		for line := range strings.Lines(fenced.ReplaceAllString(readmetest.Read(t, page), "")) {
			isProse := !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "    ")
			if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); isProse && width > maxProseWidth {
				t.Errorf("%s has a line of %d characters, at most %d are allowed: %s", page, width, maxProseWidth, line)
			}
		}
	}
}
