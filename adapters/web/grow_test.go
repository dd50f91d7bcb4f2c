package web

import (
	"strings"
	"testing"

	"nod/chat"
)

// Growing text is visible, and is no message: it counts as no reply, and goes when the
// message is there or the text is dropped.
func TestGrow(t *testing.T) {
	r := openRoom(t)
	r.send("/say", "c", "lobby", "text", "why?", "id", "message0")
	thread := threadID("lobby", "message0")
	text := func(s string) chat.Post { return chat.Post{Key: "growing", Text: &chat.Text{Markdown: s}} }
	steps := chat.Post{Key: "thinks", Steps: &chat.Steps{Items: []chat.Step{{Thought: "I look."}}}}
	const view = "c=lobby&t=message0"
	seen := r.a.board.mark(r.a.board.changed)
	r.a.Grow(thread, []chat.Post{steps, text("It **is**")})
	r.a.Working(thread, chat.Work{What: "Thinking"})
	got, seen := r.news(view, seen)
	if !strings.Contains(got, "I look.") || !strings.Contains(got, "strong") || !strings.Contains(got, "aria-busy") || strings.Contains(got, "Try again") {
		t.Errorf("sent %s", got)
	}
	if body := r.get("/?c=lobby").Body.String(); !strings.Contains(body, "Reply in a thread") {
		t.Error("what is being written counts as a reply")
	}
	ref, _ := r.a.Post(t.Context(), thread, chat.Post{Key: "answer", Text: &chat.Text{Markdown: "It is 42."}}, false)
	body := r.get("/?c=lobby&t=message0").Body.String()
	if strings.Contains(body, "<strong>is") || !strings.Contains(body, "It is 42.") || !strings.Contains(body, "I look.") {
		t.Errorf("once it is posted: %s", body)
	}
	r.a.Grow(thread, nil)
	r.a.Working(thread, chat.Work{})
	if got, _ := r.news(view, seen); strings.Count(got, "growing") > 0 || !strings.Contains(got, ref.ID) || strings.Contains(got, "Thinking") {
		t.Errorf("sent %s", got)
	}
	if body := r.get("/?c=lobby&t=message0").Body.String(); strings.Contains(body, "I look.") {
		t.Error("it stays although nothing is written")
	}
}
