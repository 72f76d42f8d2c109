package template_test

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/template"
	"attestry/evidence/yamlfile"
)

func TestParseReadsTheWholeGrammar(t *testing.T) {
	parsed, err := template.Parse([]byte(`
version: 1
trail:
  attestations:
    - name: pull-request
      type: pull_request
    - {name: any_1, type: "*"}
  artifacts:
    - name: web
      attestations:
        - name: unit
          type: junit
        - name: cover
          type: custom:coverage
    - name: db
`))
	evidencetest.Must(t, err)
	want := template.Template{Version: 1, Trail: template.Trail{
		Attestations: []template.Attestation{{Name: "pull-request", Type: "pull_request"}, {Name: "any_1", Type: "*"}},
		Artifacts: []template.Artifact{
			{Name: "web", Attestations: []template.Attestation{{Name: "unit", Type: "junit"}, {Name: "cover", Type: "custom:coverage"}}},
			{Name: "db", Attestations: []template.Attestation{}},
		},
	}}
	if !reflect.DeepEqual(parsed, want) {
		t.Errorf("parsed %+v", parsed)
	}
}

func TestParseAcceptsEveryBuiltInType(t *testing.T) {
	for _, kind := range []string{"generic", "junit", "snyk", "pull_request", "jira", "sonar", "decision", "custom:a b", "'*'"} {
		content := "trail: {attestations: [{name: a, type: " + kind + "}]}"
		if _, err := template.Parse([]byte(content)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestParseReadsIndependentApproval(t *testing.T) {
	parsed, err := template.Parse([]byte("trail: {attestations: [{name: a, type: pull_request, independent_approval: {approvers: 2, machine_accounts: ['robot-.*']}}]}"))
	if err != nil || !parsed.FourEyes() {
		t.Fatalf("parsed %+v, %v", parsed, err)
	}
	if rule := parsed.Trail.Attestations[0].Independent; rule.Approvers != 2 || !rule.Exempts("robot-7") || rule.Exempts("svc_deploy") {
		t.Errorf("it asks for %+v", rule)
	}
	for name, c := range map[string]struct{ rule, says string }{
		"another type":      {"type: junit, independent_approval: true", "needs the type 'pull_request'"},
		"any type":          {"type: '*', independent_approval: true", "needs the type 'pull_request'"},
		"too many":          {"type: pull_request, independent_approval: {approvers: 21}", "from 1 to 20"},
		"no pattern":        {"type: pull_request, independent_approval: {machine_accounts: [a, '(']}", "attestations.0.independent_approval.machine_accounts.1 (line 1"},
		"too many patterns": {"type: pull_request, independent_approval: {machine_accounts: [" + strings.Repeat("a,", 1001) + "]}", "at most 1000 machine accounts"},
		"large patterns":    {"type: pull_request, independent_approval: {machine_accounts: ['a{1000}', 'b{1000}', 'c{1000}', 'd{1000}', 'e{1000}', 'f{1000}', 'g{1000}', 'h{1000}', 'i{1000}']}", "too large together"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := template.Parse([]byte("trail: {attestations: [{name: a, " + c.rule + "}]}"))
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %.300v", err)
			}
		})
	}
	for _, none := range []string{"", ", independent_approval: false", ", independent_approval: null"} {
		parsed, err := template.Parse([]byte("trail: {artifacts: [{name: b, attestations: [{name: a, type: pull_request" + none + "}]}]}"))
		if err != nil || parsed.FourEyes() {
			t.Errorf("%q: parsed %+v, %v", none, parsed, err)
		}
	}
}

func TestParseGivesEmptyListsForOmittedParts(t *testing.T) {
	for _, content := range []string{"version: 1\n", "trail: null", "{}", "trail: {}", "version: 1\ntrail:\n  artifacts: []\n", "%YAML 1.1\n---\nversion: 1\n", "%YAML 1.2\n---\nversion: 1\n", "\uFEFF# of YAML 1.2\n\n%YAML  1.2 # so\n--- {version: 1}\n...\n", "\uFEFFversion: 1\n", "? version\n: 1\n"} {
		parsed, err := template.Parse([]byte(content))
		if err != nil {
			t.Errorf("%q: %v", content, err)
			continue
		}
		if parsed.Version != 1 || parsed.Trail.Artifacts == nil || parsed.Trail.Attestations == nil {
			t.Errorf("%q: parsed %#v", content, parsed)
		}
	}
}

func TestParseAcceptsNamesThatLookLikeOtherScalars(t *testing.T) {
	for _, name := range []string{
		"08", "09", "1e3", "1e-3", "-1e5", "1_e3", "12E4", "12e", "0x", "2026-01-31", "on", "yes",
		strings.Repeat("9", 29), strings.Repeat("n", 255),
	} {
		t.Run(name, func(t *testing.T) {
			parsed, err := template.Parse([]byte("trail: {attestations: [{name: " + name + ", type: custom:" + strings.Repeat("t", 255) + "}]}"))
			if err != nil || parsed.Trail.Attestations[0].Name != name {
				t.Errorf("parsed %+v, %v", parsed, err)
			}
		})
	}
}

func TestParseFollowsAliases(t *testing.T) {
	parsed, err := template.Parse([]byte(`
trail:
  attestations: &all
    - &scan {name: scan, type: snyk}
  artifacts:
    - {name: web, attestations: *all}
    - {name: db, attestations: [*scan]}
`))
	evidencetest.Must(t, err)
	for _, artifact := range parsed.Trail.Artifacts {
		if len(artifact.Attestations) != 1 || artifact.Attestations[0] != (template.Attestation{Name: "scan", Type: "snyk"}) {
			t.Errorf("%s: %+v", artifact.Name, artifact.Attestations)
		}
	}
}

func TestParseSaysWhatIsWrongAndWhere(t *testing.T) {
	cases := []struct{ name, content, want string }{
		{"a missing member", "trail:\n  artifacts:\n    - attestations: []\n", "trail.artifacts.0.name (line 3)\n  Field required"},
		{"a missing type", "trail:\n  attestations:\n    - name: a\n", "trail.attestations.0.type (line 3)\n  Field required"},
		{"an unknown key", "version: 1\ntrials: x\n", "trials (line 2)\n  Extra inputs are not permitted [input: x]"},
		{"an unknown key below", "trail:\n  attestations:\n    - {name: a, type: junit, required: true}\n", "trail.attestations.0.required (line 3)\n  Extra inputs are not permitted [input: true]"},
		{"another version", "version: 2\n", "version (line 1)\n  Input should be 1 [input: 2]"},
		{"a version as text", "version: '1'\n", "version (line 1)\n  Input should be 1 [input: 1]"},
		{"a version that is no number", "version: true\n", "version (line 1)\n  Input should be 1 [input: true]"},
		{"a null version", "version:\n", "version (line 1)\n  Input should be 1 [input: None]"},
		{"a text for a list", "trail:\n  artifacts: web\n", "trail.artifacts (line 2)\n  Input should be a valid list [input: web]"},
		{"a null list", "trail:\n  artifacts:\n", "trail.artifacts (line 2)\n  Input should be a valid list [input: None]"},
		{"a number for a name", "trail:\n  artifacts:\n    - name: 12\n", "trail.artifacts.0.name (line 3)\n  Input should be a valid string [input: 12]"},
		{"a null name", "trail:\n  artifacts:\n    - name:\n", "trail.artifacts.0.name (line 3)\n  Input should be a valid string [input: None]"},
		{"a bad name", "trail:\n  artifacts:\n    - name: a b\n", "trail.artifacts.0.name (line 3)\n  String should match pattern '^[a-zA-Z0-9\\-_]+$' [input: a b]"},
		{"a name that is too long", "trail:\n  artifacts:\n    - name: " + strings.Repeat("n", 256) + "\n", "trail.artifacts.0.name (line 3)\n  String should have at most 255 characters [input: " + strings.Repeat("n", 100) + "...]"},
		{"a type that is too long", "trail:\n  attestations:\n    - name: a\n      type: custom:" + strings.Repeat("n", 256) + "\n", "trail.attestations.0.type (line 4)\n  String should have at most 255 characters [input: custom:n"},
		{"an empty name", "trail:\n  artifacts:\n    - name: ''\n", "String should match pattern '^[a-zA-Z0-9\\-_]+$' [input: ]"},
		{"a name of two lines", "trail:\n  artifacts:\n    - name: |\n        a\n", "String should match pattern"},
		{"an unknown type", "trail:\n  attestations:\n    - name: a\n      type: pull-request\n", "trail.attestations.0.type (line 4)\n  Input should be 'generic'"},
		{"an artifact twice", "trail:\n  artifacts:\n    - name: a\n    - name: a\n", "trail.artifacts.1.name (line 4)\n  Value error, names must be unique within their list [input: a]"},
		{"an attestation twice", "trail:\n  artifacts:\n    - name: a\n      attestations:\n        - {name: x, type: '*'}\n        - {name: x, type: junit}\n", "trail.artifacts.0.attestations.1.name (line 6)\n  Value error"},
		{"a key twice", "version: 1\nversion: 1\n", "version (line 2)\n  Invalid YAML: the key is given twice"},
		{"a list", "- version: 1\n", "(line 1)\n  Input should be a valid dictionary or instance of Template"},
		{"a list for an artifact", "trail:\n  artifacts:\n    - [a]\n", "trail.artifacts.0 (line 3)\n  Input should be a valid dictionary or instance of Artifact"},
		{"a list for the trail", "trail: []\n", "trail (line 1)\n  Input should be a valid dictionary or instance of Trail"},
		{"null", "null\n", "(line 1)\n  Input should be a valid dictionary or instance of Template [input: None]"},
		{"an empty file", "", "(line 1)\n  Input should be a valid dictionary or instance of Template [input: None]"},
		{"comments alone", "# version: 1\n", "(line 1)\n  Input should be a valid dictionary or instance of Template"},
		{"two documents", "version: 1\n---\nversion: 1\n", "Invalid YAML: there is more than one document in the file"},
		{"broken YAML", "version: 1\ntrail: [\n", "Invalid YAML: "},
		{"a tab", "trail:\n\tartifacts: []\n", "(line 2)\n  Invalid YAML: "},
		{"no text", "version: \xff\n", "Invalid YAML: the file is not UTF-8 text"},
		{"an alias for nothing", "trail: *a\n", "(line 1)\n  Invalid YAML: unknown anchor 'a' referenced"},
		{"an alias before its anchor", "trail: {artifacts: *a, attestations: &a []}\n", "Invalid YAML: unknown anchor 'a' referenced"},
		{"an anchor that is defined again", "trail: {artifacts: &a [], attestations: &a [1]}\n", "trail.attestations.0 (line 1)\n  Input should be a valid dictionary or instance of Attestation [input: 1]"},
		{"an alias within its anchor", "trail: &a\n  artifacts: *a\n", "trail.artifacts (line"},
		{"a tag", "version: !!int 1\n", "version (line 1)\n  Tags are not supported"},
		{"a key that is a list", "? [version]\n: 1\n", "(line 1)\n  Extra inputs are not permitted [input: 1]"},
		{"a key that is an alias", "version: &a 1\n*a : 2\n", "(line 2)\n  Extra inputs are not permitted [input: 2]"},
		{"a null key", "~: 1\n", "~ (line 1)\n  Extra inputs are not permitted [input: 1]"},
		{"a merge key", "version: 1\n<<: {trail: {}}\n", "<< (line 2)\n  Extra inputs are not permitted"},
		{"a syntax error further down", "version: 1\ntrail:\n  artifacts:\n    - name: a: b\n", "(line 4)\n  Invalid YAML: mapping values are not allowed in this context"},
		{"nesting in brackets", strings.Repeat("[", 100), "(line 1)\n  Invalid YAML: exceeded max depth of 64"},
		{"nesting in lines", strings.Repeat("- ", 100), "(line 1)\n  Invalid YAML: exceeded max depth of 64"},
		{"a tag directive", "version: 1\r\n%TAG !a! b\n---\n", "(line 2)\n  Invalid YAML: %TAG directives are not supported"},
		{"a tag directive behind a separator", "#\u2028\uFEFF%TAG !a! b\n---\n", "(line 1)\n  Invalid YAML: %TAG directives are not supported"},
		{"texts without end on a line", "[" + strings.Repeat(`"a" `, 1<<18), "(line 1)\n  The template has too many parts"},
		{"a number with a point for a name", "trail: {artifacts: [{name: 1.5}]}", "Input should be a valid string [input: 1.5]"},
		{"NUL", "version: \x00\n", "Invalid YAML: the file is not UTF-8 text"},
		{"an escaped NUL", "trail: {artifacts: [{name: \"a\\0\"}]}\n", "String should match pattern"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := template.Parse([]byte(c.content))
			if err == nil {
				t.Fatal("it was accepted")
			}
			if text := err.Error(); !strings.Contains(text, c.want) || !strings.HasPrefix(text, "1 validation errors for Template\n") {
				t.Errorf("the error is\n%s", text)
			}
		})
	}
}

