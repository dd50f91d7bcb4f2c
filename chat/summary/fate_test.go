package summary

import (
	"strings"
	"testing"

	"nod/chat"
)

// A turn of which something failed, or that was stopped, is never told as one that went well.
func TestFate(t *testing.T) {
	for _, tt := range []struct{ status, calls, mark, troubles string }{
		{"Done", "", "✓", ""},
		{"Done", "done", "✓", ""},
		{"Done", "failed", "✕", "1 failed"},
		{"Done", "failed done failed", "✓", "2 failed"},
		{"Done", "denied", "⊘", ""},
		{"Done", "denied failed", "✕", "1 failed"},
		{"Done", "outcome_unknown", "✕", "1 outcome unknown"},
		{"Done", "failed outcome_unknown", "✕", "1 failed, 1 outcome unknown"},
		{"Stopped", "done", "⊘", ""},
		{"Failed", "done", "✕", ""},
	} {
		s := chat.Steps{Done: true, Status: tt.status}
		for state := range strings.FieldsSeq(tt.calls) {
			c := chat.ToolCall{Tool: "x", State: chat.CallState(strings.ReplaceAll(state, "_", " "))}
			s.Items = append(s.Items, chat.Step{Calls: []chat.ToolCall{c}})
		}
		if got := Mark(&s); got != tt.mark {
			t.Errorf("%s, %s: %s, want %s", tt.status, tt.calls, got, tt.mark)
		}
		if got := Troubles(&s); got != tt.troubles {
			t.Errorf("%s, %s: %q, want %q", tt.status, tt.calls, got, tt.troubles)
		}
	}
}
