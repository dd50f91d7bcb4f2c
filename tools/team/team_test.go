package team

import (
	"context"
	"errors"
	"strings"
	"testing"

	"nod/chat"
	"nod/internal/tooltest"
	"nod/llm"
)

// Each hit is a line with its author and place, and a line with its link. The model is told
// why there is none.
func TestSearch(t *testing.T) {
	var hits []chat.Hit
	var fails error
	var s Search
	eyes := []chat.MessageRef{{ID: "1"}}
	run := func() (llm.Result, error) {
		box := tooltest.Box(t, s.Tool())
		return box.Call(t.Context(), chat.Desk{Eyes: eyes}, llm.Call{Name: Name, Args: `{"query":"deploy"}`})
	}
	want := func(text string, failed, broken bool) {
		t.Helper()
		r, err := run()
		if !strings.Contains(r.Text, text) || r.Failed != failed || (err != nil) != broken {
			t.Errorf("%+v, %v; want %q", r, err, text)
		}
	}
	want("no message of the person", true, false)
	s.Use(func(context.Context, chat.ThreadID, []chat.MessageRef, string) ([]chat.Hit, error) {
		return hits, fails
	})
	want("No message fits", false, false)
	hits = []chat.Hit{
		{Author: "ben", Place: "ops", Text: "deploy\nat noon", Link: "https://x.example/1"},
		{Author: "ada", Place: "dev", Text: strings.Repeat("x", 2000), Link: "https://x.example/2"},
	}
	want("1. ben in ops: deploy at noon\nhttps://x.example/1\n2. ada in dev: xxx", false, false)
	if r, _ := run(); len(r.Text) > 1000 {
		t.Errorf("a long message is %d bytes long", len(r.Text))
	}
	for err, text := range map[error]string{chat.ErrBlind: "ask again", chat.Refused{Platform: "Slack", Code: "missing_scope"}: "refused (missing_scope)"} {
		fails = err
		want(text, true, false)
	}
	fails = errors.New("connection reset")
	want("broke down", true, true)
	fails, eyes = nil, nil
	want("no message of the person", true, false)
}
