package slack

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/internal/fakeslack"
)

// directly is a card as it stands in a direct conversation.
func directly(home chat.ThreadID) *chat.Approval {
	p := approval()
	p.Home, p.Elsewhere, p.Direct, p.Quiet = home, true, true, true
	return p
}

// A card is shown to somebody directly, once, also when its first attempt got through
// unheard; both ways to vote on it name that message; and it is edited to its outcome.
func TestDirectCard(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{}, nil)
	o.fake.Fail(fakeslack.Fault{Method: "chat.postMessage", Match: func(a fakeslack.Args) bool { return strings.HasPrefix(a["channel"], "D") }, After: true, Drop: true})
	p := chat.Post{Key: "copy/c1/user:U0BOB", Approval: directly(th)}
	at, ref, err := o.a.Copy(t.Context(), "user:U0BOB", p, false)
	if err != nil {
		t.Fatal(err)
	}
	dm := o.fake.DM("U0BOB")
	if _, again, err := o.a.Copy(t.Context(), "user:U0BOB", p, true); err != nil || again != ref {
		t.Errorf("once more it is %v (%v), not %v", again, err, ref)
	}
	if msgs := o.fake.Messages(dm, ""); len(msgs) != 1 || api.ChannelOf(ref.Channel) != dm || at.Root != "" {
		t.Fatalf("it stands at %v, %v: %v", at, ref, msgs)
	}
	o.fake.Click("U0BOB", fakeslack.Action{Channel: dm, TS: ref.ID, ActionID: layout.ApproveID})
	o.fake.React("U0BOB", dm, ref.ID, "x")
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 2 })
	for _, r := range o.in.Reactions {
		if r.On != ref || r.By.ID != "U0BOB" || r.By.Barred != "" {
			t.Errorf("a vote is %+v", r)
		}
	}
	p.Approval.Outcome, p.Approval.Headline = chat.Denied, "Denied by bob"
	if err := o.a.Edit(t.Context(), at, ref, p); err != nil {
		t.Fatal(err)
	}
	if m := o.fake.Messages(dm, "")[0]; !strings.Contains(m.Text, "Denied by bob") {
		t.Errorf("it says %q", m.Text)
	}
}

// A person who can't be written to is a refusal with Slack's word, at whichever call it
// comes; a place of another platform is none.
func TestDirectRefused(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{}, nil)
	o.fake.AddUser(fakeslack.User{ID: "U0GONE", Name: "gone", Deleted: true})
	o.fake.AddUser(fakeslack.User{ID: "U0BOT", Name: "robot", Bot: true})
	to := func(place string) error {
		_, _, err := o.a.Copy(t.Context(), place, chat.Post{Key: "copy/c1/" + place, Approval: directly(th)}, false)
		return err
	}
	refused := func(place, word string) {
		t.Helper()
		err := to(place)
		var r chat.Refused
		if !errors.As(err, &r) || r.Code != word {
			t.Errorf("%s: %v, want %s", place, err, word)
		}
	}
	refused("user:U0GONE", "user_disabled")
	refused("user:U0BOT", "cannot_dm_bot")
	refused("user:U0NOBODY", "user_not_found")
	o.fake.Fail(fakeslack.Fault{Method: "conversations.open", Error: "missing_scope"})
	refused("user:U0BOB", "missing_scope")
	o.fake.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: "messages_tab_disabled"})
	refused("user:U0BOB", "messages_tab_disabled")
	if err := to("user:123456"); !errors.Is(err, chat.ErrElsewhere) {
		t.Errorf("somebody on Discord: %v", err)
	}
}

// Those are written to who may decide there: no bots, nobody who left, nobody who may
// ask only, nobody twice, and nobody who has the card in this conversation.
func TestDeciders(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{}, nil)
	for _, u := range []fakeslack.User{
		{ID: "U0GONE", Name: "gone", Deleted: true},
		{ID: "U0BOT", Name: "robot", Bot: true},
		{ID: "U0GUEST", Name: "guest", Guest: true},
	} {
		o.fake.AddUser(u)
	}
	rules := []string{"user:U0BOB", "user:U0GONE", "user:U0BOT", "user:U0GUEST", "user:U0NOBODY", "user:123456", "group:S0OPS", "group:S0NONE", "role:5"}
	names := func(th chat.ThreadID, most int) (out, unknown []string) {
		t.Helper()
		who, unknown, err := o.a.Deciders(t.Context(), th, rules, most)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range who {
			out = append(out, u.Name)
		}
		return out, unknown
	}
	all, unknown := names(th, 20)
	if !slices.Contains(all, "bob") || len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("found %v", all)
	}
	for _, not := range []string{"gone", "robot", "guest"} {
		if slices.Contains(all, not) {
			t.Errorf("%s is found", not)
		}
	}
	if diff := cmp.Diff([]string{"group:S0NONE"}, unknown); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
	if few, _ := names(th, 1); len(few) != 1 {
		t.Errorf("of one: %v", few)
	}
	if own, _ := names(api.ThreadID(o.a.who().TeamID, o.fake.DM("U0BOB"), "1.000000"), 20); slices.Contains(own, "bob") {
		t.Errorf("in bob's own conversation: %v", own)
	}
	o.fake.Fail(fakeslack.Fault{Method: "usergroups.users.list", Status: 500, Times: -1})
	if _, _, err := o.a.Deciders(t.Context(), th, rules, 20); err == nil {
		t.Error("a Slack that is away is taken for an empty group")
	}
}
