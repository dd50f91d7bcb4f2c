package front_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/chat/outbox"
	"nod/front"
	"nod/internal/ledger"
	"nod/internal/script"
)

var (
	thread = chat.ThreadID{Platform: "board", Channel: "c", Root: "1"}
	lost   = &outbox.Lost{Call: "post", Err: errors.New("the connection broke")}
)

// plain is a dialect without markup.
var plain = front.Dialect{
	Bold:   func(text string) string { return text },
	Person: func(u chat.User, _ bool) string { return u.Display() },
	Rule:   func(rule string, _ chat.User, _ bool) string { return rule },
	Time:   func(at time.Time) string { return at.Format("15:04") },
	Emoji:  func(emoji string) string { return emoji },
}

func deploy() *chat.Approval {
	return &chat.Approval{
		Call: "1", Tool: "deploy", Args: "{}", Digest: "0123456789abcdef", Requester: chat.User{ID: "ada", Name: "ada"},
		Approvers: []string{"group:S1"}, Quorum: 2, Approve: []string{"✅"}, Deny: []string{"❌"}, Headline: "Approval 1: deploy",
		Deadline: time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC),
	}
}

// onSquare is a front on a square of its own.
func onSquare(in *ledger.Ledger) (*front.Front, *standing) {
	stands := &standing{on: map[chat.MessageRef][]chat.Reaction{}}
	o := front.Options{Common: front.Common{Inbox: in, Settle: time.Nanosecond}, Platform: "board", Dialect: plain, Room: script.Room}
	return front.New(square{Board: &script.Board{Platform: "board"}, stands: stands}, o), stands
}

// A card that waits says who may decide and until when. A decided one does not.
func TestCard(t *testing.T) {
	o := front.Options{Dialect: plain, Room: script.Room}
	p := deploy()
	want := []string{"Asked by ada", "May approve: group:S1 (2 different people have to)", "Until 12:30"}
	if diff := cmp.Diff(want, o.Message(chat.Post{Approval: p}).Card.Terms); diff != "" {
		t.Errorf("while it waits (-want +got):\n%s", diff)
	}
	p.Outcome, p.By = chat.Approved, []chat.User{{ID: "ben", Name: "ben"}}
	c := o.Message(chat.Post{Approval: p}).Card
	if diff := cmp.Diff(want[:1], c.Terms); diff != "" || c.How != "" || len(c.Buttons) > 0 {
		t.Errorf("once it is decided (-want +got):\n%s\n%+v", diff, c)
	}
}

// Each message of a post is made once, in the first way that the platform takes.
func TestDeliver(t *testing.T) {
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		says  []error // of each try
		found int     // the look that finds the message; 0: none
		ways  int     // in which the message can be written besides
		want  string
	}{
		"taken":                 {says: []error{nil}, want: "made, no look"},
		"lost, and there":       {says: []error{lost}, found: 1, want: "found after 1"},
		"lost, and not there":   {says: []error{lost, nil}, want: "made, looks 1"},
		"lost each time":        {says: []error{lost, lost, lost, nil}, want: "failed, looks 2"},
		"refused, then plainer": {says: []error{refused, nil}, ways: 1, want: "made, no look"},
		"refused in every form": {says: []error{refused, refused}, ways: 1, want: "failed, no look"},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := onSquare(ledger.New())
			tries, looks, stands := 0, 0, ""
			id, err := f.Deliver(t.Context(), thread, front.Attempt{
				Stands: func() string { return stands },
				Make: func(context.Context) (string, error) {
					tries++
					return "made", c.says[tries-1]
				},
				Rewrite: func(_ context.Context, err error, _ int) (bool, error) {
					if !errors.Is(err, refused) || c.ways == 0 {
						return false, nil
					}
					c.ways--
					return true, nil
				},
				Look: func(context.Context) error {
					if looks++; looks == c.found {
						stands = fmt.Sprint("found after ", looks)
					}
					return nil
				},
			})
			got := id
			switch {
			case err != nil:
				got = "failed"
			case c.found > 0:
				looks = -1
			}
			if looks == 0 {
				got += ", no look"
			} else if looks > 0 {
				got += fmt.Sprint(", looks ", looks)
			}
			if got != c.want {
				t.Errorf("%s (%v), want %s", got, err, c.want)
			}
		})
	}
}

