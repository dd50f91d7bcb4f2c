package chart

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// A chart is 960 × 600 pixels: wide enough for a chat window, and small enough
// for a model that looks at it.
const (
	imageWidth  = 8 * vg.Inch
	imageHeight = 5 * vg.Inch
	dotsPerInch = 120
)

// palette is twelve colours that can be told apart, the first eight also by
// most people who do not see all of them (Okabe and Ito, 2008, without yellow).
var palette = colours(
	0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0x56b4e9, 0xe69f00, 0x555555, 0x8c564b, 0x663399, 0x808000, 0xb22222, 0x000080,
)

func colours(codes ...uint32) (out []color.Color) {
	for _, c := range codes {
		out = append(out, color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 255})
	}
	return out
}

// toPNG writes a picture as a file.
func toPNG(picture image.Image) ([]byte, error) {
	var b bytes.Buffer
	err := png.Encode(&b, picture)
	return b.Bytes(), err
}

// draw makes the picture.
func (c chart) draw() (image.Image, error) {
	p, err := newPlot()
	if err != nil {
		return nil, err
	}
	p.X.Label.Text, p.Y.Label.Text = c.xLabel, c.yLabel
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{0xdd}, color.Gray{0xee}
	p.Add(grid)
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(numberTicks), plot.TickerFunc(numberTicks)
	switch c.kind {
	case barKind:
		err = c.bars(p)
	case histogramKind:
		c.histogram(p)
	default:
		err = c.points(p)
	}
	if err != nil {
		return nil, err
	}
	c.axes(p)
	img := vgimg.NewWith(vgimg.UseWH(imageWidth, imageHeight), vgimg.UseDPI(dotsPerInch))
	body, side := c.layOut(p, draw.Crop(draw.New(img), vg.Points(8), -vg.Points(16), vg.Points(8), -vg.Points(8)))
	legend := p.Legend
	p.Legend = plot.NewLegend() // an empty one: ours has a place of its own
	p.Draw(body)
	legend.Draw(side)
	return img.Image(), nil
}

// axes derives ranges, marks and the legend's place from the data.
func (c chart) axes(p *plot.Plot) {
	p.X.Min, p.X.Max = widen(p.X.Min, p.X.Max)
	p.Y.Min, p.Y.Max = widen(p.Y.Min, p.Y.Max)
	p.Legend.Top, p.Legend.Left = true, true
	whole := func(v float64) bool { return v == math.Trunc(v) }
	switch {
	case c.kind == timeKind:
		p.X.Tick.Marker = plot.TickerFunc(timeTicks)
		if p.X.Label.Text == "" && p.X.Max-p.X.Min < 86400 { // the marks show no day
			p.X.Label.Text = time.Unix(int64(p.X.Min), 0).UTC().Format("2 January 2006, UTC")
		}
	case c.kind == histogramKind:
		p.Y.Tick.Marker = plot.TickerFunc(wholeTicks)
	case !slices.ContainsFunc(c.x, func(v float64) bool { return !whole(v) }):
		p.X.Tick.Marker = plot.TickerFunc(wholeTicks)
	}
}

// widen gives an axis a length, also where all values are the same, or differ
// by less than can be told apart.
func widen(low, high float64) (float64, float64) {
	if math.IsInf(low, 0) || math.IsInf(high, 0) {
		return 0, 1
	}
	least := math.Max(math.Abs(low), math.Abs(high)) * 1e-9
	switch {
	case high == 0 && low == 0:
		return -1, 1
	case high-low <= least:
		by := math.Max(math.Abs(high)*0.1, least)
		return low - by, high + by
	}
	return low, high
}

// points draws lines or points, series by series.
func (c chart) points(p *plot.Plot) error {
	for i, s := range c.series {
		runs := c.runs(s)
		for n, run := range runs {
			line, dots, err := plotter.NewLinePoints(run)
			if err != nil {
				return err
			}
			line.Color, dots.Color = palette[i], palette[i]
			line.Width, dots.Radius, dots.Shape = vg.Points(1.6), vg.Points(2.2), draw.CircleGlyph{}
			alone := len(run) == 1
			if c.kind != scatterKind {
				p.Add(line)
			}
			if c.kind == scatterKind || alone || len(s.y) <= 40 {
				p.Add(dots)
			}
			if n > 0 || s.name == "" {
				continue
			}
			if c.kind == scatterKind {
				p.Legend.Add(fit(p.Legend.TextStyle, s.name, legendMost), dots)
			} else {
				p.Legend.Add(fit(p.Legend.TextStyle, s.name, legendMost), line)
			}
		}
	}
	return nil
}

// runs splits a series at missing values. A line goes from left to right, in any order
// of values.
func (c chart) runs(s oneSeries) []plotter.XYs {
	var runs []plotter.XYs
	order := make([]int, len(c.x))
	for i := range order {
		order[i] = i
	}
	if c.kind == timeKind {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.x[a], c.x[b]) })
	}
	open := false
	for _, i := range order {
		if math.IsNaN(s.y[i]) {
			open = open && c.kind == scatterKind
			continue
		}
		if !open {
			runs, open = append(runs, nil), true
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], plotter.XY{X: c.x[i], Y: s.y[i]})
	}
	return runs
}

// bars draws the bars of several series beside one another.
func (c chart) bars(p *plot.Plot) error {
	room := float64(imageWidth-c.legendWidth(p)-1.5*vg.Inch) / float64(len(c.x))
	width := vg.Length(math.Min(room*0.75/float64(len(c.series)), 60))
	for i, s := range c.series {
		heights := slices.Clone(s.y)
		for j, v := range heights {
			if math.IsNaN(v) {
				heights[j] = 0
			}
		}
		b, err := plotter.NewBarChart(plotter.Values(heights), width)
		if err != nil {
			return err
		}
		b.Color, b.LineStyle.Width = palette[i], 0
		b.Offset = width * vg.Length(float64(i)-float64(len(c.series)-1)/2)
		p.Add(b)
		if s.name != "" {
			p.Legend.Add(fit(p.Legend.TextStyle, s.name, legendMost), b)
		}
	}
	p.X.Min, p.X.Max = math.Min(p.X.Min, -0.5), math.Max(p.X.Max, float64(len(c.x))-0.5)
	p.Y.Min, p.Y.Max = math.Min(p.Y.Min, 0), math.Max(p.Y.Max, 0)
	return nil
}

// histogram counts values. Without a number of bins there are as many as the
// square root of the values, within reason.
func (c chart) histogram(p *plot.Plot) {
	var present plotter.Values
	for _, v := range c.series[0].y {
		if !math.IsNaN(v) {
			present = append(present, v)
		}
	}
	low, high := slices.Min(present), slices.Max(present)
	bins := c.bins
	if bins == 0 {
		bins = min(max(int(math.Ceil(math.Sqrt(float64(len(present))))), 5), 50)
	}
	from, to := widen(low, high)
	counts := make([]plotter.HistogramBin, bins)
	size := (to - from) / float64(bins)
	for i := range counts {
		counts[i].Min, counts[i].Max = from+size*float64(i), from+size*float64(i+1)
	}
	for _, v := range present {
		counts[min(int((v-from)/size), bins-1)].Weight++
	}
	p.Add(&plotter.Histogram{Bins: counts, Width: size, FillColor: palette[0], LineStyle: draw.LineStyle{Color: color.White, Width: vg.Points(0.7)}})
	p.Y.Min = 0
	if c.yLabel == "" {
		p.Y.Label.Text = "count"
	}
}
