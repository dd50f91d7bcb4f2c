// Package chart is the tool that draws charts. What is to be drawn is looked
// through before anything is drawn, so that a picture never shows something else
// than what was asked for: a value that does not fit is an error for the model.
package chart

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"math"
	"strconv"
	"strings"
	"time"

	"nod/llm"
	"nod/tools"
)

//go:embed chart.md
var prose string

const parameters = `{"type":"object","properties":{
"kind":{"type":"string","enum":["line","bar","scatter","histogram","time"]},
"title":{"type":"string","maxLength":200},
"x":{"type":"array","maxItems":20000,"items":{"type":["number","string"],"maxLength":100}},
"y":{"type":"array","maxItems":20000,"items":{"type":["number","null"]}},
"series":{"type":"array","minItems":1,"maxItems":12,"items":{"type":"object","properties":{
"name":{"type":"string","maxLength":100},"y":{"type":"array","maxItems":20000,"items":{"type":["number","null"]}}},
"required":["name","y"],"additionalProperties":false}},
"x_label":{"type":"string","maxLength":100},"y_label":{"type":"string","maxLength":100},
"bins":{"type":"integer","minimum":1,"maximum":200}},
"required":["kind"],"additionalProperties":false}`

// The kinds of chart.
const (
	lineKind      = "line"
	barKind       = "bar"
	scatterKind   = "scatter"
	histogramKind = "histogram"
	timeKind      = "time"
)

const (
	pointsMost = 50_000 // of all series together
	barsMost   = 100    // of all series together
	valueMost  = 1e100  // larger ones overflow on the way to a pixel
)

// chart is a checked chart.
type chart struct {
	kind           string
	title          string
	xLabel, yLabel string
	names          []string  // of the bars, or of the places of a line
	x              []float64 // seconds since 1970 for timeKind
	series         []oneSeries
	bins           int
	lost           string // letters that the font lacks
}

// oneSeries is one line, one colour of bars. A value that is absent is NaN.
type oneSeries struct {
	name string
	y    []float64
}

// arguments are the model's arguments.
type arguments struct {
	Kind, Title string
	X           []any
	Y           []*float64
	Series      []struct {
		Name string
		Y    []*float64
	}
	XLabel string `json:"x_label"`
	YLabel string `json:"y_label"`
	Bins   int
}

// Keys are the keys of tools.chart.
type Keys struct{}

// Make makes the tool that draws charts.
func (Keys) Make(context.Context, tools.Host) (tools.Made, error) { return tools.One(drawing(toPNG)) }

// drawing makes the tool with a way to write pictures, in which most of the time goes.
func drawing(encode func(image.Image) ([]byte, error)) tools.Tool {
	t := tools.New("chart", prose, parameters, func(_ context.Context, in tools.Input, arg json.RawMessage) (llm.Result, error) {
		c, err := read(arg)
		if err != nil {
			return tools.Failed("nothing was drawn: %v", err), nil
		}
		picture, err := c.draw()
		if err != nil {
			return llm.Result{}, fmt.Errorf("draw chart: %w", err)
		}
		data, err := encode(picture)
		if err != nil {
			return llm.Result{}, fmt.Errorf("write chart: %w", err)
		}
		file := llm.File{Name: tools.FreeName(in.Files, nameOf(c.title)), MediaType: "image/png", Data: data}
		return llm.Result{Text: c.summary(file.Name), Files: []llm.File{file}}, nil
	})
	t.ReadOnly = true
	return t
}

// read reads arguments that meet the schema, which lets numbers through
// that are larger than any that can be drawn.
func read(raw json.RawMessage) (chart, error) {
	var arg arguments
	if err := json.Unmarshal(raw, &arg); err != nil {
		return chart{}, fmt.Errorf("a number is too large; they go up to %g", valueMost)
	}
	return plan(arg)
}

// plan checks the data, and names mistakes in terms of the parameters.
func plan(arg arguments) (chart, error) {
	c := chart{kind: arg.Kind, bins: arg.Bins}
	c.title, c.xLabel, c.yLabel = c.label(arg.Title, 200), c.label(arg.XLabel, 100), c.label(arg.YLabel, 100)
	switch {
	case len(arg.Y) > 0 && len(arg.Series) > 0:
		return chart{}, errors.New(`give either "y" or "series", not both`)
	case len(arg.Y) > 0:
		c.series = []oneSeries{{y: values(arg.Y)}}
	}
	for i, s := range arg.Series {
		name := c.label(s.Name, 100)
		if name == "" && len(arg.Series) > 1 {
			name = "series " + strconv.Itoa(i+1) // or nobody could tell them apart
		}
		c.series = append(c.series, oneSeries{name, values(s.Y)})
	}
	if err := c.checkY(); err != nil {
		return chart{}, err
	}
	if c.kind == histogramKind {
		if len(arg.X) > 0 {
			return chart{}, errors.New(`a histogram takes its values in "y", and no "x"`)
		}
		return c, nil
	}
	if err := c.readX(arg.X); err != nil {
		return chart{}, err
	}
	for _, s := range c.series {
		if len(s.y) != len(c.x) {
			return chart{}, fmt.Errorf("x has %d values and %s has %d; they must be as many", len(c.x), s.called(), len(s.y))
		}
	}
	return c, nil
}

