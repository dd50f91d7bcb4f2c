package slack

import (
	"fmt"
	"strings"
	"testing"

	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/internal/fakeslack"
)

// An answer whose steps no reply shows carries them folded, and stays one message with its
// buttons, however long it is; so does a notice. Where the workspace takes no container, the
// steps stand in a section, and where it takes no blocks, as text.
func TestAnswerWithSteps(t *testing.T) {
	t.Parallel()
	many := steps(2, true)
	for i := range 40 {
		many.Items = append(many.Items, chat.Step{Thought: strings.Repeat("&", 5000), Calls: []chat.ToolCall{
			{Tool: strings.Repeat("t", 300), Args: strings.Repeat("`<", 3000), State: chat.CallDone, Observation: fmt.Sprintf("result %d ", i) + strings.Repeat("😀", 5000)},
		}})
	}
	first := &chat.Earlier{Try: 1, Markdown: strings.Repeat("forty-one ", 1500)}
	for _, tt := range []struct {
		name, refuses string
		text          chat.Text
		want          []string // in the blocks, in this order; none: it is text
	}{
		{"folded", "", chat.Text{Markdown: "It is 42.", Steps: steps(2, true)}, []string{"It is 42.", `"container"`, "found", layout.ShowAll, layout.RetryID, layout.OpinionID}},
		{"long", "", chat.Text{Markdown: strings.Repeat("forty-two ", 990), Steps: many}, []string{"forty-two", `"container"`, "result 39 ", layout.ShowAll, layout.OpinionID}},
		{"many steps", "", chat.Text{Markdown: "It is 42.", Steps: many}, []string{"It is 42.", `"container"`, "left out here", "result 39 ", layout.ShowAll, layout.OpinionID}},
		{"another try", "", chat.Text{Markdown: strings.Repeat("forty-two ", 500), Steps: steps(2, true), Earlier: first}, []string{"found", layout.OpinionID, "Earlier answer (try 1)", "forty-one"}},
		{"a file", "", chat.Text{Markdown: strings.Repeat("A paragraph.\n\n", 5000), Steps: many}, []string{"A paragraph.", `"container"`, "result 39 ", layout.OpinionID}},
		{"a notice", "", chat.Text{Markdown: "Stopped by ada.", Notice: true, Steps: steps(2, true)}, []string{"Stopped by ada.", `"container"`, "found", layout.ShowAll}},
		{"no container", `"container"`, chat.Text{Markdown: strings.Repeat("forty-two ", 990), Steps: many}, []string{"forty-two", "41 steps", layout.ShowAll, layout.OpinionID}},
		{"no blocks", "[", chat.Text{Markdown: "It is 42.", Steps: steps(2, true)}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, th, ref := called(t, fakeslack.Options{NoLimits: true}, func(o *Options) { o.Pace, o.Retries = 1000, true })
			if tt.refuses != "" {
				o.fake.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: "invalid_blocks", Times: -1, Match: func(a fakeslack.Args) bool {
					return strings.Contains(a["blocks"], tt.refuses)
				}})
			}
			at, err := o.a.Post(t.Context(), th, chat.Post{Key: "answer/7", ReplyTo: ref, Text: &tt.text}, false)
			if err != nil {
				t.Fatal(err)
			}
			m, _ := o.fake.Message(general, at.ID)
			got := unescaped(m.Blocks)
			if tt.want == nil && (m.Blocks != nil || !strings.Contains(m.Text, "It is 42.") || !strings.Contains(m.Text, "found")) {
				t.Errorf("it reads %q, blocks %s", m.Text, got)
			}
			for _, want := range tt.want {
				_, after, found := strings.Cut(got, want)
				if !found {
					t.Fatalf("%q is missing, or stands elsewhere: %s", want, unescaped(m.Blocks))
				}
				got = after
			}
			refused := 0
			for _, c := range o.fake.Calls("chat.postMessage") {
				if c.Error != "" {
					refused++
				}
			}
			if tt.refuses == "" && refused > 0 {
				t.Errorf("%d calls were refused", refused)
			}
		})
	}
}
