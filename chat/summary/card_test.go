package summary

import (
	"strings"
	"testing"
	"time"

	"nod/chat"
)

func TestFolded(t *testing.T) {
	one := []chat.Step{{Calls: []chat.ToolCall{{Tool: "search"}}}}
	for want, s := range map[string]chat.Steps{
		"1 step · SEARCH":                           {Done: true, Status: "Done", Items: one},
		"STOPPED · 1 step · SEARCH · 1.5 s":         {Done: true, Status: "Stopped", Items: one, Took: 1500 * time.Millisecond},
		"1 step · SEARCH · 1.0 s · 1,000+10 tokens": {Status: "Thinking", Items: one, Took: time.Second, Tokens: chat.Tokens{Prompt: 1000, Completion: 10}},
		"0 steps": {},
	} {
		if got := Folded(&s, strings.ToUpper); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTerms(t *testing.T) {
	ada := chat.User{ID: "U1", Name: "ada"}
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		p    chat.Approval
		want string
	}{
		{chat.Approval{Requester: ada, Approvers: []string{"requester"}, Deadline: now.Add(time.Hour)}, "Asked by ada · may approve: ada · until 13:00"},
		{chat.Approval{Requester: ada, Approvers: []string{"anyone"}, Exclude: []chat.User{ada, {ID: "U2"}}, Deadline: now.Add(24 * time.Hour)}, "Asked by ada · may approve: anyone, not ada, not U2 · until 2026-03-05 12:00"},
		{chat.Approval{Requester: ada, Approvers: []string{"user:U2", "group:S012"}, Quorum: 2}, "Asked by ada · may approve: 2 of U2, group:S012"},
	} {
		if got := Terms(&tt.p, now, func(s string) string { return s }); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