func TestParseCountsAllFindingsAndShowsTheFirst(t *testing.T) {
	var b strings.Builder
	b.WriteString("trail:\n  artifacts:\n")
	for range 1000 {
		b.WriteString("    - name: ' '\n")
	}
	_, err := template.Parse([]byte(b.String()))
	if err == nil || !strings.HasPrefix(err.Error(), "1000 validation errors for Template\ntrail.artifacts.0.name (line 3)\n") ||
		!strings.HasSuffix(err.Error(), "\nand 950 more") {
		t.Errorf("the error is %v", err)
	}
}

func TestParseBoundsTheInputThatAFindingRepeats(t *testing.T) {
	size := template.MaxSize
	if testing.Short() {
		size /= 8
	}
	long := strings.Repeat("ü ", size)
	for name, content := range map[string]string{
		"name":                "trail: {artifacts: [{name: '" + long + "'}]}",
		"key":                 "'" + long + "': 1",
		"version":             "version: '" + long + "'",
		"type":                "trail: {attestations: [{name: a, type: '" + long + "'}]}",
		"alias":               "trail: *" + strings.ReplaceAll(long, " ", ""),
		"alias in plain text": "trail: *" + strings.Repeat("a", size),
		"tag":                 "trail: !" + strings.ReplaceAll(long, " ", "") + " a",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := template.Parse([]byte(content))
			if err == nil || len(err.Error()) > 1000 {
				t.Errorf("the error is %.2000v", err)
			}
		})
	}
}

