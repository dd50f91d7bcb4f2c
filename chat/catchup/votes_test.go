package catchup

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"nod/chat"
	"nod/chat/bounded"
)

var ref = chat.MessageRef{Platform: "p", Channel: "c", ID: "1"}

// board is an approval message with reactions, and the log that judges them.
type board struct {
	now    time.Time
	stand  []chat.Reaction
	put    []string
	during func() // happens while the reactions are read
	fail   error

	counts []chat.Reaction // the approvals that count
	votes  int
}

func (b *board) ballot() Ballot {
	return Ballot{
		Now: func() time.Time { return b.now },
		Standing: func(context.Context, chat.Pending, bool) ([]chat.Reaction, error) {
			out := slices.Clone(b.stand)
			if b.during != nil {
				b.during()
			}
			b.now = b.now.Add(time.Second)
			return out, b.fail
		},
		Put: func(_ context.Context, r chat.Reaction, _ time.Time) error {
			if !r.Found || r.On != ref {
				return fmt.Errorf("put %+v", r)
			}
			sign := "+"
			if r.Removed {
				sign = "-"
			}
			b.put = append(b.put, sign+string(r.By.ID)+r.Emoji)
			return nil
		},
	}
}

func on(by, emoji string) chat.Reaction {
	return chat.Reaction{By: chat.User{ID: chat.UserID(by)}, Emoji: emoji}
}

func (b *board) pending() chat.Pending {
	return chat.Pending{Ref: ref, Approve: []string{"✅", "👍"}, Deny: []string{"❌"}, Approved: slices.Clone(b.counts), Votes: b.votes}
}

// look looks and wants to see put just that.
func (b *board) look(t *testing.T, v *Votes, want ...string) {
	t.Helper()
	b.put = nil
	if err := v.Look(t.Context(), b.pending()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.put); diff != "" {
		t.Errorf("put (-want +got):\n%s", diff)
	}
}

// Denials come first, then removals, then approvals. A look that finds only denials
// reports nothing again.
func TestLook(t *testing.T) {
	b := &board{counts: []chat.Reaction{on("ada", "👍"), on("eve", "✅")}}
	b.stand = []chat.Reaction{on("bob", "✅"), on("eve", "✅"), on("bob", "🎉"), on("cleo", "❌")}
	v := NewVotes(b.ballot())
	b.look(t, v, "+cleo❌", "-ada👍", "+bob✅")
	b.look(t, v)
	b.counts, b.votes = []chat.Reaction{on("eve", "✅"), on("bob", "✅")}, 5
	b.look(t, v)
}

// A vote that was put on and taken off again is reported each time, also if somebody
// else heard a part of it.
func TestLookAgain(t *testing.T) {
	b := &board{counts: []chat.Reaction{on("ada", "👍")}, votes: 1}
	v := NewVotes(b.ballot())
	b.look(t, v, "-ada👍")
	b.look(t, v) // the log has not read it yet
	b.votes = 2
	b.counts = nil
	b.look(t, v)
	b.counts, b.votes = []chat.Reaction{on("ada", "👍")}, 3 // another process heard that she approved again
	b.look(t, v, "-ada👍")
	b.stand = []chat.Reaction{on("ada", "👍")}
	b.counts, b.votes = nil, 4
	b.look(t, v, "+ada👍")
	b.stand = nil
	b.counts, b.votes = []chat.Reaction{on("ada", "👍")}, 5
	b.look(t, v, "-ada👍")
}

// A reaction that is heard of while a look is under way is not undone by it.
func TestHeardMeanwhile(t *testing.T) {
	b := &board{stand: []chat.Reaction{on("bob", "✅")}}
	v := NewVotes(b.ballot())
	taken := on("bob", "✅")
	taken.On, taken.Removed = ref, true
	b.during = func() { v.Heard(taken); b.stand, b.during = nil, nil }
	b.look(t, v)
	b.now = b.now.Add(time.Minute)
	b.stand = []chat.Reaction{on("bob", "✅")}
	b.look(t, v, "+bob✅")
}

// That holds however many others are heard of meanwhile.
func TestHeardAmongMany(t *testing.T) {
	b := &board{stand: []chat.Reaction{on("bob", "✅")}}
	v := NewVotes(b.ballot())
	taken := on("bob", "✅")
	taken.On, taken.Removed = ref, true
	b.during = func() {
		v.Heard(taken)
		for i := range 10_000 {
			v.Heard(on(fmt.Sprint(i), "✅"))
		}
		b.stand, b.during = nil, nil
	}
	b.look(t, v)
}

