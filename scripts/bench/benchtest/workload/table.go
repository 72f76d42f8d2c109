package workload

import (
	"context"

	"attestry/scripts/bench/benchtest/baseline"
)

// kind describes workloads that differ only in size and number of clients.
type kind struct {
	// name identifies the kind in results; {size} stands for the size.
	name string
	// measures says what an operation is.
	measures string
	// baseline is the path of the baseline that gets the same requests, or ofService.
	baseline string
	// bytes is how many bytes an operation processes per unit of the size, 0 if it is not printed.
	bytes int64
	// beside is called once in each round of the service. It may be nil.
	beside func(c *client) error
	// logged means that the service keeps transparency logs. It always does if the environment has a key.
	logged bool
	// seeds write the data that all clients need.
	seeds []seed
	// setup creates the data that one client needs, and returns its requests.
	setup    setup
	variants []variant
}

// ofService sends the requests of the baseline to the service, without beside.
const ofService = "service"

// variant is a number of clients and a size in the unit of the kind's name, or 0 if it has none.
type variant struct{ size, clients int }

// seed writes data for a workload of a size, mostly to the stores directly.
type seed func(ctx context.Context, f *fixture, size int) error

// ofSize is a seed with another size than that of the workload.
func ofSize(size int, of seed) seed {
	return func(ctx context.Context, f *fixture, _ int) error { return of(ctx, f, size) }
}

// setup returns the requests of a client: those to the service, and the same for the baseline.
type setup func(c *client) (service, baseline requests, err error)

var reportVariants = []variant{{100, 1}, {100, 16}, {1_000, 1}, {1_000, 4}, {10_000, 1}, {10_000, 4}}

