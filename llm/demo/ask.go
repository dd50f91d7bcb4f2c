package demo

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	askTime = regexp.MustCompile(`(?i)\b(what('s| is)? (the )?(current )?(time|date|day)\b( is it| is today)?|(the |current )time\b|` +
		`time is it|what day is (it|today)|today's date|time in\b)( (right )?now| today)?`)
	place = regexp.MustCompile(`(?i)^\s*(?:is it\s+)?(?:right now\s+|now\s+)?in\s+([^?.!,;\n]+?)(?:\s+(?:and|or|please|right now|now|today)\b|[?.!,;\n]|\s*$)`)
	also  = regexp.MustCompile(`^\s*(?:,|and|or)\s+(?:in\s+)?(\p{Lu}[\p{L}/_]*(?: \p{Lu}\p{L}*)*)`)
)

// times finds questions for the time, and returns the rest of the text. An empty zone
// means that none was named. The clock knows cities itself.
func times(text string) (rest string, zones []any) {
	at := askTime.FindStringIndex(text)
	if at == nil {
		return text, nil
	}
	rest = text[:at[0]] + " ; "
	text = text[at[0]+len(strings.TrimSuffix(text[at[0]:at[1]], " in")):]
	for next := place; ; next = also {
		m := next.FindStringSubmatchIndex(text)
		if m == nil {
			break
		}
		zones = append(zones, text[m[2]:m[3]])
		text = text[m[3]:]
	}
	if len(zones) == 0 {
		zones = []any{""}
	}
	more, others := times(text)
	return rest + more, append(zones, others...)
}

// inWords turns arithmetic in words into signs, in this order.
var inWords = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`(?i)(\d)\s*(?:%|percent)\s+of\b`), "$1/100*"},
	{regexp.MustCompile(`(?i)\bsquare root of\s+(\d+(?:\.\d+)?)`), "sqrt($1)"},
	{regexp.MustCompile(`(?i)([\d)])\s+plus\s+([\d(])`), "$1 + $2"},
	{regexp.MustCompile(`(?i)([\d)])\s+minus\s+([\d(])`), "$1 - $2"},
	{regexp.MustCompile(`(?i)([\d)])(?:\s+times\s+|\s+multiplied by\s+|\s*x\s*)([\d(])`), "$1 * $2"},
	{regexp.MustCompile(`(?i)([\d)])\s+(?:divided by|over)\s+([\d(])`), "$1 / $2"},
	{regexp.MustCompile(`(?i)([\d)])\s+to the power of\s+([\d(])`), "$1 ^ $2"},
	{regexp.MustCompile(`(?i)([\d)])\s+squared\b`), "$1^2"},
	{regexp.MustCompile(`(\d),(\d{3})\b`), "$1$2"},
	{regexp.MustCompile(`(?i)(\d+(?:\.\d+)?) ?([-+]) ?(\d+(?:\.\d+)?) ?(?:%|percent)(\s*(?:[^\d\s(]|$))`), "$1 * (1 $2 $3/100)$4"},
}

const (
	functions = `\b(?:sqrt|abs|round|floor|ceil|ln|log10|exp|sin|cos|tan|min|max)\(`
	operand   = `(?:\d+(?:\.\d+)?|\bpi\b)`
	sign      = `(?:\*\*|[-+*/^%×÷−])`
)

var (
	// run is a stretch of text that may be an expression.
	run = regexp.MustCompile(`(?i)(?:[-+(]\s*|` + functions + `\s*)*` + operand + `(?:\s*(?:` + sign + `|[),!])[-+(\s]*(?:(?:` + functions + `\s*)*` + operand + `?)*)*`)
	// expression tells one from a number. dateLike also catches versions, ranges and
	// times of day.
	expression = regexp.MustCompile(`(?i)` + functions + `|[\d)i]\s*` + sign + `\s*[-+(]*\s*(?:[\d(]|pi|[a-z]+\d*\()`)
	dateLike   = regexp.MustCompile(`^\d+(?:[-/.]\d+)+$`)
	cue        = regexp.MustCompile(`(?i)\b(what|what's|calculate|compute|how much|evaluate|solve|sum)\b|=`)
	// inside and goesOn match the text around a part of a longer word, such as a version,
	// a path or a pair name=value.
	inside = regexp.MustCompile(`[\w=/.:#@"-]$`)
	goesOn = regexp.MustCompile(`^[\w:]`)
)

