package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"testing"

	"attestry/evidence/evidencetest"
)

const many = 1 << 30

func TestInstructionsAreNeverUnderestimated(t *testing.T) {
	for _, text := range []string{
		``, `a`, `abc`, `(?i)straße`, `[a-z]`, `\pL`, `.`, `(?s).`, `a*`, `(a*)*`, `(a|b*)*`, `(|a)*`, `a+?`, `a?`, `a|b|cd|`, `(a)(?:b)`, `^a$`, `\bx\B`,
		`x{0}`, `x{1}`, `x{5}`, `x{2,}`, `x{0,7}`, `x{3,9}?`, `(a{1,10}){1,10}`, `(x{1,900}y?){1}n`, `(?:\b){900}`, `(a*){500}`, `(\pL|b){300}c*`, `[^\x00-\x{10FFFF}]`, `(?:a{2}){3}`,
	} {
		parsed, err := syntax.Parse(text, syntax.Perl)
		evidencetest.Must(t, err)
		program, err := syntax.Compile(parsed.Simplify())
		evidencetest.Must(t, err)
		estimated, _ := measure(parsed)
		if got, exact := estimated+2, len(program.Inst); got < exact || got > 2*exact+4 {
			t.Errorf("%s: estimated %d instructions, there are %d", text, got, exact)
		}
	}
}

func TestSizeEstimatesTheMemory(t *testing.T) {
	for _, pattern := range []string{`(x{1,900}y?){1}n%d`, `\A(?:\pL{900}%d)`, `\A(?:(\pL\d){500}%d)`, `^registry.example.com/team/(web|shop)-%d@sha256:`, `\A(?:[a-z0-9]{64}%d)`} {
		set := NewSet(many, many/surplus)
		before := heap()
		for i := range 20 {
			if _, err := set.Compile(fmt.Sprintf(pattern, i)); err != nil {
				t.Fatal(err)
			}
		}
		took := heap() - before
		if set.Size() < took || set.Size() > 5*took {
			t.Errorf("%s: estimated %d bytes, takes up %d", pattern, set.Size(), took)
		}
		runtime.KeepAlive(set)
	}
}

// heap returns the size of the live objects, in bytes.
func heap() int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

func TestSetIsBounded(t *testing.T) {
	set := NewSet(1<<20, 2000)
	var err error
	compiled := 0
	for i := 0; err == nil && i < 100; i++ {
		if _, err = set.Compile(fmt.Sprintf(`(x{1,900}y?){1}n%d`, i)); err == nil {
			compiled++
		}
	}
	if !errors.Is(err, ErrFull) || !set.Full() || compiled == 0 || compiled > 10 {
		t.Errorf("%d were compiled, then %v", compiled, err)
	}
	if _, err := set.Compile("a"); !errors.Is(err, ErrFull) {
		t.Errorf("after one that did not fit: %v", err)
	}
}

func TestEqualExpressionsCountOnce(t *testing.T) {
	set := NewSet(1<<20, 2000)
	first, err := set.Compile(`(x{1,900}y?){1}n`)
	evidencetest.Must(t, err)
	for range 100 {
		if again, err := set.Compile(`(x{1,900}y?){1}n`); err != nil || again != first {
			t.Fatalf("it is compiled again: %v", err)
		}
	}
}

func TestRefusedExpressionsAreNotCompiled(t *testing.T) {
	for _, text := range []string{strings.Repeat(".{1000}", 100), strings.Repeat("(ab)", 200) + "{1000}", "(" + strings.Repeat("[a-y]", 190) + "){1000}"} {
		set := NewSet(1<<20, 2000)
		if allocated := testing.AllocsPerRun(1, func() {
			if _, err := set.Compile(text); err == nil {
				t.Errorf("%.20s is compiled", text)
			}
		}); allocated > 20_000 {
			t.Errorf("%.20s: refusing it takes %v allocations", text, allocated)
		}
	}
}

func TestInstructionsAreCountedWhereTheEstimateIsTooHigh(t *testing.T) {
	const text = `(?:a|b*){200}`
	parsed, err := syntax.Parse(text, syntax.Perl)
	evidencetest.Must(t, err)
	program, err := syntax.Compile(parsed.Simplify())
	evidencetest.Must(t, err)
	if estimated, _ := measure(parsed); estimated <= len(program.Inst) {
		t.Fatalf("the estimate is %d of %d", estimated, len(program.Inst))
	}
	if _, err := NewSet(many, len(program.Inst)).Compile(text); err != nil {
		t.Error(err)
	}
	if _, err := NewSet(many, len(program.Inst)-1).Compile(text); !errors.Is(err, ErrLarge) {
		t.Errorf("one instruction less: %v", err)
	}
}

func TestResultAboutATextIsComputedOnce(t *testing.T) {
	var p Pattern
	computed := 0
	for _, text := range []string{"a", "a", "b", "b", "a"} {
		if got := p.Once(text, func() bool { computed++; return text == "a" }); got != (text == "a") {
			t.Errorf("%s: %t", text, got)
		}
	}
	if computed != 3 {
		t.Errorf("computed %d times", computed)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(`(x{1,900}y?){1}n`)
	f.Add(`(?i)\pL{3,}|[^a-z]*?$`)
	f.Fuzz(func(t *testing.T, text string) {
		compiled, err := NewSet(many, many/surplus).Compile(text)
		if err != nil {
			if _, plain := regexp.Compile(text); plain == nil {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		parsed, _ := syntax.Parse(text, syntax.Perl)
		program, _ := syntax.Compile(parsed.Simplify())
		if estimated, _ := measure(parsed); estimated+2 < len(program.Inst) {
			t.Errorf("%q: estimated %d instructions, there are %d", text, estimated+2, len(program.Inst))
		}
		compiled.MatchString(text)
	})
}
