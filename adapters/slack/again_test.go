package slack

import (
	"strings"
	"testing"

	"nod/chat"
	"nod/internal/fakeslack"
)

// Another try of an answer has the one before it folded under it, and linked; where
// the workspace takes no such thing, or there is no room for it, it is linked alone.
func TestEarlierAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, refuses, answer, earlier string
		folds                          bool
	}{
		{"folded", "", "It is 42.", "It is *41* <@U1>.", true},
		{"a part", "", "It is 42.", strings.Repeat("forty-one ", 1500), true},
		{"refused", "container", "It is 42.", "It is 41.", false},
		{"no room", "", strings.Repeat("forty-two ", 970), "It is 41.", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, th, ref := called(t, fakeslack.Options{}, nil)
			if tt.refuses != "" {
				o.fake.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: "invalid_blocks", Times: -1, Match: func(a fakeslack.Args) bool {
					return strings.Contains(a["blocks"], `"type":"`+tt.refuses+`"`)
				}})
			}
			first, err := o.a.Post(t.Context(), th, chat.Post{Key: "answer/1", ReplyTo: ref, Text: &chat.Text{Markdown: "It is 41."}}, false)
			if err != nil {
				t.Fatal(err)
			}
			p := chat.Post{Key: "answer/2", ReplyTo: ref, Text: &chat.Text{
				Markdown: "**Try 2**\n\n" + tt.answer, Earlier: &chat.Earlier{Ref: first, Try: 1, Markdown: tt.earlier},
			}}
			if _, err := o.a.Post(t.Context(), th, p, false); err != nil {
				t.Fatal(err)
			}
			own := o.own(th)
			got := string(own[len(own)-1].Blocks)
			if folds := strings.Contains(got, `"container"`); folds != tt.folds || strings.Contains(got, "[Earlier answer (try 1)](https://") == folds {
				t.Errorf("it reads %s", got)
			}
			if !strings.Contains(got, "/p"+strings.ReplaceAll(first.ID, ".", "")) || strings.Contains(got, "<@U1>") {
				t.Errorf("it reads %s", got)
			}
			if tt.folds && !strings.Contains(got, `"text":"Earlier answer (try 1)"`) {
				t.Errorf("it folds as %s", got)
			}
		})
	}
}
