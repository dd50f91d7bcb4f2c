package web

import (
	"encoding/json"
	"testing"
	"time"

	"nod/chat"
	"nod/chat/markdown"
	"nod/internal/work"
)

// Drawing for a browser takes work that grows linearly with a text.
func TestWork(t *testing.T) {
	work.Long(t)
	t.Parallel()
	covered := []string{"nod/adapters/web/...", "nod/chat/...", "github.com/yuin/goldmark/...", "regexp"}
	work.Linear(t, covered, work.Bound{Statements: 4000, Bytes: 4000, Do: func(text string) {
		stepsOf(&chat.Steps{Status: text, Items: []chat.Step{{Thought: text, Calls: []chat.ToolCall{{Tool: text, Args: text, Observation: text, State: chat.CallDone}}}}})
		approvalOf(&chat.Approval{Tool: text, Args: holding(text), Why: text, Reason: text, Preview: &chat.Preview{Text: text}}, time.Time{})
		markdown.HTML(text)
	}})
}

// holding gives the arguments of a call with a text in them.
func holding(text string) string {
	raw, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		panic(err)
	}
	return string(raw)
}
