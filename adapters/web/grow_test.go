package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"nod/chat"
)

// Growing text is visible, and is no message: it counts as no reply, and goes when the
// message is there or the text is dropped.
func TestGrow(t *testing.T) {
	r := openRoom(t)
	r.send("/say", "c", "lobby", "text", "why?", "id", "message0")
	srv := httptest.NewServer(http.HandlerFunc(r.a.events)) // the door is another test's
	t.Cleanup(srv.Close)
	thread := threadID("lobby", "message0")
	text := func(s string) chat.Post { return chat.Post{Key: "growing", Text: &chat.Text{Markdown: s}} }
	steps := chat.Post{Key: "thinks", Steps: &chat.Steps{Items: []chat.Step{{Thought: "I look."}}}}
	lines := listen(t, srv.URL+"/?c=lobby&t=message0&since="+r.a.board.mark(r.a.board.changed))
	lines("event: seen")

	r.a.Grow(thread, []chat.Post{steps, text("It **is**")})
	r.a.Working(thread, chat.Work{What: "Thinking"})
	got := lines("event: working")
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
	if got := lines(`data: {"text":"","what":"","since":0,"busy":false}`); strings.Count(got, "event: off") < 4 || !strings.Contains(got, ref.ID) {
		t.Errorf("sent %s", got)
	}
	if body := r.get("/?c=lobby&t=message0").Body.String(); strings.Contains(body, "I look.") {
		t.Error("it stays although nothing is written")
	}
}
