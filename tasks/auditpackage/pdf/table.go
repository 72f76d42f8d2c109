package pdf

// column is a column of a table. The widths of all add up to bodyWidth.
type column struct {
	title string
	width float64
}

type cell []paragraph

type row struct {
	cells []cell
	// group means that the row has a single cell over the whole width, the title of the next rows. It is repeated on
	// each page of these.
	group bool
}

func groupRow(paragraphs ...paragraph) row { return row{cells: []cell{paragraphs}, group: true} }

const (
	padX, padY = 1.5, 1.3
	// maxGroup is the height up to which the row of a group is repeated.
	maxGroup = 30
	// leastPart is the room for the beginning of a row that is longer than a page.
	leastPart = 40
)

// table is a table that is being placed. No row is split unless it is longer than a page.
type table struct {
	*layout
	columns []column
	titles  *measuredRow
	group   *measuredRow // that is repeated, or nil
}

type measuredRow struct {
	lines  [][]textLine // by cell
	height float64
	group  bool
	shaded bool
}

// table places a table with the titles of its columns, which each page repeats.
func (l *layout) table(columns []column, rows []row) {
	if len(rows) == 0 {
		return
	}
	t := table{layout: l, columns: columns}
	t.titles = t.measureTitles()
	next := t.measure(&rows[0])
	for i := range rows {
		current := next
		least := current.height
		if i+1 < len(rows) {
			next = t.measure(&rows[i+1])
		}
		if current.group {
			least += next.height
		}
		t.placeRow(current, least, i == 0)
	}
	l.y += 3
}

func (t *table) measure(r *row) *measuredRow {
	measured := &measuredRow{group: r.group, shaded: r.group}
	for i, cell := range r.cells {
		width := bodyWidth
		if !r.group {
			width = t.columns[i].width
		}
		broken := lines(cell, width-2*padX)
		measured.lines = append(measured.lines, broken)
		measured.height = max(measured.height, heightOf(broken)+2*padY)
	}
	return measured
}

// measureTitles makes the row of the titles of the columns. It has no height if there are none.
func (t *table) measureTitles() *measuredRow {
	var titles row
	for _, one := range t.columns {
		if one.title == "" {
			return new(measuredRow)
		}
		titles.cells = append(titles.cells, cell{{text: one.title, style: columnTitle}})
	}
	measured := t.measure(&titles)
	measured.shaded = true
	return measured
}

// placeRow places a row. least is its height, with that of the next row if both must be on the same page. If no page
// has that much room, the row begins where it is.
func (t *table) placeRow(r *measuredRow, least float64, first bool) {
	if r.group {
		t.group = nil // that of the rows before
	}
	if least > bottom-top-t.repeated() {
		least = min(leastPart, least)
	}
	switch {
	case first:
		t.need(t.titles.height + least)
		t.draw(t.titles)
	case t.y+least > bottom:
		t.turn()
	}
	if t.y+r.height > bottom {
		t.drawParts(r)
	} else {
		t.draw(r)
	}
	if r.group && r.height <= maxGroup {
		t.group = r
	}
}

// repeated is the height of what each page repeats.
func (t *table) repeated() float64 {
	if t.group == nil {
		return t.titles.height
	}
	return t.titles.height + t.group.height
}

// turn continues the table on a new page.
func (t *table) turn() {
	t.newSheet()
	t.draw(t.titles)
	if t.group != nil {
		t.draw(t.group)
	}
}

func (t *table) draw(r *measuredRow) {
	sheet := t.sheet()
	if r.shaded {
		sheet.boxes = append(sheet.boxes, box{left, t.y, bodyWidth, r.height, shade})
	}
	end, x := t.y+r.height, left
	for i, lines := range r.lines {
		start := t.y
		t.y += padY
		t.place(x+padX, lines)
		t.y = start
		if !r.group {
			x += t.columns[i].width
		}
	}
	t.y = end
	sheet.boxes = append(sheet.boxes, box{left, t.y - ruleWidth, bodyWidth, ruleWidth, rule})
}

// drawParts places a row that is longer than a page on several pages.
func (t *table) drawParts(r *measuredRow) {
	for more := true; more; {
		var part *measuredRow
		part, more = r.take(bottom - t.y)
		t.draw(part)
		if more {
			t.turn()
		}
	}
}

// take takes the beginning of the row that fits into a height. more means that there is a rest.
func (r *measuredRow) take(height float64) (part *measuredRow, more bool) {
	part = &measuredRow{group: r.group, shaded: r.shaded}
	for i, lines := range r.lines {
		fit, used := fitting(lines, height-2*padY)
		part.lines = append(part.lines, lines[:fit])
		part.height = max(part.height, used+2*padY)
		r.lines[i] = lines[fit:]
		more = more || fit < len(lines)
	}
	return part, more
}

// fitting is how many lines fit into a height, at least one, and how high these are.
func fitting(lines []textLine, height float64) (fit int, used float64) {
	for fit < len(lines) && (fit == 0 || used+lines[fit].height() <= height) {
		used += lines[fit].height()
		fit++
	}
	return fit, used
}
