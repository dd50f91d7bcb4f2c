package chart

import (
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	slant      = math.Pi / 4        // of names that have no room side by side
	nameMost   = 140 * vg.Length(1) // the width of such a name
	nameRoom   = 18 * vg.Length(1)  // width of a name on the axis
	legendMost = imageWidth / 4
	axisRoom   = 45 * vg.Length(1) // about the width of an axis
)

// layOut finds room for the words around the data: what is too long for its
// place is broken or shortened, and what would run into its neighbour is turned
// or left out. It gives the part of the canvas for the plot and the one for the
// legend, which stands beside the data and so never on it.
func (c chart) layOut(p *plot.Plot, all draw.Canvas) (body, side draw.Canvas) {
	body, side = all, draw.Crop(all, all.Size().X, 0, 0, 0)
	if width := c.legendWidth(p); width > 0 {
		body, side = draw.Crop(all, 0, -width, 0, 0), draw.Crop(all, all.Size().X-width+vg.Points(8), 0, 0, 0)
	}
	size := body.Size()
	p.Title.Text = twoLines(p.Title.TextStyle, c.title, size.X)
	if p.Title.Text != "" {
		side.Max.Y -= p.Title.TextStyle.Rectangle(p.Title.Text).Size().Y + p.Title.Padding
	}
	p.X.Label.Text = fit(p.X.Label.TextStyle, p.X.Label.Text, size.X-axisRoom)
	p.Y.Label.Text = fit(p.Y.Label.TextStyle, p.Y.Label.Text, size.Y-2*axisRoom)
	if len(c.names) > 0 {
		return draw.Crop(body, c.layOutNames(p, size.X-axisRoom), 0, 0, 0), side
	}
	p.X.Tick.Marker = roomy(p.X.Tick.Marker, p.X.Tick.Label, size.X-axisRoom)
	return body, side
}

func (c chart) legendWidth(p *plot.Plot) vg.Length {
	if c.kind == histogramKind || len(c.series) == 1 && c.series[0].name == "" {
		return 0
	}
	var widest vg.Length
	for _, s := range c.series {
		widest = max(widest, p.Legend.TextStyle.Width(fit(p.Legend.TextStyle, s.name, legendMost)))
	}
	return widest + p.Legend.ThumbnailWidth + vg.Points(14)
}

// layOutNames writes names below an axis of some length: side by side where
// there is room, else slanted, and of very many only every second, and so on. It
// gives the room that the first ones take to the left of the axis.
func (c chart) layOutNames(p *plot.Plot, length vg.Length) (left vg.Length) {
	label := &p.X.Tick.Label
	each := length / vg.Length(len(c.names))
	var widest vg.Length
	for _, n := range c.names {
		widest = max(widest, label.Width(n))
	}
	var marks plot.ConstantTicks
	if widest+vg.Points(8) <= each {
		for i, n := range c.names {
			marks = append(marks, plot.Tick{Value: float64(i), Label: n})
		}
		p.X.Tick.Marker = marks
		return 0
	}
	label.Rotation, label.XAlign, label.YAlign = slant, draw.XRight, draw.YCenter
	every := max(1, int(math.Ceil(float64(nameRoom/each))))
	for i := 0; i < len(c.names); i += every {
		name := fit(*label, c.names[i], nameMost)
		marks = append(marks, plot.Tick{Value: float64(i), Label: name})
		reach := label.Width(name)*vg.Length(math.Cos(slant)) - each*vg.Length(i)
		left = max(left, reach-axisRoom/2)
	}
	p.X.Tick.Marker = marks
	return left
}

// roomy leaves out the words of some marks, so that those of the others do not
// touch.
func roomy(marks plot.Ticker, label draw.TextStyle, length vg.Length) plot.Ticker {
	return plot.TickerFunc(func(low, high float64) []plot.Tick {
		ticks := marks.Ticks(low, high)
		for every := 1; every <= len(ticks); every++ {
			var total vg.Length
			for i := 0; i < len(ticks); i += every {
				total += label.Width(ticks[i].Label) + vg.Points(12)
			}
			if total > length && every < len(ticks) {
				continue
			}
			for i := range ticks {
				if i%every != 0 {
					ticks[i].Label = ""
				}
			}
			break
		}
		return ticks
	})
}

// fit shortens a text to a width.
func fit(style draw.TextStyle, text string, most vg.Length) string {
	if style.Width(text) <= most {
		return text
	}
	return strings.TrimSpace(text[:reaches(style, text, most-style.Width("…"))]) + "…"
}

// twoLines breaks a text that is wider than a line, and shortens one that is
// wider than two.
func twoLines(style draw.TextStyle, text string, most vg.Length) string {
	if style.Width(text) <= most {
		return text
	}
	end := reaches(style, text, most)
	if space := strings.LastIndexByte(text[:end], ' '); space > end/2 {
		end = space
	}
	return strings.TrimSpace(text[:end]) + "\n" + fit(style, strings.TrimSpace(text[end:]), most)
}

// reaches gives how many bytes of a text a width has room for.
func reaches(style draw.TextStyle, text string, most vg.Length) int {
	end := 0
	for i, r := range text {
		next := i + len(string(r))
		if style.Width(text[:next]) > most {
			break
		}
		end = next
	}
	return end
}
