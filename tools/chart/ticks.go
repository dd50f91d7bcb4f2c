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

// timeSteps are the distances between marks that a clock or a calendar has.
var timeSteps = []struct {
	seconds float64 // 0: whole months
	months  int
	layout  string
}{
	{1, 0, "15:04:05"},
	{5, 0, "15:04:05"},
	{15, 0, "15:04:05"},
	{30, 0, "15:04:05"},
	{60, 0, "15:04"},
	{300, 0, "15:04"},
	{900, 0, "15:04"},
	{1800, 0, "15:04"},
	{3600, 0, "2 Jan 15:04"},
	{3 * 3600, 0, "2 Jan 15:04"},
	{6 * 3600, 0, "2 Jan 15:04"},
	{12 * 3600, 0, "2 Jan 15:04"},
	{86400, 0, "2 Jan"},
	{2 * 86400, 0, "2 Jan"},
	{7 * 86400, 0, "2 Jan"},
	{14 * 86400, 0, "2 Jan 2006"},
	{0, 1, "Jan 2006"},
	{0, 2, "Jan 2006"},
	{0, 3, "Jan 2006"},
	{0, 6, "Jan 2006"},
	{0, 12, "2006"},
	{0, 24, "2006"},
	{0, 60, "2006"},
	{0, 120, "2006"},
	{0, 600, "2006"},
	{0, 1200, "2006"},
	{0, 12000, "2006"},
}

const month = 30.44 * 86400 // seconds, on average

// timeTicks marks whole hours, days, months or years, in UTC.
func timeTicks(low, high float64) []plot.Tick {
	step := timeSteps[len(timeSteps)-1]
	for _, s := range timeSteps {
		if length := s.seconds + float64(s.months)*month; (high-low)/length <= ticksMost {
			step = s
			break
		}
	}
	var out []plot.Tick
	add := func(v float64) bool {
		if v >= low && v <= high {
			out = append(out, plot.Tick{Value: v, Label: time.Unix(int64(v), 0).UTC().Format(step.layout)})
		}
		return v <= high && len(out) <= 2*ticksMost
	}
	if step.months == 0 {
		for v := math.Ceil(low/step.seconds) * step.seconds; add(v); v += step.seconds {
		}
		return out
	}
	start := time.Unix(int64(low), 0).UTC()
	count := start.Year()*12 + int(start.Month()) - 1
	for count -= count % step.months; ; count += step.months {
		if !add(float64(time.Date(count/12, time.Month(count%12+1), 1, 0, 0, 0, 0, time.UTC).Unix())) {
			return out
		}
	}
}
