package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"nod/agent/run"
	"nod/chat"
	"nod/memory"
)

// tails counts the entries of logs that are read.
type tails struct {
	memory.Full
	read int
}

// Tail implements memory.Reader.
func (s *tails) Tail(ctx context.Context, thread chat.ThreadID, after uint64) (memory.Tail, error) {
	t, err := s.Full.Tail(ctx, thread, after)
	s.read += len(t.Log)
	return t, err
}

// The state of a thread that this process wrote last is not read again. It is right
// also with a full inbox, and after another process wrote.
func TestStandingOfOwnThread(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		counted := &tails{Full: store}
		w := newWorld(t, store, nil)
		w.inbox.Store, w.inbox.Standings = counted, run.NewStandings()
		w.inbox.Emoji[chat.EmojiMute] = true
		w.runner.Standings = w.inbox.Standings
		other := newWorld(t, store, nil)
		other.model, other.runner.Model = w.model, w.model
		check := func(what string, fromStore bool) chat.Standing {
			t.Helper()
			counted.read = 0
			got, err := w.inbox.Standing(t.Context(), w.thread)
			if err != nil {
				t.Fatal(err)
			}
			want, err := run.Inbox{Store: store}.Standing(t.Context(), w.thread)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
			if (counted.read > 0) != fromStore {
				t.Errorf("%s: %d entries of the log were read", what, counted.read)
			}
			return got
		}
		says := func(by *world, text string) {
			t.Helper()
			w.model.Add("say ok")
			by.start()
			if err := w.say(text); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			by.stop()
		}
		says(w, "one")
		says(w, "two")
		check("answered", false)
		if err := w.say("three"); err != nil {
			t.Fatal(err)
		}
		if st := check("with a message in the inbox", false); !st.Running || len(st.Callers) != 2 {
			t.Errorf("with a message in the inbox it is %+v", st)
		}
		w.model.Add("say ok") // to the one before
		says(other, "four")
		check("after another process", true)
		check("after it was read", false)
		says(w, "five")
		check("answered again", false)
		answer := w.board.Answer()
		if _, err := w.inbox.Reaction(t.Context(), chat.Reaction{On: answer, By: chat.User{ID: "ada"}, Emoji: chat.EmojiMute}, "r"); err != nil {
			t.Fatal(err)
		}
		if st := check("muted in the inbox", true); !st.Muted {
			t.Error("it is not muted")
		}
	})
}

// long holds threads of one message each, and counts the entries that are read.
type long struct {
	memory.Full
	log  []memory.Entry
	read int
}

// Tail implements memory.Reader.
func (l *long) Tail(_ context.Context, _ chat.ThreadID, after uint64) (memory.Tail, error) {
	l.read += len(l.log[after:])
	return memory.Tail{Base: 1, Last: 1, Log: l.log[after:]}, nil
}

// The remembered logs are bounded in bytes: the least recently used ones make room.
func TestStandingsAreBounded(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 4<<20)
	store := &long{log: []memory.Entry{{Seq: 1, Body: memory.Message{Message: chat.Message{Text: text}}}}}
	in := run.Inbox{Store: store, Standings: run.NewStandings()}
	ask := func(i int) (read int) {
		t.Helper()
		store.read = 0
		if _, err := in.Standing(t.Context(), onBoard(i)); err != nil {
			t.Fatal(err)
		}
		return store.read
	}
	for i := range 10 {
		if ask(i) == 0 {
			t.Errorf("thread %d was not read", i)
		}
	}
	if n := ask(9); n != 0 {
		t.Errorf("%d entries of the latest thread were read again", n)
	}
	if ask(0) == 0 {
		t.Error("40 MB of texts are remembered")
	}
}

func onBoard(i int) chat.ThreadID {
	return chat.ThreadID{Platform: "board", Channel: "c", Root: fmt.Sprint("r", i)}
}

// claimed puts a message and claims its thread.
func claimed(t *testing.T, store memory.Full, thread chat.ThreadID, m memory.Message) *memory.Run {
	t.Helper()
	if _, err := store.Put(t.Context(), thread, m); err != nil {
		t.Fatal(err)
	}
	r, err := store.Next(t.Context(), thread.Platform)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
