package process

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.yaml.in/yaml/v4"

	"attestry/evidence/evidencetest"
	"attestry/scripts/readmetest"
)

const (
	alertRules = "../deploy/prometheus/alerts.yaml"
	alertTests = "../deploy/prometheus/alerts_test.yaml"
	dashboard  = "../deploy/grafana/attestry.json"
)

// alertRule is a rule of Prometheus.
type alertRule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// decodeYAML reads a file into out.
func decodeYAML(t *testing.T, file string, out any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(readmetest.Read(t, file)), out); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func alertsOf(t *testing.T) (rules []alertRule) {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []alertRule `yaml:"rules"`
		} `yaml:"groups"`
	}
	decodeYAML(t, alertRules, &file)
	for _, group := range file.Groups {
		rules = append(rules, group.Rules...)
	}
	if len(rules) < 20 {
		t.Fatalf("%s has %d rules", alertRules, len(rules))
	}
	return rules
}

// panel is a panel of a Grafana dashboard.
type panel struct {
	ID      int
	Title   string
	GridPos struct{ X, Y, W, H int }
	Targets []struct{ Expr string }
}

func panelsOf(t *testing.T) []panel {
	t.Helper()
	var file struct{ Panels []panel }
	evidencetest.Must(t, json.Unmarshal([]byte(readmetest.Read(t, dashboard)), &file))
	return file.Panels
}

// expressionsOf returns the queries of the dashboard, with a rate interval of 5 minutes and for all jobs.
func expressionsOf(t *testing.T) (expressions []string) {
	t.Helper()
	for _, panel := range panelsOf(t) {
		for _, target := range panel.Targets {
			expressions = append(expressions, strings.NewReplacer("$__rate_interval", "5m", "$job", ".*").Replace(target.Expr))
		}
	}
	return expressions
}

// knownMetrics returns the metrics of the code and of the collectors that Open registers.
func knownMetrics(t *testing.T) []string {
	t.Helper()
	known := namesIn(sourcesOf(t), `"(attestry_[a-z_]+)"`)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := registry.Gather()
	evidencetest.Must(t, err)
	for _, family := range families {
		known = append(known, family.GetName())
	}
	return known
}

func TestAlertsAndDashboardUseExistingMetrics(t *testing.T) {
	known := knownMetrics(t)
	expressions := expressionsOf(t)
	for _, rule := range alertsOf(t) {
		expressions = append(expressions, rule.Expr)
	}
	used := namesIn(strings.Join(expressions, "\n"), `\b((?:attestry|go|process)_[a-z_]+)`)
	for _, name := range used {
		series := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		if !slices.Contains(known, name) && !slices.Contains(known, series) {
			t.Errorf("no process has the metric %s", name)
		}
	}
	// The dashboard shows every metric of the code.
	shown := strings.Join(expressionsOf(t), "\n")
	for _, name := range known {
		if strings.HasPrefix(name, "attestry_") && !strings.Contains(shown, name) {
			t.Errorf("%s does not show %s", dashboard, name)
		}
	}
}

func TestEachAlertHasASectionInTheRunbook(t *testing.T) {
	guide := readmetest.Read(t, operations)
	_, runbook, _ := strings.Cut(guide, "\n## Alerts\n")
	runbook, _, _ = strings.Cut(runbook, "\n## ")
	sections := namesIn(runbook, `(?m)^### (\w+)$`)
	var alerts []string
	for _, rule := range alertsOf(t) {
		alerts = append(alerts, rule.Alert)
		if want := "docs/operations.md#" + strings.ToLower(rule.Alert); rule.Annotations["runbook"] != want {
			t.Errorf("the runbook of %s is %q, want %q", rule.Alert, rule.Annotations["runbook"], want)
		}
		if severity := rule.Labels["severity"]; severity != "critical" && severity != "warning" || rule.Annotations["summary"] == "" {
			t.Errorf("%s has the severity %q and the summary %q", rule.Alert, severity, rule.Annotations["summary"])
		}
	}
	slices.Sort(alerts)
	if !slices.Equal(alerts, sections) {
		t.Errorf("there are the alerts %v, but %s describes %v", alerts, operations, sections)
	}
	// The sections that the runbook refers to exist.
	for _, title := range namesIn(strings.ReplaceAll(runbook, "\n", " "), `[sS]ee "([^"]+)"`) {
		if !strings.Contains(guide, "\n## "+title+"\n") && !strings.Contains(guide, "\n**"+title) {
			t.Errorf("there is no %q in %s", title, operations)
		}
	}
}

func TestEachAlertHasTestsThatFireItAndDoNot(t *testing.T) {
	var file struct {
		Tests []struct {
			Cases []struct {
				Alert    string `yaml:"alertname"`
				Expected []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		} `yaml:"tests"`
	}
	decodeYAML(t, alertTests, &file)
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, one := range test.Cases {
			if len(one.Expected) > 0 {
				fires[one.Alert] = true
			} else {
				quiet[one.Alert] = true
			}
		}
	}
	for _, rule := range alertsOf(t) {
		if !fires[rule.Alert] || !quiet[rule.Alert] {
			t.Errorf("%s fires in a test: %v, and does not in another: %v", rule.Alert, fires[rule.Alert], quiet[rule.Alert])
		}
	}
}

func TestPanelsOfTheDashboardDoNotOverlap(t *testing.T) {
	panels := panelsOf(t)
	for i, one := range panels {
		if one.Title == "" || one.GridPos.X+one.GridPos.W > 24 {
			t.Errorf("the panel %q has the place %+v", one.Title, one.GridPos)
		}
		for _, other := range panels[:i] {
			a, b := one.GridPos, other.GridPos
			if one.ID == other.ID || a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%q and %q have one id or one place", one.Title, other.Title)
			}
		}
	}
}

// TestPrometheusAcceptsRulesAndDashboard needs promtool, which ATTESTRY_TEST_PROMTOOL names.
func TestPrometheusAcceptsRulesAndDashboard(t *testing.T) {
	promtool := os.Getenv("ATTESTRY_TEST_PROMTOOL")
	if promtool == "" {
		t.Skip("ATTESTRY_TEST_PROMTOOL names no promtool")
	}
	// promtool checks the expressions of the dashboard if they are written as rules.
	type recorded struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var rules []recorded
	for _, expression := range expressionsOf(t) {
		rules = append(rules, recorded{Record: "panel", Expr: expression})
	}
	content, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	evidencetest.Must(t, err)
	shown := filepath.Join(t.TempDir(), "dashboard.yaml")
	evidencetest.Must(t, os.WriteFile(shown, content, 0o600))
	for _, arguments := range [][]string{
		{"check", "config", "../deploy/prometheus/prometheus.yaml"},
		{"check", "rules", alertRules},
		{"check", "rules", "--lint=none", shown},
		{"test", "rules", alertTests},
	} {
		if output, err := exec.CommandContext(t.Context(), promtool, arguments...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", arguments, err, output)
		}
	}
}
