package terminal

import (
	"testing"
	"time"

	"nod/chat"
	"nod/internal/work"
)

// Drawing for a terminal takes work that grows linearly with a text.
func TestWork(t *testing.T) {
	work.Long(t)
	t.Parallel()
	covered := []string{"nod/adapters/terminal", "nod/chat/...", "charm.land/lipgloss/v2", "github.com/charmbracelet/x/ansi/...", "regexp"}
	work.Linear(t, covered, work.Bound{Statements: 4000, Bytes: 4000, Do: func(text string) {
		const width = 80
		var rows []row
		rows = append(rows, textRows(&chat.Text{Markdown: text})...)
		steps := &chat.Steps{Status: text, Items: []chat.Step{{Thought: text, Calls: []chat.ToolCall{{Tool: text, Args: text, Observation: text, State: chat.CallDone}}}}}
		rows = append(rows, flat(stepRows(steps))...)
		rows = append(rows, liveRows(steps)...)
		rows = append(rows, askRows(&ask{number: 1, want: chat.Approval{Tool: text, Args: text, Why: text, Reason: text, Preview: &chat.Preview{Text: text}}}, time.Time{})...)
		for _, r := range rows {
			wrap(r, width)
			cut(r, width)
			r.paint(true)
		}
	}})
}
