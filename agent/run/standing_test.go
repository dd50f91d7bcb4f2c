package run_test

import (
	"context"
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