// The second look takes back an approval that was removed while it was put.
func TestTakenOffMeanwhile(t *testing.T) {
	b := &board{stand: []chat.Reaction{on("bob", "✅")}}
	v := NewVotes(b.ballot())
	b.during = func() { b.stand, b.during = nil, nil }
	b.look(t, v, "+bob✅", "-bob✅")
}

// On a card that the store may not know yet, all that stands is put: when it is posted
// where somebody may have voted unheard, and afterwards by a look at all approvals.
func TestPosting(t *testing.T) {
	p := &chat.Approval{Approve: []string{"✅"}, Deny: []string{"❌"}}
	all := []string{"+cleo❌", "+bob✅"}
	lookAll := func(v *Votes, listed ...chat.Pending) {
		list := func(yield func(chat.Pending, error) bool) {
			_ = len(listed) == 0 || yield(listed[0], nil)
		}
		if err := v.LookAll(t.Context(), list, func(err error) error { return err }); err != nil {
			t.Error(err)
		}
	}
	for name, c := range map[string]struct {
		look   bool
		during func(v *Votes)
		after  func(b *board, v *Votes)
		want   []string
	}{
		"nobody missed anything":     {},
		"it may stand since earlier": {look: true, want: all},
		"a gap while it is posted":   {during: func(v *Votes) { lookAll(v) }, want: all},
		"a gap before it is listed":  {after: func(_ *board, v *Votes) { lookAll(v) }, want: all},
		"it is listed":               {after: func(b *board, v *Votes) { lookAll(v, b.pending()); v.found = bounded.Map[vote, finding]{}; lookAll(v) }, want: append(all, "+bob👍")},
		"it is decided":              {after: func(_ *board, v *Votes) { v.Over(ref); lookAll(v) }},
		"long ago":                   {after: func(b *board, v *Votes) { b.now = b.now.Add(time.Hour); v.noteCard(chat.Pending{}); lookAll(v) }},
	} {
		t.Run(name, func(t *testing.T) {
			b := &board{now: time.Unix(0, 0), stand: []chat.Reaction{on("bob", "✅"), on("bob", "👍"), on("cleo", "❌"), on("cleo", "🎉")}}
			v := NewVotes(b.ballot())
			posted := v.Posting(c.look)
			if c.during != nil {
				c.during(v)
			}
			if err := posted(t.Context(), chat.ThreadID{}, ref, p); err != nil {
				t.Fatal(err)
			}
			if c.after != nil {
				c.after(b, v)
			}
			if diff := cmp.Diff(c.want, b.put); diff != "" {
				t.Errorf("put (-want +got):\n%s", diff)
			}
		})
	}
}

// One failing approval does not stop the look at the others.
func TestLookAll(t *testing.T) {
	gone, broken := errors.New("gone"), errors.New("broken")
	b := &board{}
	n := 0
	ballot := b.ballot()
	ballot.Standing = func(context.Context, chat.Pending, bool) ([]chat.Reaction, error) {
		n++
		return nil, []error{gone, broken, nil}[n-1]
	}
	list := func(err error) iter.Seq2[chat.Pending, error] {
		return func(yield func(chat.Pending, error) bool) {
			for range 3 {
				if !yield(b.pending(), nil) {
					return
				}
			}
			if err != nil {
				yield(chat.Pending{}, err)
			}
		}
	}
	forgive := func(err error) error {
		if errors.Is(err, gone) {
			return nil
		}
		return err
	}
	v := NewVotes(ballot)
	if err := v.LookAll(t.Context(), list(nil), forgive); !errors.Is(err, broken) || errors.Is(err, gone) || n != 3 {
		t.Errorf("%d were looked at: %v", n, err)
	}
	n = 0
	lost := errors.New("lost")
	if err := v.LookAll(t.Context(), list(lost), forgive); !errors.Is(err, lost) || !errors.Is(err, broken) || n != 3 {
		t.Errorf("the store fails behind them, %d were looked at: %v", n, err)
	}
}

