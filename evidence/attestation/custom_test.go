package attestation

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"attestry/evidence"
)

func judge(t *testing.T, payload string, rules ...string) Verdict {
	t.Helper()
	compiled, err := Compile(Definition{Rules: rules})
	if err != nil {
		t.Fatalf("compile %q: %v", rules, err)
	}
	verdict, err := compiled.Judge(t.Context(), json.RawMessage(payload))
	if err != nil {
		t.Fatalf("judge %q: %v", rules, err)
	}
	return verdict
}

func TestRulesMeanWhatTheyMeanInJQ(t *testing.T) {
	const payload = `{"coverage": 80.0, "big": 12345678901234567890, "name": "Build-7", "tags": ["a", "b"], "none": null,
		"results": [{"id": 1, "ok": true, "n": 3}, {"id": 2, "ok": true, "n": 5}], "map": {"x": {"y": [1, 2]}}, "text": "{\"a\": [1]}"}`
	for _, rule := range []string{
		`.coverage >= 80`, `.coverage == 80`, `.coverage < 80.5 and .coverage > 79`, `.coverage != 81`,
		`.big == 12345678901234567890`, `.big + 1 == 12345678901234567891`, `.big > 12345678901234567889`,
		`all(.results[]; .ok)`, `any(.results[]; .n == 5)`, `[.results[].n] | add == 8`, `.results | map(.n) | max == 5`,
		`.results | length == 2`, `.results | all(.n > 2)`, `.results | any(.n > 4)`, `[.results[] | select(.ok)] | length == 2`,
		`.name | test("^build-\\d+$"; "i")`, `.name | startswith("Build")`, `.name | ascii_downcase == "build-7"`, `.name | sub("B"; "b") == "build-7"`,
		`.name | gsub("[0-9]"; "x") == "Build-x"`, `[.name | scan("[a-z]")] | length == 4`, `.name | capture("(?<n>\\d)").n == "7"`, `.name | split("-") == ["Build", "7"]`,
		`.tags == ["a", "b"]`, `.tags - ["a"] == ["b"]`, `.tags + ["c"] | length == 3`, `.tags | index("b") == 1`, `.tags | contains(["a"])`, `.tags | join(",") == "a,b"`,
		`.name | IN("Build-7", "Build-8")`, `.none == null`, `.missing == null`, `.missing // 1 == 1`, `(.none // "d") == "d"`,
		`.map.x.y[1] == 2`, `.map["x"].y | sort | reverse == [2, 1]`, `.map | to_entries[0].key == "x"`, `.map | has("x")`, `.map | keys == ["x"]`,
		`"\(.name)!" == "Build-7!"`, `@json "n: \(.tags)" == "n: [\"a\",\"b\"]"`, `(.tags | @csv) == "\"a\",\"b\""`, `(.name | @base64) == "QnVpbGQtNw=="`,
		`.text | fromjson | .a[0] == 1`, `.tags | tojson == "[\"a\",\"b\"]"`, `"12" | tonumber == 12`,
		`.coverage += 1 | .coverage == 81`, `.tags[0] = "z" | .tags == ["z", "b"]`, `.tags |= map(. + "!") | .tags == ["a!", "b!"]`, `.results |= map(select(.n > 3)) | .results | length == 1`,
		`.coverage *= 2 | .coverage -= 60 | .coverage /= 10 | .coverage %= 7 | .coverage == 3`, `.missing //= 5 | .missing == 5`, `(.tags[] |= empty) | .tags | length < 2`,
		`del(.tags) | has("tags") | not`, `del(.results[] | select(.n == 3)) | .results | length == 1`, `with_entries(select(.key == "name")) | keys == ["name"]`,
		`[paths] | length > 10`, `[..] | length > 10`, `getpath(["map", "x", "y", 0]) == 1`, `[path(.map.x.y[])] == [["map", "x", "y", 0], ["map", "x", "y", 1]]`,
		`reduce .results[] as $r (0; . + $r.n) == 8`, `[foreach .results[] as {n: $n} (0; . + $n)] == [3, 8]`, `.results | group_by(.ok) | length == 1`, `.results | sort_by(.n) | .[0].id == 1`,
		`.results as [{id: $a}, {id: $b}] | $a + $b == 3`, `def twice(f): f | f; 1 | twice(. + 1) == 3`, `def f: 1; f + 1 == 2`, `[limit(2; repeat(1))] == [1, 1]`,
		`[(1, 2) + (10, 20)] == [11, 12, 21, 22]`, `[(1, 2) * (10, 20)] == [10, 20, 20, 40]`, `[1, 2, 3] | .[1:] == [2, 3]`, `.name[0:5] == "Build"`, `.tags[-1:] == ["b"]`, `.a?.b? == null`,
		`try error("x") catch . == "x"`, `[.[]?] | length == 8`, `if .coverage >= 80 then true else false end`, `[.tags[] as $t | $t] == .tags`, `. as $d | "name" as $k | $d[$k] == "Build-7"`,
		`[.results[] | .id] | unique == [1, 2]`, `{a: 1} * {b: {c: 2}} == {a: 1, b: {c: 2}}`, `"ab" * 2 == "abab"`, `6 / 2 == 3`, `-(.coverage) == -80`, `[1, [2]] | flatten == [1, 2]`,
		`[[1, 2], [3]] | transpose == [[1, 3], [2, null]]`, `"2024-01-02T03:04:05Z" | fromdate == 1704164645`, `0 | todate == "1970-01-01T00:00:00Z"`, `[.tags[] | ascii_upcase] == ["A", "B"]`,
		`walk(if type == "number" then 0 else . end) | .coverage == 0`, `map_values(1) | .name == 1`, `[splits("a"; null)?] | length >= 0`, `first(.tags[]) == "a"`, `label $f | (true, break $f)`,
		`$ENV == {}`, `env == {}`, `# only a remark
		true`,
	} {
		if verdict := judge(t, payload, rule); !verdict.Compliant {
			t.Errorf("%s: %v", rule, verdict.Reasons)
		}
	}
}

