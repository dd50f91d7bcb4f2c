package chart

import (
	"math"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
)

// ticksMost is about how many marks an axis has.
const ticksMost = 8

// numberTicks marks round numbers, and writes them in full while that is
// readable.
func numberTicks(low, high float64) []plot.Tick {
	return stepTicks(low, high, niceStep((high-low)/ticksMost))
}

// wholeTicks marks whole numbers, where there is nothing in between.
func wholeTicks(low, high float64) []plot.Tick {
	return stepTicks(low, high, max(niceStep((high-low)/ticksMost), 1))
}

func stepTicks(low, high, step float64) []plot.Tick {
	if step <= 0 || math.IsInf(step, 0) || math.IsNaN(step) {
		return nil
	}
	first := math.Ceil(low / step)
	var out []plot.Tick
	for i := range 2*ticksMost + 1 {
		v := (first + float64(i)) * step
		if v > high {
			break
		}
		out = append(out, plot.Tick{Value: v, Label: writeNumber(v, step)})
	}
	return out
}

// niceStep is the next step that people like to count in: 1, 2 or 5 times a
// power of ten.
func niceStep(rough float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, nice := range []float64{1, 2, 5} {
		if nice*power >= rough*0.999999 {
			return nice * power
		}
	}
	return 10 * power
}

// writeNumber writes a mark with as many places as its step has.
func writeNumber(v, step float64) string {
	if math.Abs(v) < step/2 {
		return "0"
	}
	sign := ""
	if v < 0 {
		sign, v = "−", -v
	}
	if v >= 1e12 || step < 1e-6 {
		return sign + strconv.FormatFloat(v, 'g', 6, 64)
	}
	places := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(v, 'f', places, 64), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return sign + whole
}

// timeSteps are the distances between marks that a clock or a calendar has, in a unit.
var timeSteps = []struct {
	layout string
	unit   float64 // seconds
	counts []int
}{
	{"15:04:05", 1, []int{1, 5, 15, 30}},
	{"15:04", 60, []int{1, 5, 15, 30}},
	{"2 Jan 15:04", 3600, []int{1, 3, 6, 12}},
	{"2 Jan", day, []int{1, 2, 7}},
	{"2 Jan 2006", day, []int{14}},
	{"Jan 2006", month, []int{1, 2, 3, 6}},
	{"2006", month, []int{12, 24, 60, 120, 600, 1200, 12000}},
}

const (
	day   = 86400
	month = 30.44 * day // on average
)

// timeStep is the shortest distance at which an axis has not too many marks.
func timeStep(low, high float64) (layout string, unit float64, count int) {
	for _, s := range timeSteps {
		layout, unit = s.layout, s.unit
		for _, count = range s.counts {
			if (high-low)/(unit*float64(count)) <= ticksMost {
				return layout, unit, count
			}
		}
	}
	return layout, unit, count
}

// timeTicks marks whole hours, days, months or years, in UTC.
func timeTicks(low, high float64) []plot.Tick {
	layout, unit, count := timeStep(low, high)
	var out []plot.Tick
	add := func(v float64) bool {
		if v >= low && v <= high {
			out = append(out, plot.Tick{Value: v, Label: time.Unix(int64(v), 0).UTC().Format(layout)})
		}
		return v <= high && len(out) <= 2*ticksMost
	}
	if step := unit * float64(count); unit != month {
		for v := math.Ceil(low/step) * step; add(v); v += step {
		}
		return out
	}
	start := time.Unix(int64(low), 0).UTC()
	at := start.Year()*12 + int(start.Month()) - 1
	for at -= at % count; add(float64(time.Date(at/12, time.Month(at%12+1), 1, 0, 0, 0, 0, time.UTC).Unix())); at += count {
	}
	return out
}
