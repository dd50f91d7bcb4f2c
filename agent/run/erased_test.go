package run_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent"
	"nod/agent/run"
	"nod/chat"
	"nod/memory"
	"nod/memory/person"
)

// A message of a person who was erased comes back by no way: not by a look, nor as a
// quote in a new one, nor by an edit. Other messages do.
func TestErasedStaysErased(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		lists, ok := store.(memory.Lister)
		if !ok {
			t.Fatal("the store lists no threads")
		}
		in := run.Inbox{Store: store, Agent: &agent.Agent{}}
		thread := chat.ThreadID{Platform: "discord", Channel: "12:34"}
		refOf := func(id string) chat.MessageRef {
			return chat.MessageRef{Platform: "discord", Channel: "12:34", ID: id}
		}
		gone, other := "10000000000000000001", "10000000000000000002"
		ada, ben := chat.User{ID: "1"}, chat.User{ID: "2"}
		put := func(m chat.Message) bool {
			t.Helper()
			fresh, err := in.Message(t.Context(), thread, m)
			if err != nil {
				t.Fatal(err)
			}
			return fresh
		}
		old := chat.Message{Ref: refOf(gone), From: ada, Text: "SECRET", Sent: time.Now().Add(-time.Hour)}
		put(old)
		err := memory.ChangeBook(t.Context(), store, "discord:12", func(b *memory.Book) []*memory.Fact {
			b.Add(memory.Fact{In: thread, ID: "1", Text: "SECRET", By: ada, At: time.Now()}, 9)
			b.Add(memory.Fact{In: thread, ID: "2", Text: "mine", By: ben, At: time.Now()}, 9)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		people := person.People{Store: store, Threads: lists, Key: []byte("key"), File: filepath.Join(t.TempDir(), "erased"), Now: time.Now}
		exported := ""
		if err := people.Export(t.Context(), "discord:1", func(l person.Line) error { exported += l.Kind + " "; return nil }); err != nil || exported != "message fact " {
			t.Errorf("exported %q, %v", exported, err)
		}
		if found, err := people.Erase(t.Context(), "discord:1"); err != nil || found.Messages != 1 || found.Facts != 1 {
			t.Fatal(found, err)
		}
		if raw, err := store.Noted(t.Context(), memory.BookNote("discord:12")); err != nil || strings.Contains(string(raw), "SECRET") || !strings.Contains(string(raw), "mine") {
			t.Errorf("the facts: %s, %v", raw, err)
		}
		if put(old) {
			t.Error("the erased message came once more")
		}
		if fresh, err := in.Edited(t.Context(), refOf(gone), "SECRET"); fresh || err != nil {
			t.Errorf("an edit of it: %v, %v", fresh, err)
		}
		there := chat.MessageRef{Platform: "discord", ID: gone} // a forward does not tell the channel
		if !put(chat.Message{Ref: refOf(other), From: ben, Text: "see", Quoted: []chat.Quote{{From: ada, Text: "SECRET", Ref: there}, {From: ben, Text: "mine"}}}) {
			t.Error("another message did not come")
		}
		synctest.Wait()
		log, err := store.Read(t.Context(), thread)
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, e := range log {
			raw, err := memory.Encode(e.Body)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(raw)
		}
		if got := all.String(); strings.Contains(got, "SECRET") || !strings.Contains(got, "mine") || !strings.Contains(got, "see") {
			t.Errorf("the log: %s", got)
		}
		if n, err := people.Again(t.Context()); n != 0 || err != nil {
			t.Errorf("erased anew without a need: %d, %v", n, err)
		}
	})
}