// Votes that people gave while nobody listened count once they can be seen, and a denial
// counts first. Of a card that can't be seen none does.
func TestVotesOfAGap(t *testing.T) {
	in := ledger.New()
	f, square := onSquare(in)
	ref, err := f.Post(t.Context(), thread, chat.Post{Key: "ask/1", Approval: deploy()}, false)
	if err != nil {
		t.Fatal(err)
	}
	in.Waiting = []chat.Pending{{Thread: thread, Call: "1", Ref: ref, Approve: []string{"✅"}, Deny: []string{"❌"}}}
	square.put(chat.Reaction{On: ref, By: chat.User{ID: "ada"}, Emoji: "✅"})
	square.put(chat.Reaction{On: ref, By: chat.User{ID: "ben"}, Emoji: "❌"})
	square.far = errors.New("the square is far away")
	if err := f.FindVotes(t.Context()); err == nil || len(in.Reactions) > 0 {
		t.Errorf("from afar: %v, %v", in.Reactions, err)
	}
	square.far = nil
	if err := f.FindVotes(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range in.Reactions {
		got = append(got, string(r.By.ID)+" "+r.Emoji)
	}
	if want := []string{"ben ❌", "ada ✅"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	square.far = chat.ErrGone // the card was deleted: it has no votes, and hides no others
	if err := f.FindVotes(t.Context()); err != nil {
		t.Error(err)
	}
}

// A look does not bring back a vote that was taken off while it looked.
func TestTakenOffMeanwhile(t *testing.T) {
	in := ledger.New()
	f, square := onSquare(in)
	ref := chat.MessageRef{Platform: "board", Channel: "c", ID: "card"}
	in.Waiting = []chat.Pending{{Thread: thread, Call: "1", Ref: ref, Approve: []string{"✅"}, Deny: []string{"❌"}}}
	r := chat.Reaction{On: ref, By: chat.User{ID: "ada", Name: "ada"}, Emoji: "✅"}
	square.put(r)
	r.Removed = true
	square.seen = sync.OnceFunc(func() {
		if err := f.Reacted(t.Context(), r, false, "r1"); err != nil {
			t.Error(err)
		}
	})
	if err := f.FindVotes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(in.Reactions) != 1 || !in.Reactions[0].Removed {
		t.Errorf("%+v", in.Reactions)
	}
}

// If very many may decide, some get a message, each once.
func TestDeciders(t *testing.T) {
	f, _ := onSquare(ledger.New())
	who, unknown, err := f.Deciders(t.Context(), thread, []string{"user:ada", "group:none", "user:ada", "user:ben", "user:cid"}, 2)
	if err != nil || len(who) != 2 || who[0].ID != "ada" || who[1].ID != "ben" || !slices.Equal(unknown, []string{"group:none"}) {
		t.Errorf("%v, %q, %v", who, unknown, err)
	}
}

// A gap stays open until a look for messages has come to its end.
func TestMessagesOfAGap(t *testing.T) {
	in := ledger.New()
	f, square := onSquare(in)
	square.missed = func() {
		_, _ = in.Message(t.Context(), thread, chat.Message{Ref: chat.MessageRef{Platform: "board", Channel: "c", ID: "m1"}, Text: "hello"}, "m1")
	}
	f.Remember(t.Context())
	square.far = errors.New("the square is far away")
	if err := f.FindMessages(t.Context(), 0); err == nil || !f.Heard.Open() {
		t.Errorf("from afar: %v, open %v", err, f.Heard.Open())
	}
	square.far = nil
	if err := f.FindMessages(t.Context(), 0); err != nil || f.Heard.Open() || len(in.Messages) != 1 {
		t.Errorf("%v, open %v, %d messages", err, f.Heard.Open(), len(in.Messages))
	}
}

// A reaction that comes late counts only if it still stands, and like one that was found.
func TestLateReaction(t *testing.T) {
	in := ledger.New()
	f, square := onSquare(in)
	on := chat.MessageRef{Platform: "board", Channel: "c", ID: "m1"}
	r := chat.Reaction{On: on, By: chat.User{ID: "ada", Name: "ada"}, Emoji: "✅"}
	if err := f.Reacted(t.Context(), r, true, "r1"); err != nil || len(in.Reactions) > 0 {
		t.Errorf("taken off since: %v, %v", in.Reactions, err)
	}
	square.put(r)
	if err := f.Reacted(t.Context(), r, true, "r2"); err != nil || len(in.Reactions) != 1 || !in.Reactions[0].Found {
		t.Errorf("still there: %v, %v", in.Reactions, err)
	}
}

// Nobody is heard who is in doubt, unless another rule names them.
func TestAllowed(t *testing.T) {
	doubt := errors.New("no answer")
	belongs := func(rule string) (bool, error) {
		return rule == "role:ops", map[string]error{"role:away": doubt}[rule]
	}
	for _, c := range []struct {
		rules []string
		want  bool
		err   error
	}{
		{nil, true, nil},
		{[]string{"user:ben"}, false, nil},
		{[]string{"user:ben", "user:ada"}, true, nil},
		{[]string{"channel:general"}, true, nil},
		{[]string{"role:ops"}, true, nil},
		{[]string{"role:away"}, false, doubt},
		{[]string{"role:away", "everyone"}, true, nil},
	} {
		got, err := front.Allowed(c.rules, "ada", []string{"general"}, belongs)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%q: %v, %v", c.rules, got, err)
		}
	}
}