// arithmetic finds the expressions in a text, and returns the rest of the text.
func arithmetic(text string) (rest string, exprs []any) {
	for _, w := range inWords {
		for range 2 { // neighbours share a number
			text = w.from.ReplaceAllString(text, w.to)
		}
	}
	last := 0
	for _, at := range run.FindAllStringIndex(text, -1) {
		whole := text[at[0]:at[1]]
		sentence := strings.HasSuffix(strings.TrimRight(whole, " \t\n"), ",") && !strings.HasSuffix(whole, ",")
		if inside.MatchString(text[:at[0]]) || goesOn.MatchString(text[at[1]:]) && !sentence {
			continue
		}
		expr := balance(whole)
		isDate := dateLike.MatchString(expr) && !cue.MatchString(text) && strings.TrimSpace(text) != expr
		if expression.MatchString(expr) && !isDate {
			exprs = append(exprs, expr)
			rest += text[last:at[0]] + " ; "
			last = at[1]
		}
	}
	return rest + text[last:], exprs
}

// balance drops rests of the sentence at the end of an expression: operators, commas,
// and unmatched parentheses.
func balance(s string) string {
	s = strings.TrimRight(s, " \t\n,+-*/^!×÷−(")
	for strings.Count(s, ")") > strings.Count(s, "(") && strings.HasSuffix(s, ")") {
		s = strings.TrimRight(strings.TrimSuffix(s, ")"), " ")
	}
	for strings.Count(s, "(") > strings.Count(s, ")") && strings.HasPrefix(s, "(") {
		s = strings.TrimLeft(strings.TrimPrefix(s, "("), " ")
	}
	return strings.TrimSpace(s)
}

var (
	askChart = regexp.MustCompile(`(?i)\b(draw|plot|chart|diagram)\b[^\n]*`)
	rowOf    = regexp.MustCompile(`(?m)^[ \t]*([^,;\t\n|]{1,60}?)[ \t]*[,;\t][ \t]*(-?\d+(?:\.\d+)?)[ \t]*\r?$`)
	headOf   = regexp.MustCompile(`(?m)^[ \t]*([^,;\t\n|]{1,60}?)[ \t]*[,;\t][ \t]*([^,;\t\n|\d\s-][^,;\t\n|]{0,60}?)[ \t]*\r?$`)
	number   = regexp.MustCompile(`-?\d+(?:\.\d+)?`)
	date     = regexp.MustCompile(`^\d{4}-\d{2}(-\d{2})?$`)
)

// charts finds a question for a chart, with the numbers for it: a table of two columns,
// as a file that was attached shows it, or numbers after the word. Rows of a name and a
// number become bars, or a line where the names are days.
func charts(text string) (rest string, args map[string]any) {
	asked := askChart.FindString(text)
	rest = askChart.ReplaceAllString(rowOf.ReplaceAllString(text, ""), " ; ")
	var x, y []any
	kind := "time"
	for _, r := range rowOf.FindAllStringSubmatch(text, -1) {
		x, y = append(x, r[1]), append(y, value(r[2]))
		if !date.MatchString(r[1]) {
			kind = "bar"
		}
	}
	if asked != "" && len(y) > 1 {
		args = map[string]any{"kind": kind, "x": x, "y": y}
		if head := headOf.FindStringSubmatch(text); head != nil {
			args["x_label"], args["y_label"] = head[1], head[2]
		}
		return rest, args
	}
	y = nil
	for _, n := range number.FindAllString(asked, -1) {
		y = append(y, value(n))
	}
	if len(y) < 2 {
		return text, nil
	}
	return rest, map[string]any{"kind": "line", "y": y}
}

// value reads a number; one that no float holds is 0.
func value(number string) float64 {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0
	}
	return f
}
