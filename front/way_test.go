package front_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	chatform "nod/chat/form"
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
		{[]chat.Way{chat.ByCode}, "Press Approve to approve: it asks for your code.", []string{"❌"}, false},
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
		if has(front.Approve) != tt.hasApproval || has(front.Code) != chat.NeedsCode(tt.ways) || !has(front.Deny) {
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

// The form that asks for a code shows the call with twelve digits of what the code is for,
// as the card is now. Digits go to the inbox alone.
func TestCodeForm(t *testing.T) {
	in := ledger.New()
	digest := strings.Repeat("ab", 32)
	in.Cards["c1"] = chat.Approval{Call: "c1", Tool: "deploy", Args: `{"env":"prod"}`, Digest: digest}
	f, _ := onSquare(in)
	by := ada
	by.Barred = "you are not heard here"
	click := front.Click{Verb: front.GrantBy, ID: "1", Thread: thread, Call: "c1", Digest: "of an earlier card", By: by}
	form := clicks(t, f, click).Form
	if form == nil || form.Note != "deploy\n{\"env\":\"prod\"}\n"+digest[:12] || len(form.Fields) != 1 {
		t.Fatalf("the form is %+v", form)
	}
	for _, digits := range []string{"", "654321", "123456"} {
		s := front.Sent{Click: form.Click, Fields: []chatform.Filled{{ID: form.Fields[0].ID, Value: digits}}}
		if a := sends(t, f, s); (a.Wrong != nil) != (digits == "654321") {
			t.Errorf("%s: %+v", digits, a)
		}
	}
	want := chat.Code{Call: "c1", By: ada, Digest: digest, Digits: "123456", Grant: &chat.Grant{}}
	if diff := cmp.Diff([]chat.Code{want}, in.Codes); diff != "" || len(in.Reactions) > 0 {
		t.Error(diff, in.Reactions)
	}
	in.Refuse = "You have no code here"
	if a := clicks(t, f, click); a.Form != nil || a.Alone != in.Refuse+"." {
		t.Errorf("without one: %+v", a)
	}
}
