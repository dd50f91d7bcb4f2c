package discord

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/internal/fakediscord"
)

// directly is a card as it stands in a direct conversation.
func directly(home chat.ThreadID) *chat.Approval {
	p := asking("{}")
	p.Home, p.Elsewhere, p.Direct, p.Quiet = home, true, true, true
	return p
}

// A card is shown to somebody directly, once, also when its first attempt got through
// unheard; both ways to vote on it name that message; and it is edited to its outcome.
func TestDirectCard(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	th := thread(o.general, o.fake.Say(o.ada, o.general, o.mention()+" go"))
	dm := o.fake.DM(o.bob)
	o.fake.Inject(fakediscord.Fault{Route: "POST /channels/{channel}/messages", Channel: dm, After: true, Cut: true})
	p := chat.Post{Key: "copy/c1/user:" + o.bob, Approval: directly(th)}
	at, ref, err := o.a.Copy(t.Context(), "user:"+o.bob, p, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, again, err := o.a.Copy(t.Context(), "user:"+o.bob, p, true); err != nil || again != ref {
		t.Errorf("once more it is %v (%v), not %v", again, err, ref)
	}
	if msgs := o.fake.Posts(dm); len(msgs) != 1 || ref != api.RefOf(api.Place{Channel: dm}, msgs[0].ID) || len(msgs[0].Pings) > 0 {
		t.Fatalf("it stands at %v: %+v", ref, msgs)
	}
	o.fake.Click(o.bob, ref.ID, o.fake.Message(ref.ID).Buttons()[0])
	o.fake.React(o.bob, ref.ID, "❌")
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 2 })
	for _, r := range o.in.Reactions {
		if r.On != ref || r.By.ID != chat.UserID(o.bob) || r.By.Barred != "" || r.Button {
			t.Errorf("a vote is %+v", r)
		}
	}
	p.Approval.Outcome, p.Approval.Headline = chat.Denied, "Denied by bob"
	if err := o.a.Edit(t.Context(), at, ref, p); err != nil {
		t.Fatal(err)
	}
	if text := o.fake.Message(ref.ID).Text(); !strings.Contains(text, "Denied by bob") {
		t.Errorf("it says %q", text)
	}
}

// A card in another place leads to the thread, where people see what was said.
func TestCopyLeadsHome(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	th := thread(o.general, o.fake.Say(o.ada, o.general, "go"))
	for _, place := range []string{"user:" + o.bob, "channel:" + o.general} {
		p := directly(th)
		p.Card = api.RefOf(api.PlaceOf(th), "777")
		_, ref, err := o.a.Copy(t.Context(), place, chat.Post{Key: "copy/c1/" + place, Approval: p}, false)
		if err != nil {
			t.Fatal(err)
		}
		if want, text := "[Open the thread]("+o.a.Link(t.Context(), th, p.Card)+")", o.fake.Message(ref.ID).Text(); !strings.Contains(text, want) || !strings.Contains(want, "/777)") {
			t.Errorf("in %s it does not say %q: %s", place, want, text)
		}
	}
}

// A person who takes no messages is a refusal with Discord's words, as is one whom
// there is not; a place of another platform is none.
func TestDirectRefused(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	th := thread(o.general, o.fake.Say(o.ada, o.general, o.mention()+" go"))
	o.fake.CloseDMs(o.bob, true)
	to := func(who string) error {
		_, _, err := o.a.Copy(t.Context(), "user:"+who, chat.Post{Key: "copy/c1/user:" + who, Approval: directly(th)}, false)
		return err
	}
	var r chat.Refused
	if err := to(o.bob); !errors.As(err, &r) || r.Notice() != "Discord refused my answer (50007: cannot send messages to this user)" {
		t.Errorf("closed: %v", err)
	}
	if err := to("12345"); !errors.As(err, &r) || r.Code != "10013" {
		t.Errorf("nobody: %v", err)
	}
	if err := to("U0BOB"); !errors.Is(err, chat.ErrElsewhere) {
		t.Errorf("somebody on Slack: %v", err)
	}
}

// Those are written to who may decide there: no bots, nobody twice, nobody who has the
// card in this conversation, and of a role those whom Discord shows.
func TestDeciders(t *testing.T) {
	t.Parallel()
	for _, shown := range []bool{true, false} {
		f := fakediscord.Options{}
		if shown {
			f.Privileged = fakediscord.IntentGuildMembers
		}
		o := open(t, f, nil)
		ops := o.fake.AddRole(o.guild, "ops", 0)
		robot := o.fake.AddBot("robot")
		o.fake.Join(o.guild, robot)
		for _, who := range []string{o.bob, o.cleo, robot} {
			o.fake.SetRoles(o.guild, who, ops)
		}
		th := thread(o.general, o.fake.Say(o.ada, o.general, o.mention()+" go"))
		rules := []string{"user:" + o.bob, "user:" + robot, "user:99", "user:U0BOB", "role:" + ops, "group:S0OPS"}
		names := func(th chat.ThreadID, most int) (out, unknown []string) {
			t.Helper()
			who, unknown, err := o.a.Deciders(t.Context(), th, rules, most)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range who {
				out = append(out, u.Display())
			}
			slices.Sort(out)
			return out, unknown
		}
		want, not := []string{"bob", "cleo"}, []string(nil)
		if !shown {
			want, not = []string{"bob"}, []string{"role:" + ops}
		}
		found, unknown := names(th, 20)
		if diff := cmp.Diff([][]string{want, not}, [][]string{found, unknown}); diff != "" {
			t.Errorf("shown %v (-want +got):\n%s", shown, diff)
		}
		if few, _ := names(th, 1); len(few) != 1 {
			t.Errorf("of one: %v", few)
		}
		if own, _ := names(api.ThreadID(api.Place{Channel: o.fake.DM(o.bob)}), 20); len(own) > 0 {
			t.Errorf("in bob's own conversation: %v", own)
		}
	}
}