func TestWhatGivesNoTrueIsNotCompliant(t *testing.T) {
	for rule, reason := range map[string]string{
		`.coverage >= 80`: "is not true",
		`false`:           "is not true", `null`: "gives no boolean", `1`: "gives no boolean", `"true"`: "gives no boolean", `empty`: "gives nothing",
		`true, false`: "is not true", `error`: "fails", `error(null)`: "fails", `halt`: "fails", `halt_error`: "fails", `"secret" | error`: "fails",
		`true, halt`: "fails", `.a.b.c.d`: "gives no boolean", `.coverage.x`: "fails", `1 / 0`: "fails", `limit(-1; 1)`: "fails", `[1114112, -1, "x"] | implode`: "fails",
		`"%" | @base64d`: "fails", `{} | fromjson`: "fails", `"x" | strptime("%Y")`: "fails", `1e400 | todate`: "fails", `test("(")`: "fails", `"a" | test("(")`: "fails", `infinite | tojson | fromjson | . > 1e400`: "is not true",
	} {
		verdict := judge(t, `{"coverage": 79.9}`, rule)
		if verdict.Compliant || len(verdict.Reasons) != 1 || verdict.Reasons[0] != "rule 1 "+reason {
			t.Errorf("%s: got %+v, want %s", rule, verdict, reason)
		}
	}
}

func TestEveryRuleMustHold(t *testing.T) {
	if verdict := judge(t, `{"a": 1}`, `.a == 1`, `.a < 2`); !verdict.Compliant || verdict.Reasons != nil {
		t.Errorf("got %+v", verdict)
	}
	verdict := judge(t, `{"a": 1}`, `.a == 1`, `.a == 2`, `.b`)
	if verdict.Compliant || len(verdict.Reasons) != 2 || verdict.Reasons[1] != "rule 3 gives no boolean" {
		t.Errorf("got %+v", verdict)
	}
}

func TestLargePayloadsAreWithinTheBudget(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, `,{"id":%d,"ok":true,"level":"low"}`, i)
	}
	payload := `{"results":[` + b.String()[1:] + `]}`
	for _, rule := range []string{
		`all(.results[]; .ok == true and .level != "high")`, `[.results[] | select(.level == "high")] | length == 0`, `.results | map(.id) | unique | length == 20000`,
		`.results | group_by(.level) | length == 1`, `any(.results[]; .level | test("^low$"))`, `reduce .results[] as $r (0; . + $r.id) > 0`, `.results | sort_by(.id) | .[0].id == 0`,
	} {
		if verdict := judge(t, payload, rule); !verdict.Compliant {
			t.Errorf("%s: %v", rule, verdict.Reasons)
		}
	}
}