// hostile returns files of about this size that are expensive for a careless parser.
func hostile(size int) map[string]string {
	fill := func(text string) string { return strings.Repeat(text, size/len(text)) }
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, format, i, i)
		}
		return b.String()
	}
	aliases := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 20; i++ {
		aliases += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","))
	}
	var expansion strings.Builder
	expansion.WriteString("trail:\n  artifacts:\n    - name: a\n      attestations: &all\n")
	for i := range size / 60 {
		fmt.Fprintf(&expansion, "        - {name: n%d, type: junit}\n", i)
	}
	for i := range size / 60 {
		fmt.Fprintf(&expansion, "    - {name: b%d, attestations: *all}\n", i)
	}
	return map[string]string{
		"brackets":           fill("["),
		"braces":             fill("{"),
		"opened mappings":    fill("{a: "),
		"dashes":             fill("- "),
		"questions":          fill("? "),
		"colons":             fill(": "),
		"anchors":            fill("&a "),
		"tags":               fill("!!a "),
		"aliases":            fill("*a "),
		"keys":               numbered("k%d: %d\n"),
		"one key":            fill("a: 1\n"),
		"nested keys":        fill("a:\n b:\n  c:\n"),
		"defined anchors":    numbered("- &a%d *a%d\n"),
		"items":              fill("- a\n"),
		"comments":           "version: 1\n" + fill("# c\n"),
		"one comment":        "version: 1\n#" + fill("x"),
		"one scalar":         "a: " + fill("x"),
		"quoted":             "a: \"" + fill("x") + "\"",
		"escapes":            "a: \"" + fill(`\u0041`) + "\"",
		"unclosed":           "a: \"" + fill("x\n"),
		"literal":            "a: |\n" + fill("  x\n"),
		"folded":             "a: b\n" + fill("  x\n"),
		"spaces":             fill(" "),
		"lines":              fill("\n"),
		"tabs":               fill("\t"),
		"documents":          fill("---\n"),
		"document ends":      fill("...\n"),
		"directives":         fill("%YAML 1.2\n"),
		"commas":             "[" + fill(","),
		"keys in braces":     "{" + numbered("k%d: %d,") + "}",
		"one key in braces":  "{" + fill("a: 1,") + "}",
		"items in brackets":  "[" + fill("[a],") + "]",
		"dashes in brackets": "trail: [" + fill("- "),
		"lines of lists":     "trail: {\n" + fill("a: [b],\n"),
		"block scalars":      "trail: {" + fill(">\n:"),
		"empty documents":    fill("---\n...\n"),
		"quotes":             fill("y'\n---\n"),
		"comments of keys":   fill("a: 1 # c\n"),
		"merge keys":         "x: &x {a: 1}\n" + fill("<<: *x\n"),
		"tag prefixes":       numbered("%%TAG !a%d! b%d\n") + "---\nversion: 1\n",
		"quoted items":       "[" + fill(`"a",`),
		"unjoined items":     "[" + fill("'a' "),
		"tag directives":     fill("%TAG !a! b\n"),
		"NUL":                "version: 1\n" + fill("\x00"),
		"aliases of aliases": aliases,
		"expansion":          expansion.String(),
		"indentation": func() string {
			var b strings.Builder
			for i := 0; b.Len() < size; i++ {
				b.WriteString(strings.Repeat(" ", i) + "a:\n")
			}
			return b.String()
		}(),
	}
}

