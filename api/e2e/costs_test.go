package e2e_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/storage/logs"
	"attestry/storage/storagetest"
)

// costsFile has the costs of operations from which scripts/capacity estimates.
const costsFile = "../../scripts/costs.tsv"

// measuredColumns is the number of columns after the name that TestCostsOfOperationsAreThoseOfTheModel measures.
const measuredColumns = 3

// tolerance is the difference that is allowed in each column, in addition to half of the value: on a slow machine, each
// operation's share of the work that the service does every second is larger.
var tolerance = [measuredColumns]float64{10, 3, 1000}

// repetitions is the number of measured operations of each kind. It makes work that is done every second negligible.
const repetitions = 20

// reportedPods returns a report of 100 pods with an image each: the last ones, replaced, of a version, the others of 0.
func reportedPods(version, replaced int) string {
	pods := make([]string, 100)
	for i := range pods {
		image := fmt.Sprintf("image-%d-0", i)
		if i >= len(pods)-replaced {
			image = fmt.Sprintf("image-%d-%d", i, version)
		}
		pods[i] = fmt.Sprintf(`{"podName":"pod-%d","namespace":"shop","digests":{"registry.example.com/image-%d":%q},"creationTimestamp":1788000000,
			"owners":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7d9f8b6c5","uid":"8d3f9a1e-4c2b-4f6a-9d7e-000000000000"}]}`, i, i, apitest.DigestOf(image))
	}
	return `{"type":"K8S","artifacts":[` + strings.Join(pods, ",") + `]}`
}

// TestCostsOfOperationsAreThoseOfTheModel measures the database commands of operations, including those of the workers
// and of the transparency log, and compares them with costsFile. With ATTESTRY_TEST_UPDATE set it writes the file.
func TestCostsOfOperationsAreThoseOfTheModel(t *testing.T) {
	t.Parallel()
	s, counting := apitest.StartCounting(t, apitest.Options{Settings: []string{apitest.LogKeyFile(t)}})
	s.CreateEnvironment("prod", evidence.K8S)
	s.StorePolicy("provenance", "provenance: {required: true}")
	s.Attach("prod", "provenance")
	s.SetAdmission("prod", `{"mode":"deny"}`)
	// Each image has two versions.
	for i := range 100 {
		for version := range 2 {
			image := fmt.Sprintf("image-%d-%d", i, version)
			s.ReportArtifact("shop", image, "web", apitest.DigestOf(image), strings.Repeat("a", 40))
		}
	}
	s.Report(http.StatusCreated, "prod", "K8S", reportedPods(0, 0))
	operations := map[string]func(i int){
		"unchanged report": func(int) { s.Report(http.StatusOK, "prod", "K8S", reportedPods(0, 0)) },
		"changed report":   func(i int) { s.Report(http.StatusCreated, "prod", "K8S", reportedPods(1, 1-i%2)) },
		"artifact report": func(i int) {
			s.ReportArtifact("shop", fmt.Sprint("build-", i), "web", apitest.DigestOf(fmt.Sprint("app-", i)), strings.Repeat("a", 40))
		},
		"attestation": func(i int) {
			s.WantForm(http.StatusCreated, http.MethodPost, fmt.Sprintf("/attestations/%s/shop/trail/build-%d/generic", s.Org, i),
				fmt.Sprintf(`{"attestation_name":"tests","is_compliant":true,"artifact_fingerprint":%q}`, apitest.DigestOf(fmt.Sprint("app-", i))))
		},
		"assert": func(i int) {
			s.Read("/asserts/" + s.Org + "/fingerprint/" + apitest.DigestOf(fmt.Sprint("app-", i)) + "?environment_name=prod")
		},
		"admission": func(i int) {
			s.Admit("prod", apitest.Review("Pod", apitest.Pod("", "registry.example.com/web@sha256:"+apitest.DigestOf(fmt.Sprint("app-", i))), false))
		},
	}
	rows := readCosts(t)
	for _, row := range rows[1:] {
		operation := operations[row[0]]
		if operation == nil {
			t.Fatalf("no operation is called %q", row[0])
		}
		measured := costs(s, counting, operation)
		for column, got := range measured {
			was, err := strconv.ParseFloat(row[1+column], 64)
			s.Must(err)
			if math.Abs(got-was) > tolerance[column]+was/2 && os.Getenv("ATTESTRY_TEST_UPDATE") == "" {
				t.Errorf("one %s costs %g %s, the model says %g", row[0], got, rows[0][1+column], was)
			}
			row[1+column] = strconv.FormatFloat(math.Round(got*10)/10, 'f', -1, 64)
		}
	}
	if os.Getenv("ATTESTRY_TEST_UPDATE") != "" {
		writeCosts(t, rows)
	}
}

// costs returns the commands, those of them that write, and the bytes written of one operation.
func costs(s *apitest.Service, counting *storagetest.CountingDocuments, operation func(i int)) (all [measuredColumns]float64) {
	s.T.Helper()
	s.AwaitLogged(s.Org)
	counting.Reset()
	for i := range repetitions {
		operation(i)
	}
	uncounted := logs.New(counting.Documents, s.Process.Store.Objects)
	apitest.Eventually(s.T, "everything is in the log", func() bool {
		waiting, err := uncounted.Pending(s.T.Context(), s.OrgID(), 0, 1)
		s.Must(err)
		log, err := uncounted.Get(s.T.Context(), s.OrgID())
		s.Must(err)
		return len(waiting) == 0 && log.Signed == log.Tree.Size
	})
	costs := counting.Snapshot()
	return [...]float64{float64(costs.Commands()) / repetitions, float64(costs.Writes) / repetitions, float64(costs.Bytes) / repetitions}
}

func readCosts(t *testing.T) [][]string {
	t.Helper()
	content, err := os.ReadFile(costsFile)
	if err != nil {
		t.Fatal(err)
	}
	reader := csv.NewReader(strings.NewReader(string(content)))
	reader.Comma = '\t'
	rows, err := reader.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func writeCosts(t *testing.T, rows [][]string) {
	t.Helper()
	file, err := os.Create(costsFile)
	if err != nil {
		t.Fatal(err)
	}
	writer := csv.NewWriter(file)
	writer.Comma = '\t'
	if err := writer.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
