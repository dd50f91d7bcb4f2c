package markdown

import (
	"strings"
	"testing"
)

func TestStyled(t *testing.T) {
	style := Style{
		Escape: func(s string) string { return strings.ReplaceAll(s, "<", "&lt;") },
		Strong: "*", Emph: "_", Strike: "~", Code: "`", Fence: "```",
		Link: func(label, to string) string { return "<" + to + "|" + label + ">" },
	}
	for in, want := range map[string]string{
		"# A **title**\n\ntext":                    "*A title*\n\ntext",
		"**b** *i* ~~s~~ `c<d` a < b":              "*b* _i_ ~s~ `c&lt;d` a &lt; b",
		"see [Go](https://go.dev) ![p](https://x)": "see <https://go.dev|Go> <https://x|p>",
		"[x](!channel) [y](@U0BEN) ![z](#C0)":      "x (!channel) y (@U0BEN) z (#C0)",
		"[x][1] [y](javascript:a)\n\n[1]: !here":   "x (!here) y (javascript:a)",
		"- one\n- two":                             "• one\n• two",
		"```go\nx < y\n```":                        "```\nx &lt; y\n```",
		"| a | b |\n|---|---|\n| 1 | 2 |":          "```\n" + strings.TrimRight(AlignedTable(&Grid{Header: []string{"a", "b"}, Rows: [][]string{{"1", "2"}}, Align: make([]Align, 2)}), "\n") + "\n```",
	} {
		if got := Styled(in, style); got != want {
			t.Errorf("Styled(%q) = %q, want %q", in, got, want)
		}
	}
}

// Code is recognised, in blocks and in lines.
func TestOutside(t *testing.T) {
	up := func(s string) string { return strings.ToUpper(s) }
	same := func(s string) string { return s }
	for in, want := range map[string]string{
		"a `b` c":                         "A `b` C",
		"x\n\n```go\ncode\n```\n\ny":      "X\n\n```GO\ncode\n```\n\nY",
		"> a\n>\n>     code\n\nz":         "> A\n>\n>     code\n\nZ",
		"``a `b` c`` d":                   "``a `b` c`` D",
		strings.Repeat("[", 3000) + "`a`": strings.Repeat("[", 3000) + "`A`",
	} {
		if got := Outside(in, up, same); got != want {
			t.Errorf("Outside(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzOutside(f *testing.F) {
	f.Add("a `b`\n\n```\nc\n```\n- `d`")
	f.Fuzz(func(t *testing.T, src string) {
		same := func(s string) string { return s }
		if got := Outside(src, same, same); got != src {
			t.Errorf("Outside(%q) = %q", src, got)
		}
	})
}