func TestTypeWithoutSchemaAndRulesIsCompliant(t *testing.T) {
	if !judge(t, `[1, 2]`).Compliant {
		t.Error("want compliant")
	}
}

// hostile are rules that would take the process, or all its time, with them.
var hostile = []string{
	`[range(1e12)] | length == 0`, `[limit(1e9; repeat(1))] | length == 1`, `("x" * 1e9) | length == 1`, `("x" * 2e6 | . + . | . + . | . + .) == ""`,
	`(reduce range(100) as $i ("x"; . + .)) == ""`, `def f: f; f`, `until(false; .)`, `def f: [f]; f`, `def f: f, f; f`, `def f: f | f; f`, `[recurse(. + 1; true)] | length`, `last(repeat(1))`,
	`0 | while(true; . + 1)`, `range(infinite)`, `[range(1e7)] | map([.]) | length`, `reduce range(1e9) as $i ([]; . + [$i])`,
	// Values that unfold beyond all bounds, before each function that walks them.
	`(reduce range(60) as $i (1; [., .])) | tojson | length == 1`, `(reduce range(60) as $i (1; [., .])) as $x | $x == $x`, `reduce range(60) as $i (1; [., .]) | flatten | length == 1`,
	`reduce range(60) as $i (1; [., .]) | sort`, `reduce range(60) as $i (1; [., .]) | [.] | unique`, `reduce range(60) as $i (1; {a: ., b: .}) | tostring`, `reduce range(60) as $i (1; {a: ., b: .}) | . * .`,
	`reduce range(60) as $i (1; [., .]) | "\(.)"`, `reduce range(60) as $i (1; [., .]) | @json`, `reduce range(60) as $i (1; [., .]) | @text "\(.)"`, `reduce range(60) as $i (1; [., .]) | [.] | min`,
	`reduce range(60) as $i (1; [., .]) | [.] | sort_by(.)`, `reduce range(60) as $i (1; [., .]) as $x | [1] | group_by($x)`, `reduce range(60) as $i (1; [., .]) | contains(.)`, `reduce range(60) as $i (1; [., .]) | . as $x | inside($x)`,
	`reduce range(60) as $i (1; [., .]) | del(.[0])`, `reduce range(60) as $i (1; [., .]) as $x | [1, 2] | map_values(if . == 1 then $x else empty end)`, `reduce range(60) as $i (1; [., .]) | walk(.)`, `reduce range(60) as $i (1; [., .]) | [..] | length`,
	`reduce range(60) as $i (1; [., .]) as $x | [1, 2] | (.[] |= if . == 1 then $x else empty end)`, `reduce range(60) as $i (1; [., .]) | [.] | index(.)`, `reduce range(60) as $i (1; [., .]) | IN(.)`, `reduce range(60) as $i (1; [., .]) | bsearch(.)`,
	`reduce range(60) as $i (1; [., .]) | [.] - [.]`, `reduce range(60) as $i (1; [., .]) | INDEX(.)`, `reduce range(60) as $i (1; [., .]) | format("json")`, `reduce range(60) as $i (1; [., .]) | error`, `reduce range(60) as $i (1; [., .]) | try error catch .`,
	`reduce range(60) as $i (1; [., .]) | .[0] += .[1]`, `reduce range(60) as $i (1; {a: .}) | .a *= .a`, `reduce range(60) as $i ([1]; [.[], .[]]) | length`, `reduce range(30) as $i ("x"; . + .) | explode`, `[range(1e6) | "x" * 1000] | add`, `[range(1e6)] | join("x" * 1000)`,
	// Deep ones.
	`reduce range(1000000) as $i (1; [.]) | tojson | length == 1`, `reduce range(1000000) as $i (1; [.]) | . == .`, `reduce range(1000000) as $i (1; [.]) | flatten`, `reduce range(1000000) as $i (1; {a: .}) | walk(.)`, `("[" * 1000000) | fromjson`, `[reduce range(1000000) as $i (1; [.])] | sort`,
	// Much out of little.
	`[][536870911] = 1 | length`, `[] | setpath([536870911]; 1) | length`, `null | pick(.[536870911])`, `[] | .[100000000] |= 1`, `fromstream([[536870911], 1], [[536870911]])`, `[range(100000) | []] | .[0] = [range(100000)] | transpose`, `[range(3000) | range(3000)] | combinations`,
	`[0] * 100000`, `[range(300000) | 0] | indices([range(150000) | 0])`, `[range(300000) | 0] as $a | $a[[range(150000) | 0]]`, `[range(300000) | 0] | . - .`, `[range(300000) | 0] | contains([range(150000) | 1])`, `"x" * 1e6 | indices("x" * 5e5)`, `[range(300000) | 0] | getpath([[0, 0]])`,
	`(10 | until(false; . * .))`, `12345678901234567890 | until(false; . * .)`, `("1" * 2000000) | tonumber`, `("1" * 2000000) | fromjson`, `("[" + "1" * 2000000 + "]" | fromjson | .[0]) as $n | [1] | .[$n]`, `0 | strftime("%1024d" * 300000)`,
	// Regular expressions, and going through text.
	`("a" * 1000000) | test("(a*)*b")`, `("a" * 1000000) | test("(a|a)*b" * 100)`, `("a" * 1000000) | [match("a"; "g")] | length`, `("a" * 1000000) | gsub("a"; "bb")`, `("a" * 1000000) | [scan("a")] | length`, `("a" * 1000000) | [splits("a")] | length`,
	`("a" * 500000) | test("(((a{1,10}){1,10}){1,10})b")`, `test("a" * 10000)`, `"a" | test("(" * 2000 + ")" * 2000)`, `("a" * 2000000) as $s | [range(1000000) | $s[.:. + 1]] | length`, `("é" * 1000000) as $s | last(range(1000000) | $s | length)`, `("a" * 2000000) as $s | last(range(1000000) | $s | explode)`,
	`[range(500000)] as $a | last(range(1000000) | first($a[]))`, `[range(500000)] as $a | last(range(1000000) | $a | any)`, `("a" * 2000000) as $s | last(range(1000000) | $s | ascii_upcase)`, `("a" * 1000000) | @uri | @uri | @uri | @uri | @uri`, `("<" * 1000000) | @html | @html | @html | @html`,
	`[range(100000)] | map(tostring) | INDEX(.) | to_entries | from_entries | with_entries(.) | length`, `[range(100000)] | fromstream(tostream) | length`, `[range(100000)] | pick(.[range(100000)]) | length`, `[1, 2] | combinations(100)`, `[combinations(1e9)]`, `[range(500000)] | def f: .[] as $x | f; f`, `[range(100000)] | def f: (.[] | 1) as $x | [$x] | f; f`,
}

