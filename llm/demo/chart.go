package demo

import (
	"regexp"
	"strconv"
	"strings"
)

// chart is the tool that draws.
const chart = "chart"

var (
	askChart = regexp.MustCompile(`(?i)\b(draw|plot|chart|diagram)\b[^\n]*`)
	rowOf    = regexp.MustCompile(`(?m)^[ \t]*([^,;\t\n|]{1,60}?)[ \t]*[,;\t][ \t]*(-?\d+(?:\.\d+)?)[ \t]*\r?$`)
	headOf   = regexp.MustCompile(`(?m)^[ \t]*([^,;\t\n|]{1,60}?)[ \t]*[,;\t][ \t]*([^,;\t\n|\d\s-][^,;\t\n|]{0,60}?)[ \t]*\r?$`)
	number   = regexp.MustCompile(`-?\d+(?:\.\d+)?`)
)

// charts finds a question for a chart, with the numbers for it: a table of two
// columns, as a file that was attached shows it, or numbers after the word.
func charts(text string) (rest string, args map[string]any) {
	at := askChart.FindStringIndex(text)
	if at == nil {
		return text, nil
	}
	asked, rest := text[at[0]:at[1]], text[:at[0]]+" ; "+text[at[1]:]
	if rows := rowOf.FindAllStringSubmatch(text, -1); len(rows) > 1 {
		args = table(rows)
		if head := headOf.FindStringSubmatch(text); head != nil {
			args["x_label"], args["y_label"] = head[1], head[2]
		}
		rest = askChart.ReplaceAllString(rowOf.ReplaceAllString(text, ""), " ; ")
		return rest, args
	}
	var y []any
	for _, n := range number.FindAllString(asked, -1) {
		y = append(y, value(n))
	}
	if len(y) < 2 {
		return text, nil
	}
	return rest, map[string]any{"kind": "line", "y": y}
}

// table draws rows of a name and a number: bars, or a line where the names are
// days.
func table(rows [][]string) map[string]any {
	var x, y []any
	kind := "time"
	for _, r := range rows {
		x, y = append(x, r[1]), append(y, value(r[2]))
		if !date.MatchString(r[1]) {
			kind = "bar"
		}
	}
	return map[string]any{"kind": kind, "x": x, "y": y}
}

var date = regexp.MustCompile(`^\d{4}-\d{2}(-\d{2})?$`)

func value(s string) float64 {
	f, _ := strconv.ParseFloat(strings.TrimSpace(s), 64) // the patterns let numbers through only
	return f
}