func TestMemoryForHostileFilesIsBounded(t *testing.T) {
	const most = 256 << 20 // bytes, nearly all of which are freed at once
	size := template.MaxSize
	if testing.Short() {
		size /= 4
	}
	for name, content := range hostile(size) {
		t.Run(name, func(t *testing.T) {
			spent, err := allocated(content)
			if spent > most {
				t.Errorf("it took %d MiB, and ended with %.200v", spent>>20, err)
			}
			if err != nil && !strings.Contains(err.Error(), " validation errors for Template\n") {
				t.Errorf("the error is %.200v", err)
			}
		})
	}
}

func TestParseTakesLinearWork(t *testing.T) {
	const size = 64 << 10
	small, large := hostile(size), hostile(2*size)
	for name := range small {
		t.Run(name, func(t *testing.T) {
			before, _ := allocated(small[name])
			after, err := allocated(large[name])
			// Files that are refused early take little, which varies by chance.
			if after > 3*before+size {
				t.Errorf("%d bytes for the one half, %d for the whole, which ended with %.200v", before, after, err)
			}
		})
	}
}

// allocated parses a file and returns how many bytes it allocated.
func allocated(content string) (uint64, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := template.Parse([]byte(content))
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}

func TestParseCountsTensOfThousandsOfFaultsAndShowsTheFirst(t *testing.T) {
	for name, c := range map[string]struct {
		line  string
		lines int
		first string
	}{
		"unknown keys":   {"k%d: 1\n", 83_000, "k0 (line 1)\n  Extra inputs are not permitted [input: 1]"},
		"unknown nested": {"k%d: {a: 1}\n", 50_000, "k0 (line 1)\n  Extra inputs are not permitted\n"},
		"repeated keys":  {"version: 1 #%d\n", 50_000, "version (line 2)\n  Invalid YAML: the key is given twice"},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for i := range c.lines {
				fmt.Fprintf(&b, c.line, i)
			}
			_, err := template.Parse([]byte(b.String()))
			var wrong *yamlfile.Error
			if !errors.As(err, &wrong) || len(wrong.Findings) != 50 || wrong.Count < c.lines-1 {
				t.Fatalf("the error is %.300v", err)
			}
			if text := err.Error(); !strings.HasPrefix(text, fmt.Sprintf("%d validation errors for Template\n%s", wrong.Count, c.first)) ||
				!strings.HasSuffix(text, fmt.Sprintf("\nand %d more", wrong.Count-50)) {
				t.Errorf("the error is %.300s", text)
			}
		})
	}
}

