package demo

import (
	"regexp"
	"strings"
)

// inWords turns arithmetic in words into signs, in this order.
var inWords = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`(?i)(\d)\s*(?:%|percent)\s+of\b`), "$1/100*"},
	{regexp.MustCompile(`(?i)\bsquare root of\s+(\d+(?:\.\d+)?)`), "sqrt($1)"},
	{regexp.MustCompile(`(?i)([\d)])\s+plus\s+([\d(])`), "$1 + $2"},
	{regexp.MustCompile(`(?i)([\d)])\s+minus\s+([\d(])`), "$1 - $2"},
	{regexp.MustCompile(`(?i)([\d)])\s+(?:times|multiplied by)\s+([\d(])`), "$1 * $2"},
	{regexp.MustCompile(`(?i)([\d)])\s*x\s*([\d(])`), "$1 * $2"},
	{regexp.MustCompile(`(?i)([\d)])\s+(?:divided by|over)\s+([\d(])`), "$1 / $2"},
	{regexp.MustCompile(`(?i)([\d)])\s+to the power of\s+([\d(])`), "$1 ^ $2"},
	{regexp.MustCompile(`(?i)([\d)])\s+squared\b`), "$1^2"},
	{regexp.MustCompile(`(\d),(\d{3})\b`), "$1$2"},
	{regexp.MustCompile(`(?i)(\d+(?:\.\d+)?) ?([-+]) ?(\d+(?:\.\d+)?) ?(?:%|percent)(\s*(?:[^\d\s(]|$))`), "$1 * (1 $2 $3/100)$4"},
}

var (
	function = regexp.MustCompile(`(?i)\b(sqrt|abs|round|floor|ceil|ln|log10|exp|sin|cos|tan|min|max)\(`)
	// run is a stretch of text that may be an expression.
	run = regexp.MustCompile(`(?i)(?:[-+(]\s*|(?:sqrt|abs|round|floor|ceil|ln|log10|exp|sin|cos|tan|min|max)\(\s*)*(?:\d+(?:\.\d+)?|\bpi\b)` +
		`(?:\s*(?:\*\*|[-+*/^%×÷−),!])[-+(\s]*(?:(?:sqrt|abs|round|floor|ceil|ln|log10|exp|sin|cos|tan|min|max)\(\s*)*(?:\d+(?:\.\d+)?|\bpi\b)?)*`)
	operator = regexp.MustCompile(`[\d)i]\s*(\*\*|[-+*/^%×÷−])\s*[-+(]*\s*(?:[\d(]|pi|[a-z]+\d*\()`)
	// dateLike also catches versions, ranges and times of day.
	dateLike = regexp.MustCompile(`^\d+(?:[-/.]\d+)+$`)
	comma    = regexp.MustCompile(`,\s+$`)
	cue      = regexp.MustCompile(`(?i)\b(what|what's|calculate|compute|how much|evaluate|solve|sum)\b|=`)
)

// arithmetic finds the expressions in a text, and returns the rest of the text.
func arithmetic(text string) (rest string, exprs []string) {
	for _, w := range inWords {
		for w.from.MatchString(text) {
			next := w.from.ReplaceAllString(text, w.to)
			if next == text {
				break
			}
			text = next
		}
	}
	var out strings.Builder
	last := 0
	for _, at := range run.FindAllStringIndex(text, -1) {
		if !standsAlone(text, at) {
			continue
		}
		expr := balance(text[at[0]:at[1]])
		if !operator.MatchString(expr) && !function.MatchString(expr) {
			continue
		}
		if dateLike.MatchString(expr) && !cue.MatchString(text) && strings.TrimSpace(text) != expr {
			continue
		}
		exprs = append(exprs, expr)
		out.WriteString(text[last:at[0]] + " ; ")
		last = at[1]
	}
	return out.String() + text[last:], exprs
}

// standsAlone says that the stretch is not the inside of a longer word, such
// as a version, a path or a pair name=value.
func standsAlone(text string, at []int) bool {
	before, after := text[:at[0]], text[at[1]:]
	if comma.MatchString(text[at[0]:at[1]]) {
		after = "" // the sentence goes on
	}
	letters := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	return !strings.ContainsAny(lastByte(before), letters+"0123456789=/.:#@-\"") &&
		(after == "" || !strings.ContainsAny(after[:1], letters+"0123456789:"))
}

func lastByte(s string) string {
	if s == "" {
		return ""
	}
	return s[len(s)-1:]
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
