package discord

import (
	"strings"
	"testing"

	"nod/chat"
)

// Another try of an answer links to the one before it.
func TestEarlierAnswer(t *testing.T) {
	o, _, id, th := thinking(t)
	first := o.post(th, answer("answer/1", "It is 41."), false)
	p := answer("answer/2", "**Try 2**\n\nIt is 42.")
	p.Text.Earlier = &chat.Earlier{Ref: first, Try: 1, Markdown: "It is 41."}
	again := o.post(th, p, false)
	posts := o.fake.Posts(id)
	if want := "[Earlier answer (try 1)](https://discord.com/channels/"; !strings.Contains(posts[1].Content, want) || !strings.Contains(posts[1].Content, "/"+id+"/"+first.ID+")") {
		t.Errorf("it reads %q", posts[1].Content)
	}
	o.fake.ForgetNonces()
	if ref := o.post(th, p, true); ref != again || len(o.fake.Posts(id)) != 2 {
		t.Errorf("it is posted again: %v, %d messages", ref, len(o.fake.Posts(id)))
	}
}