func TestParseAcceptsLargeTemplates(t *testing.T) {
	var b strings.Builder
	b.WriteString("version: 1\ntrail:\n  artifacts:\n")
	for i := range 100 {
		fmt.Fprintf(&b, "    # the artifact %d: made by - [the build]\n    - name: artifact-number-%d\n      attestations:\n", i, i)
		for j := range 300 {
			fmt.Fprintf(&b, "        - name: attestation-number-%d\n          type: custom:of-a-type\n", j)
		}
	}
	parsed, err := template.Parse([]byte(b.String()))
	if err != nil || len(parsed.Trail.Artifacts) != 100 || len(parsed.Trail.Artifacts[99].Attestations) != 300 {
		t.Errorf("%d artifacts, %.500v", len(parsed.Trail.Artifacts), err)
	}
}

// minified returns a template of n requirements as JSON on one line.
func minified(n int) string {
	var b strings.Builder
	b.WriteString(`{"version":1,"trail":{"artifacts":[{"name":"web","attestations":[`)
	for i := range n {
		fmt.Fprintf(&b, `{"name":"attestation-%d","type":"junit"},`, i)
	}
	return strings.TrimSuffix(b.String(), ",") + "]}]}}"
}

func TestParseAcceptsLargeTemplatesInJSONOnOneLine(t *testing.T) {
	content := minified(20_000)
	parsed, err := template.Parse([]byte(content))
	if err != nil || len(parsed.Trail.Artifacts) != 1 || len(parsed.Trail.Artifacts[0].Attestations) != 20_000 {
		t.Fatalf("%d artifacts, %.500v", len(parsed.Trail.Artifacts), err)
	}
	wrong := strings.Replace(content, `"attestation-19999"`, `"a b"`, 1)
	if _, err := template.Parse([]byte(wrong)); err == nil || !strings.Contains(err.Error(), "attestations.19999.name (line 1)\n") {
		t.Errorf("the error is %.500v", err)
	}
}