func TestHostileRulesAreStopped(t *testing.T) {
	peak := watchHeap(t)
	for i, source := range hostile {
		if underRace && i%10 != 0 {
			continue // it looks for races, and one rule is like the other there
		}
		compiled, err := Compile(Definition{Rules: []string{source}})
		if err != nil {
			if evidence.CodeOf(err) != evidence.Invalid {
				t.Errorf("%s: %v", source, err)
			}
			continue
		}
		before := time.Now()
		verdict, err := compiled.Judge(t.Context(), json.RawMessage(`{"a": 1}`))
		took := time.Since(before)
		grown := peak.Swap(0)
		t.Logf("%6d ms %4d MiB %v %v: %s", took.Milliseconds(), grown>>20, verdict, err, source)
		if grown > 1<<30 || took > 20*time.Second {
			t.Errorf("%s: %v, %d MiB", source, took, grown>>20)
		}
		if err == nil && verdict.Compliant || err != nil && evidence.CodeOf(err) != evidence.Unavailable {
			t.Errorf("%s: got %+v %v", source, verdict, err)
		}
	}
}

func watchHeap(t *testing.T) *atomic.Uint64 {
	var peak atomic.Uint64
	before := heapSize()
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				if now := heapSize(); now > before {
					peak.Store(max(peak.Load(), now-before))
				}
			}
		}
	})
	t.Cleanup(func() { close(stop); watching.Wait() })
	return &peak
}

func TestDefinitionThatCannotBeCompiledNamesItsParts(t *testing.T) {
	_, err := Compile(Definition{
		Rules:   []string{"true", ".a |", strings.Repeat("1+", maxRule) + "1", "input", "debug", "$nothing", "def _f: 1; _f", "_attestry_ok", `include "x"; .`},
		Summary: []evidence.SummaryItem{{Name: "a", Expression: ".a"}, {Name: "b", Expression: ")"}},
		Schema:  json.RawMessage(`{"type":1}`),
	})
	for i := 1; i < 9; i++ {
		if text := finding(t, err, fmt.Sprintf("evaluator.rules[%d]", i)); !strings.HasPrefix(text, "Input should be a valid jq expression: ") || len(text) > 600 {
			t.Errorf("rule %d: %s", i, text)
		}
	}
	finding(t, err, "summary[1].expression")
	finding(t, err, "type_schema")
	_, err = Compile(Definition{Rules: make([]string, maxRules+1), Summary: make([]evidence.SummaryItem, maxRules+1)})
	finding(t, err, "evaluator.rules")
	finding(t, err, "summary")
}

