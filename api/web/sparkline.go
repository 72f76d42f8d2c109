package web

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"attestry/evidence"
)

const (
	// sparklineSpan is how far back a sparkline reaches, and sparklineInterval how the API calls that.
	sparklineSpan     = 30 * 24 * time.Hour
	sparklineInterval = "@{30.days.ago}..NOW"
	// maxSparkline is how many snapshots a sparkline shows, the newest of them.
	maxSparkline = 200

	sparklineWidth  = 240.0
	sparklineHeight = 24.0
	// compliantHeight is how high a time of compliance is. Others have the whole height, so that
	// nobody has to tell colors apart.
	compliantHeight = 8.0
	// thinnest is how wide even the shortest time is, so that it can be seen.
	thinnest = 1.0
)

// sparkline draws in which times an environment was compliant.
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
	return p.sendDrawing(drawn.svg(), policy)
}

// sendDrawing sends an SVG. Allowed is what browsers may do with it when it is opened as a page.
func (p *page) sendDrawing(content []byte, allowed string) error {
	p.c.Set(fiber.HeaderContentType, "image/svg+xml")
	p.c.Set(fiber.HeaderContentSecurityPolicy, allowed)
	p.c.Set(fiber.HeaderCacheControl, "private, max-age=60")
	return p.c.Status(http.StatusOK).Send(content)
}

// svg is the drawing: a line for the time, and a rectangle for each snapshot.
func (s *sparkline) svg() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" role="img"><title>`,
		sparklineWidth, sparklineHeight, sparklineWidth, sparklineHeight)
	_ = xml.EscapeText(&b, []byte(s.title())) // a strings.Builder has no errors
	fmt.Fprintf(&b, `</title><rect x="0" y="%g" width="%g" height="1" fill="#8a9099"/>`, sparklineHeight-1, sparklineWidth)
	for i := range s.spans {
		s.draw(&b, &s.spans[i])
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// title says the same in words.
func (s *sparkline) title() string {
	if len(s.spans) == 0 {
		return "No snapshots of " + s.environment + " in the last 30 days"
	}
	failing := 0
	for _, span := range s.spans {
		if !span.Compliant {
			failing++
		}
	}
	return fmt.Sprintf("%s in the last 30 days: %s, %d not compliant", s.environment, plural(len(s.spans), "snapshot"), failing)
}

func (s *sparkline) draw(b *strings.Builder, span *historyEntry) {
	begin := s.now - sparklineSpan.Seconds()
	end := span.To
	if end == 0 {
		end = s.now
	}
	left := sparklineWidth * max(0, span.From-begin) / sparklineSpan.Seconds()
	right := sparklineWidth * max(0, end-begin) / sparklineSpan.Seconds()
	left = min(left, sparklineWidth-thinnest)
	width := min(max(right-left, thinnest), sparklineWidth-left)
	height, color := compliantHeight, "#2e9e5b"
	if !span.Compliant {
		height, color = sparklineHeight, "#d0453a"
	}
	fmt.Fprintf(b, `<rect x="%.2f" y="%g" width="%.2f" height="%g" fill="%s"/>`, left, sparklineHeight-height, width, height, color)
}
