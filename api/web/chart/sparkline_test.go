package chart

import (
	"strings"
	"testing"
)

func TestWorstVerdictOfAColumnIsDrawn(t *testing.T) {
	drawn := string(Sparkline("t", 0, sparklineColumns, []Span{
		{From: 10.2, To: 10.3, Verdict: NotCompliant}, {From: 10, To: 12, Verdict: Compliant}, {From: 11, To: 11.5, Verdict: NotJudged},
	}))
	for _, want := range []string{
		`<rect x="10" y="0" width="1" height="24" fill="#d0453a"/>`, `<rect x="11" y="21" width="1" height="3" fill="#8a9099"/>`,
	} {
		if !strings.Contains(drawn, want) {
			t.Errorf("%s is not in %s", want, drawn)
		}
	}
}

func TestSpansOutsideAreDrawnAtTheEdge(t *testing.T) {
	drawn := string(Sparkline("t", 0, 1, []Span{{From: -9, To: -8, Verdict: Compliant}, {From: 2, To: 2, Verdict: NotCompliant}}))
	for _, want := range []string{`<rect x="0" y="16" width="1"`, `<rect x="239" y="0" width="1"`} {
		if !strings.Contains(drawn, want) {
			t.Errorf("%s is not in %s", want, drawn)
		}
	}
}

func TestSparklinesStaySmall(t *testing.T) {
	spans := make([]Span, 5000)
	for i := range spans {
		spans[i] = Span{From: float64(i), To: float64(i + 1), Verdict: Compliant + Verdict(i%25/24)*2}
	}
	if drawn := Sparkline("t", 0, 5000, spans); len(drawn) > 24<<10 {
		t.Errorf("has %d bytes", len(drawn))
	}
}
