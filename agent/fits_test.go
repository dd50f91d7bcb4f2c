package agent_test

import (
	"strings"
	"testing"

	"nod/agent"
	"nod/agent/policy"
	"nod/agent/speak"
	"nod/llm"
)

// Whether the tools leave room in the budget is known from their length where they are
// short; they are counted where they may not.
func TestFits(t *testing.T) {
	counted := 0
	a := &agent.Agent{Instructions: "Be brief.", Protocol: speak.NativeTools{}, Budget: 16_000, Count: func(s string) int {
		counted++
		return len(s) / 4
	}}
	tool := func(bytes int) []policy.Tool {
		return []policy.Tool{{Risk: policy.Auto, Tool: llm.Tool{Name: "look", Description: strings.Repeat("look ", bytes/5), Parameters: []byte(`{"type":"object"}`)}}}
	}
	a.Tools = tool(5_000)
	if err := a.Fits(); err != nil || counted != 0 {
		t.Errorf("a short tool: %v, counted %d times", err, counted)
	}
	a.Tools = tool(20_000)
	if err := a.Fits(); err != nil || counted != 1 {
		t.Errorf("a longer one that fits: %v, counted %d times", err, counted)
	}
	a.Tools = tool(40_000)
	if err := a.Fits(); err == nil || !strings.Contains(err.Error(), "memory.budget_tokens: instructions and tool definitions alone take 1") {
		t.Errorf("one that does not fit: %v", err)
	}
}