func TestPreludeCompilesWithEveryRule(t *testing.T) {
	if _, err := compileRule("."); err != nil {
		t.Fatal(err)
	}
}

func TestOneDefinitionJudgesManyAtOnce(t *testing.T) {
	compiled, err := Compile(Definition{Schema: json.RawMessage(`{"required":["n"]}`), Rules: []string{`.n > 10`, `.s | test("x" + (.|tostring))`}})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			verdict, err := compiled.Judge(t.Context(), json.RawMessage(fmt.Sprintf(`{"n":%d,"s":"a"}`, i)))
			if reasons := len(verdict.Reasons); err != nil || verdict.Compliant || (reasons == 2) != (i <= 10) {
				t.Errorf("%d: %+v %v", i, verdict, err)
			}
		})
	}
	group.Wait()
}

func TestJudgingEndsWithItsContext(t *testing.T) {
	compiled, err := Compile(Definition{Rules: []string{`def f: f; f`}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := compiled.Judge(ctx, json.RawMessage(`{}`)); evidence.CodeOf(err) != evidence.Unavailable {
		t.Errorf("got %v", err)
	}
	// What was under way has given its place back.
	if verdict, err := compiled.Judge(t.Context(), json.RawMessage(`{}`)); err != nil || verdict.Compliant {
		t.Errorf("got %+v %v", verdict, err)
	}
}

func TestRegularExpressionsOfPayloadsAreNotKeptForGood(t *testing.T) {
	compiled, err := Compile(Definition{Rules: []string{`.re as $re | .text | test($re)`}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		verdict, err := compiled.Judge(t.Context(), json.RawMessage(fmt.Sprintf(`{"text":"aaab%d","re":"(a{1,900})b%d$"}`, i, i)))
		if err != nil || !verdict.Compliant {
			t.Fatalf("%d: %+v %v", i, verdict, err)
		}
		if kept := compiled.rules[0].kept; kept > maxKept+10_000 {
			t.Fatalf("%d states are kept", kept)
		}
	}
}

func TestMeterStopsWhenTheHeapGrows(t *testing.T) {
	m := newMeter(t.Context())
	m.stopped.Store(true)
	if m.Done() == nil || m.left <= 0 {
		t.Error("a stopped meter goes on")
	}
	if result := (&Compiled{}).settle(m, outcome{verdict: Verdict{Compliant: true}}); evidence.CodeOf(result.err) != evidence.Unavailable {
		t.Errorf("got %+v", result)
	}
}

func FuzzRulesNeverHarm(f *testing.F) {
	for _, seed := range hostile[:len(hostile)/10] {
		f.Add(seed, `{"a":[1,"x",null]}`)
	}
	f.Add(`.a[] |= . + 1`, `{"a":[1]}`)
	f.Fuzz(func(t *testing.T, source, payload string) {
		compiled, err := Compile(Definition{Rules: []string{source}})
		if err == nil {
			_, err = compiled.Judge(t.Context(), json.RawMessage(payload))
		}
		if code := evidence.CodeOf(err); err != nil && code != evidence.Invalid && code != evidence.Unavailable {
			t.Errorf("%q on %q: %v", source, payload, err)
		}
	})
}

func FuzzSchemasNeverHarm(f *testing.F) {
	for _, seed := range []string{doubling(20, "anyOf"), `{"$ref":"#"}`, `{"type":"object","properties":{"a":{"enum":[1]}}}`, `{"$dynamicRef":"#x"}`, `{"pattern":"(a|b)*"}`} {
		f.Add(seed, `{"a":[1,"x",null]}`)
	}
	f.Fuzz(func(t *testing.T, source, payload string) {
		compiled, err := Compile(Definition{Schema: json.RawMessage(source)})
		if err == nil {
			_, err = compiled.Judge(t.Context(), json.RawMessage(payload))
		}
		if code := evidence.CodeOf(err); err != nil && code != evidence.Invalid && code != evidence.Unavailable {
			t.Errorf("%q on %q: %v", source, payload, err)
		}
	})
}
