package terminal

import (
	"regexp"
	"strings"
	"testing"
)

// An answer is drawn, and no control sequence of a model passes, however it is spelt.
func TestDrawn(t *testing.T) {
	colors := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for name, tt := range map[string]struct{ markdown, want, not string }{
		"bold":   {"a **b** c", "a b c", "**"},
		"list":   {"- one\n- two", "• one", "- one"},
		"table":  {"| a | b |\n|---|---|\n| 1 | 2 |", "│", "|---"},
		"code":   {"```go\nx := 1\n```", "x := 1", "```"},
		"rows":   {"# T\n\na  \nb\n", "T\n\na\nb", ""},
		"link":   {"[here](https://a.example/b)", "https://a.example/b", "]("},
		"html":   {"say <name> & &lt; `a<b`", "say <name> & &lt; `a<b`", ""},
		"escape": {"a\x1b]0;t\x07b \u009b2Jc", "b 2Jc", ""},
		"entity": {"a &#27;]0;t&#7; &#x1b;[2J &#155;2J b", "b", ""},
	} {
		for _, color := range []bool{true, false} {
			raw := drawn(tt.markdown, 60, color)
			got := colors.ReplaceAllString(raw, "")
			if !strings.Contains(got, tt.want) || tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("%s, color %t: %q", name, color, raw)
			}
			if strings.ContainsAny(got, "\x1b\x07\u009b") || !color && got != raw {
				t.Errorf("%s, color %t: a control sequence passes: %q", name, color, raw)
			}
		}
	}
}
