package thread

import (
	"cmp"
	"slices"
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

// The text of an alert that was held back outlives a cut, while it waits and in its turn.
func TestTextOfAHeldAlert(t *testing.T) {
	pages, ada := chat.AlertUser("pages"), chat.User{ID: "ada"}
	alert := func(text string, as memory.AlertAs) memory.Message {
		return memory.Message{Message: chat.Message{From: pages, Text: text}, Alert: &memory.Alert{Name: "pages", Incident: "i", As: as}}
	}
	var log []memory.Entry
	for i, b := range []memory.Body{
		alert("page", memory.AlertHeld),
		memory.Message{Message: chat.Message{From: ada, Text: "one"}},
		memory.Opened{Turn: 2, Requester: ada},
		memory.Ended{Turn: 2},
		alert("", memory.AlertBegins),
		memory.Opened{Turn: 5, Requester: pages},
	} {
		log = append(log, memory.Entry{Seq: uint64(i + 1), Body: b})
	}
	for cutAt := 3; cutAt <= len(log); cutAt++ {
		cut := memory.Trimmed{Before: 3}
		Read(log[:cutAt]).Carry(&cut)
		trimmed := slices.Insert(slices.Clone(log), cutAt, memory.Entry{Seq: uint64(cutAt), Body: cut})
		base := cmp.Or(cut.From, cut.Before)
		s := Read(trimmed[base-1:])
		if s.Open == nil || len(s.Open.Msgs) != 1 || s.Open.Msgs[0].Text != "page" {
			t.Errorf("cut after %d, read from %d on, the turn has %+v", cutAt, base, s.Open)
		}
	}
	if cut := (memory.Trimmed{Before: mostBack + 2}); Read(log[:1]).textsFrom(cut.Before) != 0 {
		t.Error("an alert that waits for ever keeps the log")
	}
}
