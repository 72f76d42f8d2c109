package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"attestry/api/web/chart"
	"attestry/api/web/view"
	"attestry/evidence"
)

const (
	// sparklineSpan is how far back a sparkline reaches, and sparklineInterval how the API calls that.
	sparklineSpan     = 30 * 24 * time.Hour
	sparklineInterval = "@{30.days.ago}..NOW"
	// maxSparkline is how many snapshots a sparkline shows, the newest of them. The API reads 100 of them
	// at a time.
	maxSparkline = 1000
)

// sparkline draws when an environment was compliant.
type sparkline struct {
	environment string
	spans       []historyEntry
	now         float64
}

func (s *Site) showSparkline(p *page) error {
	drawn := sparkline{environment: p.parameter("environment"), now: evidence.Seconds(s.Clock())}
	history := target("/snapshots/%s/%s", p.org(), drawn.environment) +
		"?per_page=" + strconv.Itoa(maxSparkline) + "&interval=" + url.QueryEscape(sparklineInterval)
	if err := p.get(history, &drawn.spans); err != nil {
		return err
	}
	spans := make([]chart.Span, 0, len(drawn.spans))
	for _, one := range drawn.spans {
		to := one.To
		if to == 0 {
			to = drawn.now
		}
		spans = append(spans, chart.Span{From: one.From, To: to, Verdict: one.verdict()})
	}
	return p.sendDrawing(chart.Sparkline(drawn.title(), drawn.now-sparklineSpan.Seconds(), drawn.now, spans))
}

func (p *page) sendDrawing(content []byte) error {
	p.c.Set(fiber.HeaderContentType, "image/svg+xml")
	p.c.Set(fiber.HeaderContentSecurityPolicy, policy)
	p.c.Set(fiber.HeaderCacheControl, "private, max-age=60")
	return p.c.Status(http.StatusOK).Send(content)
}

// title says the same in words.
func (s *sparkline) title() string {
	if len(s.spans) == 0 {
		return "No snapshots of " + s.environment + " in the last 30 days"
	}
	count := map[chart.Verdict]int{}
	for i := range s.spans {
		count[s.spans[i].verdict()]++
	}
	of := view.Plural(len(s.spans), "snapshot")
	if len(s.spans) == maxSparkline {
		of = fmt.Sprintf("the newest %d snapshots", maxSparkline)
	}
	text := fmt.Sprintf("%s in the last 30 days: %s, %d not compliant", s.environment, of, count[chart.NotCompliant])
	if n := count[chart.NotJudged]; n > 0 {
		text += fmt.Sprintf(", %d not judged", n)
	}
	return text
}

func (h *historyEntry) verdict() chart.Verdict {
	switch {
	case h.State == nil:
		return chart.NotJudged
	case *h.State:
		return chart.Compliant
	}
	return chart.NotCompliant
}
