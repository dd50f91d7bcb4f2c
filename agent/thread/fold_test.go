package thread

import (
	"testing"

	"nod/chat"
	"nod/memory"
)

// A log of which a trim left the beginning out reads the same from there on: a turn whose
// messages are left out takes none of those that waited behind it.
func TestReadFromATrim(t *testing.T) {
	says := func(from chat.User, text string) memory.Message {
		m := memory.Message{Message: chat.Message{Ref: chat.MessageRef{Platform: "board", Channel: "c", ID: text}, From: from, Text: text}}
		if from.Alert() != "" {
			m.Alert = &memory.Alert{Name: "pages", Incident: text, As: memory.AlertBegins}
		}
		return m
	}
	ada, pages := chat.User{ID: "ada", Name: "ada"}, chat.AlertUser("pages")
	var log []memory.Entry
	for i, b := range []memory.Body{
		says(ada, "one"), says(pages, "page"), says(ada, "two"),
		memory.Opened{Turn: 1, Requester: ada},
		memory.Step{Turn: 1, N: 1, Seen: 4, Answer: "a"},
		memory.Ended{Turn: 1},
		memory.Opened{Turn: 2, Requester: pages},
		memory.Step{Turn: 2, N: 1, Seen: 7, Answer: "b"},
		memory.Ended{Turn: 2},
		memory.Opened{Turn: 3, Requester: ada},
	} {
		log = append(log, memory.Entry{Seq: uint64(i + 1), Body: b})
	}
	for _, from := range []int{0, 1, 2} {
		s := Read(log[from:])
		if s.Open == nil || len(s.Open.Msgs) != 1 || s.Open.Msgs[0].Text != "two" {
			t.Errorf("read from %d on the open turn has %+v", from+1, s.Open)
		}
	}
}

// The turn of an alert that was held back begins at the entry that has its text.
func TestFirstOf(t *testing.T) {
	pages := chat.AlertUser("pages")
	alert := func(text string, as memory.AlertAs) memory.Message {
		return memory.Message{Message: chat.Message{From: pages, Text: text}, Alert: &memory.Alert{Name: "pages", Incident: "i", As: as}}
	}
	s := Read([]memory.Entry{
		{Seq: 1, Body: alert("page", memory.AlertHeld)},
		{Seq: 2, Body: memory.Due{}},
		{Seq: 3, Body: alert("", memory.AlertBegins)},
		{Seq: 4, Body: memory.Opened{Turn: 3, Requester: pages}},
	})
	if n := FirstOf(s.Open.ID, s.Open.Msgs); n != 1 || s.Open.Msgs[0].Text != "page" {
		t.Errorf("from %d on, with %+v", n, s.Open.Msgs[0])
	}
}
