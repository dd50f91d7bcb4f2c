package summary

import (
	"testing"

	"nod/chat"
)

func TestSpent(t *testing.T) {
	for _, tt := range []struct {
		tokens chat.Tokens
		cost   float64
		want   string
	}{
		{chat.Tokens{}, 0, ""},
		{chat.Tokens{}, 0.5, ""},
		{chat.Tokens{Completion: 1}, 0, "0+1 tokens"},
		{chat.Tokens{Prompt: 1200, Completion: 34}, 0, "1,200+34 tokens"},
		{chat.Tokens{Prompt: 1234567, Cached: 1000, Completion: 34}, 0.000418, "1,234,567+34 tokens (1,000 cached), $0.000418"},
	} {
		s := chat.Steps{Tokens: tt.tokens, Cost: tt.cost}
		if got := Spent(&s); got != tt.want {
			t.Errorf("%+v, %v: %q, want %q", tt.tokens, tt.cost, got, tt.want)
		}
	}
}

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 reply": Count(1, "reply"), "2 earlier entries": Count(2, "earlier entry"), "1,200 steps": Count(1200, "step"), "0 approvals": Count(0, "approval"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
