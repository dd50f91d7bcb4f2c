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
