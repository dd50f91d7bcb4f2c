package terminal

import (
	"strings"
	"testing"
	"testing/synctest"

	"nod/chat"
)

// An answer is seen while it is written, its end where it is long, and stands once
// in the end; what turns out to be no answer is gone.
func TestGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, 24, Options{}, "on message a\nworking")
		s.types("a\r")
		write := func(text string) {
			s.a.Grow(Thread, []chat.Post{{Text: &chat.Text{Markdown: text}}})
		}
		s.a.Grow(Thread, []chat.Post{{Steps: &chat.Steps{Status: "Thinking", Items: []chat.Step{{Thought: "I look."}}}}})
		s.sees("> a\n▾ step 1 Thinking\nThought: I look.\n>")
		write("It \x1b[31mis")
		s.sees("> a\nAnswer: It [31mis\n>")
		write("one two three four five six\n2\n3\n4\n5")
		s.sees("> a\nAnswer: …\n  2\n  3\n  4\n  5\n>")
		s.types("bc")
		write("It is 42")
		s.sees("> a\nAnswer: It is 42\n> bc")
		s.a.Grow(Thread, nil)
		s.sees("> a\nThinking (Ctrl-C or st…\n> bc")
		write("It is 42.")
		s.plays("answer It is 42.", "idle")
		s.sees("> a\nAnswer: It is 42.\n> bc")
		s.types("\x15\x04")
		s.leaves()
	})
}

// Between pipes every line is written once, and whole.
func TestGrowInAPipe(t *testing.T) {
	var out strings.Builder
	a := New(Options{Inbox: &bot{}, In: strings.NewReader(""), Out: &out})
	a.Grow(Thread, []chat.Post{{Text: &chat.Text{Markdown: "It is"}}})
	if out.Len() > 0 {
		t.Errorf("written: %q", &out)
	}
}