func (s oneSeries) called() string {
	if s.name == "" {
		return "y"
	}
	return "y of " + strconv.Quote(s.name)
}

func values(in []*float64) []float64 {
	out := make([]float64, len(in))
	for i, v := range in {
		out[i] = math.NaN()
		if v != nil {
			out[i] = *v
		}
	}
	return out
}

func (c *chart) checkY() error {
	if len(c.series) == 0 {
		return errors.New(`there are no values; put them into "y"`)
	}
	if c.kind == histogramKind && len(c.series) > 1 {
		return errors.New("a histogram has one series; draw one chart for each")
	}
	points := 0
	for _, s := range c.series {
		present := 0
		for _, v := range s.y {
			if math.Abs(v) > valueMost {
				return fmt.Errorf("%s has a value beyond ±1e100", s.called())
			}
			if !math.IsNaN(v) {
				present++
			}
		}
		if present == 0 {
			return fmt.Errorf("%s has no values", s.called())
		}
		points += len(s.y)
	}
	if points > pointsMost {
		return fmt.Errorf("%d values are too many; %d can be drawn. Give every tenth, or means", points, pointsMost)
	}
	if c.kind == barKind && points > barsMost {
		return fmt.Errorf("%d bars are too many to be read; %d can be drawn. Draw a line, or the largest only", points, barsMost)
	}
	return nil
}

// readX finds the kind of x. Names of a line become places, and dates of a line a time
// axis.
func (c *chart) readX(x []any) error {
	if len(x) == 0 {
		if c.kind == scatterKind || c.kind == timeKind {
			return fmt.Errorf(`a chart of kind %s needs "x"`, c.kind)
		}
		for i := range c.series[0].y {
			c.x = append(c.x, float64(i+1))
			if c.kind == barKind {
				c.names = append(c.names, strconv.Itoa(i+1))
			}
		}
		return nil
	}
	var numbers, dates []float64
	var names []string
	for _, v := range x {
		switch v := v.(type) {
		case float64:
			numbers = append(numbers, v)
			names = append(names, strconv.FormatFloat(v, 'f', -1, 64))
		case string:
			names = append(names, c.label(v, 100))
			if n, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil && c.kind != timeKind {
				numbers = append(numbers, n)
			}
			if t, ok := parseDate(v); ok {
				dates = append(dates, t)
			} else if c.kind == timeKind {
				return fmt.Errorf("%q in x is no date; write dates such as 2026-01-31 or 2026-01-31T14:05:00Z", tools.OneLine(v, 60))
			}
		}
	}
	switch {
	case c.kind == barKind:
		c.names, c.x = names, counted(len(names))
	case c.kind == timeKind && len(dates) != len(x):
		return errors.New("x holds numbers; for kind time it holds dates such as 2026-01-31")
	case len(dates) == len(x):
		c.kind, c.x = timeKind, dates
	case len(numbers) == len(x):
		c.x = numbers
	case c.kind == lineKind:
		c.names, c.x = names, counted(len(names))
	default:
		return errors.New("x of a scatter chart holds numbers only")
	}
	for _, v := range c.x {
		if !(math.Abs(v) <= valueMost) {
			return errors.New("x has a value that is no number within ±1e100")
		}
	}
	return nil
}

func counted(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(i)
	}
	return out
}

// parseDate reads the ways in which data has dates. Without a zone it is UTC.
func parseDate(text string) (float64, bool) {
	for _, layout := range []string{
		time.DateOnly, time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04", "2006-01", "2006/01/02",
	} {
		if t, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			return float64(t.UnixMilli()) / 1000, true
		}
	}
	return 0, false
}

// nameOf makes a file's name of a title.
func nameOf(title string) string {
	name := tools.PlainName(strings.ToLower(title))
	name = cmp.Or(name, "chart")
	return strings.Trim(name[:min(len(name), 50)], "-.") + ".png"
}

// summary tells the model about the picture, so that it can speak about it and notice a
// mistake.
func (c chart) summary(file string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The %s chart is in the file %s, which people see.", c.kind, file)
	for _, s := range c.series {
		low, high, n := math.Inf(1), math.Inf(-1), 0
		for _, v := range s.y {
			if !math.IsNaN(v) {
				low, high, n = math.Min(low, v), math.Max(high, v), n+1
			}
		}
		fmt.Fprintf(&b, "\n%s: %d values from %s to %s", cmp.Or(s.name, "y"), n, strconv.FormatFloat(low, 'g', 8, 64), strconv.FormatFloat(high, 'g', 8, 64))
		if gaps := len(s.y) - n; gaps > 0 {
			fmt.Fprintf(&b, ", %d gaps", gaps)
		}
	}
	if c.lost != "" {
		fmt.Fprintf(&b, "\nThe font has no letters for %s, which stand as %c in the picture. It has Latin, Greek, Cyrillic, Chinese, Japanese and Korean ones: draw it again with such words.", c.lost, noLetter)
	}
	return b.String()
}