// Denials come first among the votes on all cards of an approval. While one card is
// unreadable, no found approval counts: a denial may be on that card.
func TestLookAllPlaces(t *testing.T) {
	other := chat.MessageRef{Platform: "p", Channel: "elsewhere", ID: "2"}
	broken, gone := errors.New("broken"), errors.New("gone")
	for name, c := range map[string]struct {
		fails error // on the other card
		want  []string
	}{
		"denied elsewhere": {want: []string{"2 cleo❌", "1 bob✅", "2 dan✅"}},
		"can't be seen":    {fails: broken},
		"is not there":     {fails: gone, want: []string{"1 bob✅"}},
	} {
		t.Run(name, func(t *testing.T) {
			var put []string
			v := NewVotes(Ballot{
				Now: time.Now,
				Standing: func(_ context.Context, p chat.Pending, _ bool) ([]chat.Reaction, error) {
					if p.Ref == ref {
						return []chat.Reaction{on("bob", "✅")}, nil
					}
					return []chat.Reaction{on("dan", "✅"), on("cleo", "❌")}, c.fails
				},
				Put: func(_ context.Context, r chat.Reaction, _ time.Time) error {
					put = append(put, r.On.ID+" "+string(r.By.ID)+r.Emoji)
					return nil
				},
			})
			card := chat.Pending{Ref: ref, Approve: []string{"✅"}, Deny: []string{"❌"}, More: true}
			list := func(yield func(chat.Pending, error) bool) {
				copied := card
				copied.Ref, copied.More = other, false
				_ = yield(card, nil) && yield(copied, nil)
			}
			err := v.LookAll(t.Context(), list, func(err error) error {
				if errors.Is(err, gone) {
					return nil
				}
				return err
			})
			if errors.Is(err, broken) != errors.Is(c.fails, broken) || errors.Is(err, gone) {
				t.Error(err)
			}
			if diff := cmp.Diff(c.want, put); diff != "" {
				t.Errorf("put (-want +got):\n%s", diff)
			}
		})
	}
}

// After a look the approvals that count are those that stand, in any order of actions
// and hearings.
func TestVotesProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := &board{now: time.Unix(0, 0)}
		v := NewVotes(b.ballot())
		judge := func(r chat.Reaction) { // the log takes a reaction in
			b.votes++
			b.counts = slices.DeleteFunc(b.counts, func(o chat.Reaction) bool { return voteOf(o) == voteOf(r) })
			if !r.Removed {
				b.counts = append(b.counts, r)
			}
		}
		read := func() {
			for _, p := range b.put {
				r := on(p[1:2], p[2:])
				r.Removed = p[0] == '-'
				judge(r)
			}
			b.put = nil
		}
		for range rapid.IntRange(1, 30).Draw(rt, "acts") {
			b.now = b.now.Add(time.Second)
			r := on(rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "who"), rapid.SampledFrom([]string{"✅", "👍"}).Draw(rt, "emoji"))
			i := slices.IndexFunc(b.stand, func(o chat.Reaction) bool { return voteOf(o) == voteOf(r) })
			if r.Removed = i >= 0; r.Removed {
				b.stand = slices.Delete(slices.Clone(b.stand), i, i+1)
			} else {
				b.stand = append(slices.Clone(b.stand), r)
			}
			switch rapid.SampledFrom([]string{"missed", "heard", "heard", "look", "look, not read"}).Draw(rt, "how") {
			case "heard":
				heard := r
				heard.On = ref
				v.Heard(heard)
				judge(r)
			case "look":
				if err := v.Look(context.Background(), b.pending()); err != nil {
					rt.Fatal(err)
				}
				read()
				same(rt, b)
			case "look, not read":
				if err := v.Look(context.Background(), b.pending()); err != nil {
					rt.Fatal(err)
				}
				if err := v.Look(context.Background(), b.pending()); err != nil {
					rt.Fatal(err)
				}
				read()
				same(rt, b)
			}
			b.now = b.now.Add(time.Second)
		}
	})
}

func same(t *rapid.T, b *board) {
	t.Helper()
	for _, r := range b.stand {
		if !slices.ContainsFunc(b.counts, func(o chat.Reaction) bool { return voteOf(o) == voteOf(r) }) {
			t.Errorf("%v stands, and does not count", r)
		}
	}
	if len(b.counts) != len(b.stand) {
		t.Errorf("%v count, and %v stand", b.counts, b.stand)
	}
}
