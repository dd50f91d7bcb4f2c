package discord

import (
	"strings"
	"testing"

	"nod/adapters/discord/dialect"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/internal/work"
)

// Drawing for Discord, and reading from it, takes work that grows linearly with a text.
func TestWork(t *testing.T) {
	work.Long(t)
	t.Parallel()
	covered := []string{"nod/adapters/discord", "nod/chat/...", "github.com/yuin/goldmark/...", "regexp"}
	work.Linear(t, covered, work.Bound{Statements: 9000, Bytes: 6000, Do: func(text string) {
		thread := chat.ThreadID{Platform: "discord", Channel: "1", Root: "2"}
		layout.AnswerParts(&chat.Text{Markdown: text})
		steps := chat.Steps{Status: text, Items: []chat.Step{{Thought: text, Calls: []chat.ToolCall{{Tool: text, Args: text, Observation: text, State: chat.CallDone}}}}}
		layout.StepsPart(thread, &steps)
		layout.StepsPages(steps)
		p := chat.Approval{Tool: text, Args: text, Why: text, Reason: text, Preview: &chat.Preview{Text: text}}
		layout.ApprovalPart(&p, cardOf(&p))
		dialect.Words{}.Readable(text)
	}}, work.Bound{ // laying a text on pages looks at no part of it for each page anew
		Size: 1 << 20, Texts: []string{"words", "lines", "one word"}, Statements: 60, Bytes: 60, Do: func(text string) {
			dialect.Paged([]dialect.Sheet{{Text: text}}, layout.MostContent)
			dialect.Paged([]dialect.Sheet{{Text: text, Code: true}}, layout.MostContent)
		},
	}, work.Bound{ // runs of backticks that nothing ends are looked for once
		Size: 1 << 20, Texts: []string{"rows of backticks", "backticks", "code within lines"}, Statements: 60, Bytes: 200, Do: func(text string) {
			dialect.Write(strings.ReplaceAll(text, "\n", " "))
		},
	})
}