// A role that is not mentionable rings with nobody, so its members are named one by one,
// on the card and where people are called to it; or the message says that nobody hears it.
func TestRoleThatDoesNotRing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name             string
		shown, open, may bool
		pings            []string
		says             string
	}{
		{"named one by one", true, false, false, []string{"bob"}, "-# <@"},
		{"nobody can be named", false, false, false, nil, "rings with nobody"},
		{"mentionable", true, true, false, []string{"ops"}, ""},
		{"the bot may", true, false, true, []string{"ops"}, ""},
	} {
		f := fakediscord.Options{Invite: fakediscord.Usual}
		if tt.shown {
			f.Privileged = fakediscord.IntentGuildMembers
		}
		if tt.may {
			f.Invite |= fakediscord.MentionEveryone
		}
		o := open(t, f, nil)
		ops := o.fake.AddRole(o.guild, "ops", 0)
		if tt.open {
			o.fake.Mentionable(o.guild, ops)
		}
		o.fake.SetRoles(o.guild, o.bob, ops)
		o.fake.SetRoles(o.guild, o.cleo, ops)
		id := o.fake.Say(o.ada, o.general, o.mention()+" go")
		o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
		p := asking("{}")
		p.Approvers, p.Exclude = []string{"role:" + ops}, []chat.User{{ID: chat.UserID(o.cleo)}}
		th := thread(o.general, id)
		card := o.post(th, chat.Post{Key: "p", Approval: p}, false)
		o.post(th, chat.Post{Key: "r", Text: &chat.Text{Markdown: "It waits.", Summons: &chat.Summons{Card: card, Approvers: p.Approvers, Exclude: p.Exclude}}}, false)
		names := map[string]string{o.bob: "bob", o.cleo: "cleo", ops: "ops"}
		for _, m := range o.fake.Posts(id) {
			var got []string
			for _, who := range m.Pings {
				got = append(got, names[who])
			}
			text := m.Content + m.Text()
			if !slices.Equal(got, tt.pings) || !strings.Contains(text, tt.says) || tt.says == "" && strings.Contains(text, "<@"+o.bob) {
				t.Errorf("%s: it pings %q and says %q", tt.name, got, text)
			}
		}
	}
}

// A card in a channel in which much is written is found where it stands already.
func TestCardInABusyChannel(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	th := thread(o.general, o.fake.Say(o.ada, o.general, o.mention()+" go"))
	ops := o.fake.AddChannel(o.guild, "ops")
	for range lookPages*pageSize + 1 {
		o.fake.Say(o.bob, ops, "between us")
	}
	card := asking("{}")
	card.Home, card.Elsewhere = th, true
	p := chat.Post{Key: "copy", Approval: card}
	_, first, err := o.a.Copy(t.Context(), "channel:"+ops, p, false)
	if err != nil {
		t.Fatal(err)
	}
	o.fake.Say(o.bob, ops, "between us")
	o.fake.ForgetNonces()
	if _, again, err := o.a.Copy(t.Context(), "channel:"+ops, p, true); err != nil || again != first || len(o.fake.Posts(ops)) != 1 {
		t.Errorf("once more it is %v (%v), not %v, of %d", again, err, first, len(o.fake.Posts(ops)))
	}
}

// A card may be shown in a thread: votes on it count, by a reaction too.
func TestCardInAThread(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	th := thread(o.general, o.fake.Say(o.ada, o.general, o.mention()+" go"))
	card := asking("{}")
	card.Home, card.Elsewhere = th, true
	_, ref, err := o.a.Copy(t.Context(), "channel:"+o.fake.OpenThread(o.bob, o.general, "", "ops"), chat.Post{Key: "copy", Approval: card}, false)
	if err != nil {
		t.Fatal(err)
	}
	o.fake.Click(o.bob, ref.ID, o.fake.Message(ref.ID).Buttons()[0])
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 1 })
	o.fake.React(o.bob, ref.ID, "✅")
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 2 })
	o.fake.Unreact(o.bob, ref.ID, "✅")
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 3 })
	for _, r := range o.in.Reactions {
		if r.On != ref {
			t.Errorf("a vote on %v is put on %v", ref, r.On)
		}
	}
}
