package markdown

import (
	"strings"
	"testing"

	"nod/internal/work"
)

// All that the platforms do with a text is work that grows with its length, whatever
// stands in it.
func TestWork(t *testing.T) {
	t.Parallel()
	covered := []string{"nod/chat/markdown", "github.com/yuin/goldmark/..."}
	work.Linear(t, covered, work.Bound{Statements: 4000, Bytes: 5000, Do: func(text string) {
		Split(text, 2000, UTF16)
		Plain(text)
		HTML(text)
		Redraw(text, func(Block) (string, bool) { return "x", true })
		Styled(text, Style{Escape: strings.ToUpper, Strong: "*", Emph: "_", Strike: "~", Code: "`", Fence: "```"})
		Outside(text, strings.ToUpper, strings.ToUpper)
		Bare(text)
	}})
}
