package slack

import (
	"strings"
	"testing"

	"nod/chat"
	"nod/internal/fakeslack"
)

// Another try of an answer links to the one before it.
func TestEarlierAnswer(t *testing.T) {
	o, th, ref := called(t, fakeslack.Options{}, nil)
	first, err := o.a.Post(t.Context(), th, chat.Post{Key: "answer/1", ReplyTo: ref, Text: &chat.Text{Markdown: "It is 41."}}, false)
	if err != nil {
		t.Fatal(err)
	}
	p := chat.Post{Key: "answer/2", ReplyTo: ref, Text: &chat.Text{
		Markdown: "**Try 2**\n\nIt is 42.", Earlier: &chat.Earlier{Ref: first, Try: 1, Markdown: "It is 41."},
	}}
	if _, err := o.a.Post(t.Context(), th, p, false); err != nil {
		t.Fatal(err)
	}
	own := o.own(th)
	if got := string(own[len(own)-1].Blocks); !strings.Contains(got, "[Earlier answer (try 1)](https://") || !strings.Contains(got, "/p"+strings.ReplaceAll(first.ID, ".", "")) {
		t.Errorf("it reads %s", got)
	}
}
