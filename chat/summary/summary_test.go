package summary

import (
	"strings"
	"testing"
	"time"

	"nod/chat"
)

func TestTools(t *testing.T) {
	for calls, want := range map[string]string{
		"":                            "",
		"search":                      "SEARCH",
		"search fetch search":         "SEARCH ×2, FETCH",
		"a b c d":                     "A, B, C, D",
		"a b c d e":                   "A, B, C, D, 1 more",
		"a b b c | d e f e | a a a c": "A ×4, B ×2, C ×2, D, 2 more",
	} {
		var s chat.Steps
		for step := range strings.SplitSeq(calls, "|") {
			var item chat.Step
			for tool := range strings.FieldsSeq(step) {
				item.Calls = append(item.Calls, chat.ToolCall{Tool: tool})
			}
			s.Items = append(s.Items, item)
		}
		if got := Tools(&s, strings.ToUpper); got != want {
			t.Errorf("%s: %q, want %q", calls, got, want)
		}
	}
}

func TestTook(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.1 s", 99 * time.Millisecond: "0.1 s", 1540 * time.Millisecond: "1.5 s", 12600 * time.Millisecond: "13 s",
		60 * time.Second: "1 min 0 s", 2*time.Hour + 3*time.Second: "120 min 3 s",
	} {
		if got := Took(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestSoFar(t *testing.T) {
	for _, tt := range []struct {
		outcome    chat.Outcome
		whom, want string
	}{
		{"", "", ""},
		{"", "ada", "1 of 2 approved: ada"},
		{chat.Approved, "ada", ""},
		{chat.Expired, "ada", ""},
	} {
		p := &chat.Approval{Outcome: tt.outcome, Quorum: 2, By: []chat.User{{ID: "ada"}}}
		if got := SoFar(p, tt.whom); got != tt.want {
			t.Errorf("%s by %q: %q, want %q", tt.outcome, tt.whom, got, tt.want)
		}
	}
}

func TestLines(t *testing.T) {
	said := []string{"", "one", "", "two", ""}
	if got := Lines(said...); got != "one\ntwo" || said[1] != "one" {
		t.Errorf("%q of %q", got, said)
	}
}
