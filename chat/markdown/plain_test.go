package markdown

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlain(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"empty", "", ""},
		{"emphasis", "**a** _b_ ~~c~~ `d\\*` e\\* &amp; &#65;", "a b c d\\* e* & A"},
		{"headings", "# A\n\nB\n===\nText", "A\n\nB\n\nText"},
		{"lines", "a\nb  \nc\\\nd", "a\nb\nc\nd"},
		{"links", "[a](http://x) <http://y> [http://z](http://z) ![i](j.png) [](k) [m@n](mailto:m@n) [r][1]\n\n[1]: http://r", "a (http://x) http://y http://z i (j.png) k m@n r (http://r)"},
		{"lists", "- a\n- b\n  1. c\n  2. d\n\n     e", "• a\n• b\n  1. c\n\n  2. d\n\n     e"},
		{"loose", "3. a\n\n4. [ ] b\n5. [x] c", "3. a\n\n4. [ ] b\n\n5. [x] c"},
		{"quote", "> a\n>\n> > b", "> a\n>\n> > b"},
		{"code", "```go\nfunc()\n\n  x*y*z\n```\n\n    in\n", "func()\n\n  x*y*z\n\nin"},
		{"rule", "a\n\n***\n\nb", "a\n\n———\n\nb"},
		{"table", "|a|b|\n|-|-:|\n|**1**|2|", "a  b\n-  -\n1  2"},
		{"cells are no blocks", "|a|b|\n|-|-|\n|- 1|# 2|\n|1. x|> y|", "a     b\n----  ---\n- 1   # 2\n1. x  > y"},
		{"html", "a <b>c</b>\n\n<div>\nd\n</div>", "a <b>c</b>\n\n<div>\nd\n</div>"},
		{"code span over lines", "`a\nb`", "a b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Plain(tt.src)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
