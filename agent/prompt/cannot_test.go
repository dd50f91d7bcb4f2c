package prompt

import (
	"testing"

	"nod/llm"
)

// The model is told what it can't do, unless a tool of this turn does it.
func TestCannot(t *testing.T) {
	for want, tools := range map[string][]llm.Tool{
		textNotLater + textForgets: {{Name: "clock"}}, textForgets: {{Name: "schedule"}}, textNotLater: {{Name: "remember"}}, "": {{Name: "remember"}, {Name: "schedule"}},
	} {
		if got := cannot(tools); got != want {
			t.Errorf("with %v: %q, want %q", tools, got, want)
		}
	}
}
