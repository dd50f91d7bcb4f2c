package markdown

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedraw(t *testing.T) {
	draw := func(b Block) (string, bool) {
		if b.Kind == Code {
			return "[" + b.Lang + "]\n" + b.Text + "[end]", b.Lang != "keep"
		}
		return "<" + strings.Join(b.Grid.Header, ",") + ">\n\n" + strings.Repeat("row\n", len(b.Grid.Rows)), true
	}
	tests := []struct{ name, src, want string }{
		{"none", "a | b\n", "a | b\n"},
		{"alone", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", "<a,b>\n\nrow\nrow"},
		{"no rows", "| a |\n|---|\n\nText\n", "<a>\n\nText\n"},
		{"after text", "Text\na | b\n--|--\n1 | 2\n\nText  \n", "Text\n<a,b>\n\nrow\n\nText  \n"},
		{"two", "|a|\n|-|\n\n|b|\n|-|\n|1|\n", "<a>\n\n<b>\n\nrow\n"},
		{"in a quote", "> |a|\n> |-|\n> |1|\n> text", "> <a>\n>\n> row\n> row"},
		{"in an item", "1. |a|\n   |-|\n   |1|\n2. b", "1. <a>\n\n   row\n2. b"},
		{"escaped bars, code", "|a|\n|-|\n|`x\\|y` \\||", "<a>\n\nrow"},
		{"in code", "```keep\n|a|\n|-|\n```", "```keep\n|a|\n|-|\n```"},
		{"code", "a\n```go x\n1\n\n2\n```\nb", "a\n[go]\n1\n\n2\n[end]\nb"},
		{"open code", "a\n~~~\n1\n", "a\n[]\n1\n[end]\n"},
		{"empty code", "```\n```\nb", "[]\n[end]\nb"},
		{"code in a quote", "> a\n> ```\n> 1\n> ```\n> b", "> a\n> []\n> 1\n> [end]\n> b"},
		{"code in an item", "1. a\n\n   ~~~sh\n   1\n     2\n   ~~~\n2. b", "1. a\n\n   [sh]\n   1\n     2\n   [end]\n2. b"},
		{"code begins an item", "- ```\n  1\n  ```\n- b", "- []\n  1\n  [end]\n- b"},
		{"indented code", "a\n\n    1\n      2\n\nb", "a\n\n[]\n1\n  2\n[end]\n\nb"},
		{"indented code in an item", "- a\n\n      1\n      2\n\nb", "- a\n\n  []\n  1\n  2\n  [end]\n\nb"},
		{"too hard", strings.Repeat("> ", 90) + "a\n```\n1\n```\nb", strings.Repeat("> ", 90) + "a\n[]\n1\n[end]\nb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Redraw(tt.src, draw)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAlignedTable(t *testing.T) {
	src := `| Name | Qty | **Note** |
|:-----|----:|:--------:|
| a | 1 | [link](http://x) |
| 日本語 | 1000 | ` + "`a\\|b`" + ` |
| - | | 👍 and<br>so <BR /> on |
| ` + "`<br>`" + ` | | |
| too | many | cells | here |
`
	want := `Name     Qty       Note
------  ----  ---------------
a          1  link (http://x)
日本語  1000        a|b
-              👍 and so on
<br>
too     many       cells
`
	got := AlignedTable(Blocks(src)[0].Grid)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// One long cell does not make every row as long as it is.
func TestAlignedTableGrows(t *testing.T) {
	long := strings.Repeat("w", 5000)
	got := AlignedTable(&Grid{Align: []Align{Right, Left}, Header: []string{"a", "b"}, Rows: append(slices.Repeat([][]string{{"1", "2"}}, 2000), []string{long, "3"})})
	if len(got) > 1<<20 || !strings.Contains(got, long+"  3") {
		t.Errorf("%d bytes", len(got))
	}
}
