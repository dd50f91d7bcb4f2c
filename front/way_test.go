package front_test

import (
	"slices"
	"strings"
	"testing"

	"nod/chat"
	"nod/front"
	"nod/internal/ledger"
)

// A card offers the ways that approve, and every way to deny.
func TestWaysOnCards(t *testing.T) {
	for _, tt := range []struct {
		ways        []chat.Way
		how         string
		seen        []string // emoji that the bot puts on it
		hasApproval bool     // among its buttons
	}{
		{nil, "React with ✅ to approve", []string{"✅", "❌"}, true},
		{[]chat.Way{chat.ByButton}, "Press Approve to approve: a reaction does not.", []string{"❌"}, true},
		{[]chat.Way{chat.ByWord}, "Write y 3 to approve", []string{"❌"}, false},
		{[]chat.Way{chat.ByReaction}, "React with ✅ to approve", []string{"✅", "❌"}, false},
	} {
		p := &chat.Approval{Number: 3, Approve: []string{"✅"}, Deny: []string{"❌"}, Ways: tt.ways}
		card := front.Options{Dialect: plain}.Message(chat.Post{Approval: p}).Card
		if !strings.HasPrefix(card.How, tt.how) || !strings.Contains(card.How, "❌") {
			t.Errorf("%v: %q, want %q", tt.ways, card.How, tt.how)
		}
		if got := p.Ballot(); !slices.Equal(got, tt.seen) {
			t.Errorf("%v: the bot puts %v, want %v", tt.ways, got, tt.seen)
		}
		has := func(v front.Verb) bool {
			return slices.ContainsFunc(card.Buttons, func(b front.Button) bool { return b.Verb == v })
		}
		if has(front.Approve) != tt.hasApproval || !has(front.Deny) {
			t.Errorf("%v: buttons %v", tt.ways, card.Buttons)
		}
	}
}

// A click on a card says that it is one, on a copy in another place too.
func TestClickIsAWay(t *testing.T) {
	for _, copied := range []bool{false, true} {
		in := ledger.New()
		f, _ := onSquare(in)
		clicks(t, f, front.Click{Verb: front.Approve, ID: "1", Thread: thread, Call: "c1", Emoji: "✅", On: on, By: ada, Copied: copied})
		if len(in.Reactions) != 1 || in.Reactions[0].Way != chat.ByButton {
			t.Errorf("copied %v: %+v", copied, in.Reactions)
		}
	}
}