// kinds is the table of all workloads, in the order in which they are measured.
var kinds = []kind{
	{name: "report unchanged, {size} artifacts", measures: "a cluster reports what it reported before",
		baseline: baseline.ReportPath, setup: reportUnchanged, variants: reportVariants},
	{name: "report changed, {size} artifacts known to two flows", measures: "a cluster reports that one image was replaced",
		baseline: baseline.ReportPath, seeds: []seed{seedImages}, setup: reportChanged, variants: reportVariants},
	{name: "first report, {size} artifacts known to two flows", measures: "a new cluster reports for the first time",
		baseline: baseline.ReportPath, seeds: []seed{seedImages}, setup: reportFirst, variants: []variant{{1_000, 1}, {10_000, 1}}},
	{name: "{size} environments in turn, report unchanged, 10 artifacts", measures: "the next of many clusters reports what it reported before",
		baseline: baseline.ReportPath, setup: reportInTurn(10, noChange), variants: []variant{{2_000, 16}}},
	{name: "{size} environments in turn, report changed, 10 artifacts", measures: "the next of many clusters reports an image that never ran before",
		baseline: baseline.ReportPath, setup: reportInTurn(10, newImage), variants: []variant{{2_000, 16}}},

	{name: "assert in an environment with {size} policies of 10 rules", measures: "a pipeline asks whether an artifact may run",
		baseline: baseline.BytesPath, seeds: []seed{seedPolicies}, setup: assertArtifact, variants: []variant{{1, 1}, {10, 1}, {10, 16}}},
	{name: "admission of a pod with 10 containers, {size} policies of 10 rules", measures: "a cluster asks whether a pod may run",
		baseline: baseline.EnvironmentPath, seeds: []seed{seedPolicies}, setup: admitPod, variants: []variant{{5, 1}, {5, 16}}},
	{name: "a policy more or less beside 5, {size} artifacts known to two flows", measures: "a user attaches or detaches a policy, and everything is evaluated again",
		baseline: baseline.EnvironmentPath, seeds: []seed{seedImages, ofSize(attachedPolicies+1, seedPolicies)}, setup: reevaluate, variants: []variant{{1_000, 1}, {10_000, 1}}},

	{name: "get snapshot of {size} artifacts known to two flows", measures: "a user reads the only snapshot",
		baseline: baseline.BytesPath, seeds: []seed{seedImages, seedHistory(1)},
		setup: get("/snapshots/{org}/{history}/-1"), variants: []variant{{1_000, 1}, {10_000, 1}}},
	{name: "page of an environment of {size} artifacts known to two flows", measures: "a person opens the page; beside the API's answer",
		baseline: ofService, seeds: []seed{seedImages, seedHistory(1)}, setup: openEnvironment, variants: []variant{{1_000, 1}, {10_000, 1}}},
	{name: "get snapshot -1 of 1000, {size} artifacts known to two flows", measures: "a user reads the latest of many snapshots",
		baseline: baseline.BytesPath, seeds: []seed{seedImages, seedHistory(1_000)},
		setup: get("/snapshots/{org}/{history}/-1"), variants: []variant{{1_000, 1}}},
	{name: "get snapshot 500 of 1000, {size} artifacts known to two flows", measures: "a user reads an old one of many snapshots",
		baseline: baseline.BytesPath, seeds: []seed{seedImages, seedHistory(1_000)},
		setup: get("/snapshots/{org}/{history}/500"), variants: []variant{{1_000, 1}}},
	{name: "env-diff of snapshots 1000 apart, {size} artifacts", measures: "a user compares two snapshots",
		baseline: baseline.BytesPath, seeds: []seed{seedHistory(1_001)},
		setup: get("/env-diff/{org}?snappish1={history}%231&snappish2={history}%231001"), variants: []variant{{1_000, 1}, {10_000, 1}}},
	{name: "page {size} of events", measures: "a user reads a page of the events of an environment",
		baseline: baseline.BytesPath, seeds: []seed{seedEvents(1_000, 9)},
		setup: get("/environments/{org}/{history}/events?page={size}&per_page=15"), variants: []variant{{1, 1}, {1_000, 1}}},

	{name: "attestation", measures: "a pipeline attests an artifact of a trail of its own",
		baseline: baseline.AttestationPath, setup: attest(true), variants: []variant{{0, 1}, {0, 16}, {0, 64}}},
	{name: "attestation to one trail", measures: "a pipeline attests an artifact of the trail that all attest to",
		baseline: baseline.AttestationPath, setup: attest(false), variants: []variant{{0, 64}}},
	{name: "artifact report", measures: "a pipeline reports a new artifact to a new trail",
		baseline: baseline.ArtifactPath, setup: reportArtifacts, variants: []variant{{0, 1}, {0, 16}}},
	{name: "artifact by fingerprint among {size}", measures: "a user looks up an artifact by the beginning of its fingerprint",
		baseline: baseline.BytesPath, seeds: []seed{seedArtifacts}, setup: getArtifacts, variants: []variant{{100_000, 1}}},
	{name: "event told to {size} webhooks", measures: "a pipeline begins a trail; it ends when all webhooks have got it",
		baseline: baseline.EnvironmentPath, setup: notifyWebhooks(0), variants: []variant{{1, 1}, {1_000, 1}}},
	{name: "event told to {size} webhooks and one that hangs", measures: "the same beside a webhook that never answers",
		baseline: baseline.EnvironmentPath, setup: notifyWebhooks(1), variants: []variant{{1_000, 1}}},
	{name: "trail of {size} artifacts with 20 attestations each", measures: "a user reads a trail with all its events",
		baseline: baseline.BytesPath, seeds: []seed{seedTrail(20)}, setup: get("/trails/{org}/{flow}/trail"), variants: []variant{{500, 1}}},

	{name: "package of {size} attestations with 2.05 MiB of random bytes each", measures: "an auditor asks for a package that has to be assembled",
		baseline: baseline.EnvironmentPath, bytes: evidenceBytes, seeds: []seed{seedPackage(randomBytes)}, setup: assemble, variants: []variant{{500, 1}}},
	{name: "package of {size} attestations with 2.05 MiB of test results each", measures: "the same with evidence that can be compressed",
		baseline: baseline.EnvironmentPath, bytes: evidenceBytes, seeds: []seed{seedPackage(testResults)}, setup: assemble, variants: []variant{{500, 1}}},
	{name: "first byte of the package of {size} attestations with 2.05 MiB of random bytes each", measures: "an auditor downloads a package that is ready",
		baseline: baseline.EnvironmentPath, seeds: []seed{seedPackage(randomBytes)}, setup: firstByte, variants: []variant{{500, 1}}},
	{name: "report changed, 100 artifacts known to two flows, beside {size} packages",
		measures: "a cluster reports that one image was replaced while packages are assembled; in the baseline, while none are",
		baseline: ofService, seeds: []seed{ofSize(reportedPods, seedImages), seedPackages}, setup: reportBeside, beside: assembleAll, variants: []variant{{50, 1}}},

	{name: "first page of a population of {size}", measures: "an auditor lists what was deployed in a period",
		baseline: baseline.BytesPath, seeds: auditSeeds, setup: get("/audits/{org}/{history}/population?per_page=25"), variants: []variant{{50_000, 1}}},
	{name: "population of {size} as CSV", measures: "an auditor downloads what was deployed in a period",
		baseline: baseline.BytesPath, seeds: auditSeeds, setup: get("/audits/{org}/{history}/population/csv"), variants: []variant{{50_000, 1}}},
	{name: "population of {size} that others approved as CSV", measures: "the same with who approved it, by what is recorded of each change",
		baseline: baseline.BytesPath, seeds: changeSeeds, setup: get("/audits/{org}/{history}/population/csv"), variants: []variant{{50_000, 1}}},
	{name: "population of {size} that were deployed once as CSV", measures: "the same of artifacts that were deployed only once",
		baseline: baseline.BytesPath, seeds: onceSeeds, setup: get("/audits/{org}/{history}/population/csv"), variants: []variant{{50_000, 1}}},
	{name: "totals of a population of {size} that others approved", measures: "an auditor asks for the figures of a period",
		baseline: baseline.BytesPath, seeds: changeSeeds, setup: get("/audits/{org}/{history}/totals"), variants: []variant{{50_000, 1}}},
	{name: "sample of a population of {size}", measures: "an auditor draws 25 of what was deployed in a period",
		baseline: baseline.BytesPath, seeds: auditSeeds, setup: get("/audits/{org}/{history}/sample?size=25&seed=4711"), variants: []variant{{50_000, 1}}},

	{name: "proof of one of {size} artifacts", measures: "a client asks for the proof that an artifact is in the transparency log",
		baseline: baseline.BytesPath, logged: true, seeds: []seed{seedArtifacts, awaitLogged}, setup: getProofs, variants: []variant{{100_000, 1}}},

	{name: "at rest", measures: "nothing but a small request a second: CPU ms is what the service takes in a second, also during the baseline",
		baseline: ofService, setup: rest, variants: []variant{{0, 1}}},
}
