package memory

import (
	"testing"

	"nod/chat"
)

// A word that is followed again, since the process died before it noted the outcome, makes
// and forgets nothing more; no number is used twice.
func TestBookOnce(t *testing.T) {
	t.Parallel()
	b := &Book{}
	in := chat.ThreadID{Platform: "slack", Channel: "C", Root: "1"}
	fact := func(id string) Fact { return Fact{In: in, ID: id, Text: id} }
	add := func(id string, most, want int) {
		t.Helper()
		if got := b.Add(fact(id), most); got != want {
			t.Errorf("%s has number %d, want %d", id, got, want)
		}
	}
	drop := func(number int, by string, goes, ok bool) {
		t.Helper()
		if gone, done := b.Drop(number, by); (gone != nil) != goes || done != ok {
			t.Errorf("forget %d by %s: %v, %v", number, by, gone, done)
		}
	}
	add("a", 2, 1)
	add("a", 2, 1)
	add("b", 2, 2)
	add("c", 2, 0)
	drop(2, "x", true, true)
	drop(2, "x", false, true)
	drop(2, "y", false, false)
	add("b", 2, 2) // it was written down, and somebody forgot it before that was noted
	add("c", 2, 3)
	if len(b.Facts) != 2 || b.Fact(3, fact("b").Name()) != nil {
		t.Errorf("the book: %+v", b)
	}
}

// The text of a fact goes from the word or the call that wrote it down, and from nothing
// else.
func TestUnquote(t *testing.T) {
	t.Parallel()
	f := &Fact{Text: `no "deploys"`}
	word := func(text string, fact bool) Message { return Message{Message: chat.Message{Text: text}, Fact: fact} }
	for name, test := range map[string]struct {
		was  Body
		want string // of the text or the arguments; "": it stays
	}{
		"the word":     {word(`Remember:  no "deploys"`, true), "Remember: [forgotten]"},
		"another word": {word(`remember: no "deploys" at all`, true), ""},
		"a question":   {word(`why: no "deploys"`, false), ""},
		"an edit":      {word("edit 1 `{\"text\": \"no \\\"deploys\\\"\"}`", false), "edit 1 `" + forgottenArgs},
		"the call":     {Step{Calls: []Call{{Args: `{"text":"no \"deploys\""}`}}}, forgottenArgs},
		"another call": {Step{Thought: `no "deploys"`, Calls: []Call{{Args: `{"text":"no \"deploys\"","to":"ada"}`}}}, ""},
		"a run":        {Ran{Call: Call{Args: `{"text":"no \"deploys\""}`}}, forgottenArgs},
		"a change":     {Changed{Args: `{"text":"no \"deploys\""}`}, forgottenArgs},
		"an answer":    {Step{Answer: `no "deploys"`}, ""},
	} {
		got := ""
		switch b := f.Unquote([]Entry{{Body: test.was}})[0].(type) {
		case Message:
			got = b.Text
		case Step:
			got = b.Calls[0].Args
		case Ran:
			got = b.Call.Args
		case Changed:
			got = b.Args
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
