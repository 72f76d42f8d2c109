package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"attestry/scripts/bench/benchtest/measure"
)

const (
	// periods is into how many parts the duration is divided for the results over time.
	periods = 20
	mebi    = 1 << 20
)

// summary summarizes some of the requests.
type summary struct {
	requests, errors int
	p50, p99         float64 // in milliseconds, of the requests that succeeded
}

func (l *load) summarize(of func(*measured) bool) (s summary) {
	var took []time.Duration
	for i := range l.requests {
		switch m := &l.requests[i]; {
		case !of(m):
		case m.err != "":
			s.errors++
		default:
			took = append(took, m.took)
		}
	}
	slices.Sort(took)
	s.requests = s.errors + len(took)
	s.p50, s.p99 = measure.Percentile(took, 50).Seconds()*1000, measure.Percentile(took, 99).Seconds()*1000
	return s
}

// print writes the results as tables.
func (l *load) print(out io.Writer) {
	names, errors := []string{}, map[string]int{}
	for i := range l.requests {
		m := &l.requests[i]
		if !slices.Contains(names, m.name) {
			names = append(names, m.name)
		}
		if m.err != "" {
			errors[m.err]++
		}
	}
	fmt.Fprint(out, "| request | number | per second | p50, ms | p99, ms | errors |\n|---|---|---|---|---|---|\n")
	row := func(name string, of func(*measured) bool) {
		s := l.summarize(of)
		fmt.Fprintf(out, "| %s | %d | %.1f | %.1f | %.1f | %d |\n", name, s.requests, float64(s.requests)/l.duration.Seconds(), s.p50, s.p99, s.errors)
	}
	for _, name := range names {
		row(name, func(m *measured) bool { return m.name == name })
	}
	row("all", func(*measured) bool { return true })
	fmt.Fprint(out, "\n| until, s | requests per second | p50, ms | p99, ms | errors | memory, MiB | disk, MiB |\n|---|---|---|---|---|---|---|\n")
	for i, p := range l.course() {
		fmt.Fprintf(out, "| %.0f | %.1f | %.1f | %.1f | %d | %.0f | %.0f |\n",
			l.duration.Seconds()*float64(i+1)/periods, p.rate, p.p50, p.p99, p.errors, p.memory/mebi, p.disk/mebi)
	}
	for _, text := range slices.Sorted(maps.Keys(errors)) {
		fmt.Fprintf(out, "\n%d times %s\n", errors[text], text)
	}
}

// period has the results of a part of the duration.
type period struct {
	summary
	rate, memory, disk float64
}

func (l *load) course() []period {
	parts, length := make([]period, periods), l.duration/periods
	for i := range parts {
		parts[i].summary = l.summarize(func(m *measured) bool { return int(m.at/length) == i })
		parts[i].rate = float64(parts[i].requests) / length.Seconds()
		for _, s := range l.sizes {
			if int(s.at/length) <= i {
				parts[i].memory, parts[i].disk = s.memory, s.disk
			}
		}
	}
	return parts
}

// draw returns charts of the periods as SVG, one below the other.
func (l *load) draw() []byte {
	const width, height = 640, 120
	course := l.course()
	charts := []struct {
		title string
		value func(*period) float64
	}{
		{"requests per second", func(p *period) float64 { return p.rate }}, {"p50, ms", func(p *period) float64 { return p.p50 }},
		{"p99, ms", func(p *period) float64 { return p.p99 }}, {"memory, MiB", func(p *period) float64 { return p.memory / mebi }},
		{"disk, MiB", func(p *period) float64 { return p.disk / mebi }},
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height*len(charts))
	for n, chart := range charts {
		most := 1e-9
		for i := range course {
			most = max(most, chart.value(&course[i]))
		}
		bottom := float64((n+1)*height - 10)
		fmt.Fprintf(&out, `<text x="4" y="%d">%s, at most %.1f</text><polyline fill="none" stroke="#0b66c3" stroke-width="2" points="`, n*height+14, chart.title, most)
		for i := range course {
			fmt.Fprintf(&out, "%d,%.1f ", i*width/(periods-1), bottom-chart.value(&course[i])/most*(height-36))
		}
		fmt.Fprint(&out, "\"/>\n")
	}
	fmt.Fprint(&out, "</svg>\n")
	return out.Bytes()
}
