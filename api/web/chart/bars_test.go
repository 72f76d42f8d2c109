package chart

import (
	"encoding/xml"
	"slices"
	"testing"
	"time"
)

// drawing is what the tests read of a chart.
type drawing struct {
	Rects []struct {
		Title  string  `xml:"title"`
		Y      float64 `xml:"y,attr"`
		Height float64 `xml:"height,attr"`
	} `xml:"rect"`
	Texts []string `xml:"text"`
}

func TestBarsHaveTheirValuesAndDays(t *testing.T) {
	day := time.Unix(1772539200, 0).UTC()
	content, err := Bars([]Bar{{day, 3}, {day.AddDate(0, 0, 7), 0}, {day.AddDate(0, 0, 14), 2.5}})
	if err != nil {
		t.Fatal(err)
	}
	var drawn drawing
	if err := xml.Unmarshal(content, &drawn); err != nil {
		t.Fatalf("%v in %s", err, content)
	}
	if want := []string{"3 Mar", "10 Mar", "17 Mar", "4", "0"}; !slices.Equal(drawn.Texts, want) {
		t.Errorf("the texts are %q, want %q", drawn.Texts, want)
	}
	for i, want := range []struct {
		title  string
		height float64
	}{{"3 Mar: 3", 135}, {"10 Mar: 0", 0}, {"17 Mar: 2.5", 112.5}} {
		if got := drawn.Rects[i+1]; got.Title != want.title || got.Height != want.height || got.Y+got.Height != barsBottom {
			t.Errorf("bar %d is %+v, want %+v", i, got, want)
		}
	}
}

func TestBarsOfLargeAndNoNumbersAreDrawn(t *testing.T) {
	for _, value := range []float64{0, maxNumber} {
		content, err := Bars([]Bar{{time.Unix(0, 0).UTC(), value}})
		if err != nil {
			t.Fatal(err)
		}
		var drawn drawing
		if err := xml.Unmarshal(content, &drawn); err != nil || len(drawn.Rects) != 2 || drawn.Rects[1].Y < barsTop {
			t.Errorf("%v: %+v of %s", err, drawn, content)
		}
	}
}
