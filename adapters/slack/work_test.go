package slack

import (
	"encoding/json"
	"testing"

	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/internal/work"
)

// Drawing for Slack, and reading from it, takes work that grows linearly with a text.
func TestWork(t *testing.T) {
	work.Long(t)
	t.Parallel()
	covered := []string{"nod/adapters/slack", "nod/chat/...", "github.com/yuin/goldmark/...", "regexp"}
	work.Linear(t, covered, work.Bound{Size: 32 << 10, Statements: 9000, Bytes: 6000, Do: func(text string) {
		thread := chat.ThreadID{Platform: "slack", Channel: "C1", Root: "1.1"}
		layout.AnswerParts(&chat.Text{Markdown: text}, layout.Card{})
		layout.EarlierBox(&chat.Earlier{Markdown: text}, layout.MostReply, "")
		steps := chat.Steps{Status: text, Items: []chat.Step{{Thought: text, Calls: []chat.ToolCall{{Tool: text, Args: text, Observation: text, State: chat.CallDone}}}}}
		layout.StepsPart(thread, &steps)
		stepPages(thread.String(), steps)
		p := chat.Approval{Tool: text, Args: holding(text), Why: text, Reason: text, Preview: &chat.Preview{Text: text}}
		layout.ApprovalPart(&p, cardOf(&p), everything)
		layout.ArgsParts(text)
		words{}.readable(text)
	}}, work.Bound{ // cutting a text looks at no part of it for each piece anew
		Size: 1 << 20, Texts: []string{"words", "lines", "one word"}, Statements: 60, Bytes: 60, Do: func(text string) {
			layout.Pieces(text, layout.MostSection)
		},
	})
}

// holding gives the arguments of a call with a text in them.
func holding(text string) string {
	raw, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		panic(err)
	}
	return string(raw)
}