func TestFromNamesMakesOneArtifact(t *testing.T) {
	content, err := template.FromNames([]string{"unit", "artifact", "true", "unit"})
	evidencetest.Must(t, err)
	parsed, err := template.Parse(content)
	evidencetest.Must(t, err)
	want := []template.Artifact{{Name: "artifact", Attestations: []template.Attestation{{Name: "unit", Type: "*"}, {Name: "true", Type: "*"}}}}
	if !reflect.DeepEqual(parsed.Trail.Artifacts, want) || len(parsed.Trail.Attestations) != 0 {
		t.Errorf("parsed %+v", parsed)
	}
}

func TestFromNamesRefusesEmptyAndImpossibleNames(t *testing.T) {
	_, err := template.FromNames([]string{"artifact", "", "a b", strings.Repeat("n", 256), strings.Repeat("n", 255)})
	var refused *evidence.Error
	if !errors.As(err, &refused) || refused.Code != evidence.Invalid || len(refused.Fields) != 3 ||
		refused.Fields["template[1]"] == "" || refused.Fields["template[2]"] == "" ||
		refused.Fields["template[3]"] != "String should have at most 255 characters [input: "+strings.Repeat("n", 100)+"...]" {
		t.Errorf("the error is %#v", err)
	}
}

func TestFromNamesBoundsTheTemplate(t *testing.T) {
	var names []string
	for i := range 30_000 {
		names = append(names, fmt.Sprint(i))
	}
	_, err := template.FromNames(names)
	var refused *evidence.Error
	if !errors.As(err, &refused) || !strings.HasPrefix(refused.Fields["template"], "List should have fewer items") || len(refused.Fields["template"]) > 300 {
		t.Errorf("the error is %v", err)
	}
	if content, err := template.FromNames(names[:10_000]); err != nil || len(content) > template.MaxSize {
		t.Errorf("%d bytes, %v", len(content), err)
	}
}

func TestIDFollowsFromTheContent(t *testing.T) {
	id := template.ID([]byte(template.Empty))
	if !regexp.MustCompile(`^[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{8}$`).MatchString(id) {
		t.Errorf("the id is %s", id)
	}
	if id == template.ID([]byte("version: 1")) || id != template.ID([]byte("version: 1\n")) {
		t.Error("the id does not follow the bytes")
	}
}

func FuzzParse(f *testing.F) {
	for _, content := range hostile(1 << 10) {
		f.Add([]byte(content))
	}
	f.Add([]byte("version: 1\ntrail:\n  artifacts:\n    - name: web\n      attestations:\n        - {name: a, type: custom:b}\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		parsed, err := template.Parse(content)
		var wrong *yamlfile.Error
		switch {
		case err != nil && (!errors.As(err, &wrong) || wrong.Count < 1 || len(wrong.Findings) == 0):
			t.Errorf("the error is %#v", err)
		case err == nil && (parsed.Version != 1 || parsed.Trail.Attestations == nil || parsed.Trail.Artifacts == nil):
			t.Errorf("parsed %#v", parsed)
		}
	})
}
