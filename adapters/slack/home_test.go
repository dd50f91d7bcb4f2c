package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/internal/fakeslack"
	"nod/internal/ledger"
)

// lobby is an inbox that has approvals in some threads, which anybody may give
// who is in the group.
type lobby struct {
	*ledger.Ledger
	waits []chat.Waits
	facts map[string][]string // by the channel of a direct conversation
}

func (l *lobby) Home(ctx context.Context, platform string, v chat.Visit) (chat.Home, error) {
	if platform != Platform || v.Who.Barred != "" {
		return chat.Home{}, nil
	}
	h := chat.Home{
		Limits: []chat.Allowance{{Of: "what one person may use in a day", Used: "1200", Most: "200000 tokens"}},
		Tools:  []chat.Offer{{Name: "deploy", About: "Deploys <!channel> *now*.", Risk: "asks for approval: group:S0OPS"}},
	}
	h.Facts = l.facts[api.ChannelOf(v.Direct.Channel)]
	for _, w := range l.waits {
		if !v.Sees(w.Thread) {
			continue
		}
		if ok, err := v.Member(ctx, w.Thread, "group:S0OPS"); ok && err == nil {
			h.Waiting = append(h.Waiting, w)
		}
	}
	return h, nil
}

// The Home tab lists the reader's waiting approvals in conversations that they see, and
// no others.
func TestHome(t *testing.T) {
	t.Parallel()
	const private = "C0SECRET" // with ada and bob; in the group are bob and cleo
	in := &lobby{}
	o := open(t, fakeslack.Options{}, func(o *Options) { in.Ledger = o.Inbox.(*ledger.Ledger); o.Inbox, o.Groups = in, true })
	dm := o.fake.DM("U0BOB")
	for i, channel := range []string{general, private, dm} {
		th := thread(channel, fmt.Sprintf("17%d.000100", i))
		in.waits = append(in.waits, chat.Waits{
			Thread: th, Ref: api.RefOf(fakeslack.Team, channel, fmt.Sprintf("17%d.000200", i)), Number: i + 1, Tool: "deploy",
			Requester: chat.User{ID: "U0CLEO"}, Deadline: time.Unix(1795000000, 0),
		})
	}
	home := func(user string) string {
		t.Helper()
		n := len(o.fake.Calls("views.publish"))
		o.fake.OpenHome(user, "home")
		o.wait(func(s *fakeslack.Server) bool { return len(s.Calls("views.publish")) == n+1 })
		for _, v := range o.fake.Views(user) {
			if v.Type == "home" {
				return unescaped(v.Raw)
			}
		}
		return ""
	}
	for user, want := range map[string][]int{"U0BOB": {1, 2, 3}, "U0CLEO": {1}, "U0ADA": nil} {
		got := home(user)
		for n := 1; n <= 3; n++ {
			if strings.Contains(got, fmt.Sprintf("*Approval %d:*", n)) != slices.Contains(want, n) {
				t.Errorf("%s sees approval %d, or not: %s", user, n, got)
			}
		}
		if len(want) == 0 != strings.Contains(got, "None.") || !strings.Contains(got, "1200 of 200000 tokens used") || !strings.Contains(got, "asks for approval: group:S0OPS") {
			t.Errorf("%s: %s", user, got)
		}
	}
	link := "https://fake.slack.com/archives/" + general + "/p170000200?cid=" + general + "&amp;thread_ts=170.000100"
	if got := home("U0BOB"); !strings.Contains(got, link) || !strings.Contains(got, "in <#"+private+">") || !strings.Contains(got, "in our conversation") {
		t.Errorf("bob: %s", got)
	}
	// When Slack does not say in which channels somebody is, they see none of them.
	fault := o.fake.Fail(fakeslack.Fault{Method: "users.conversations", Error: "missing_scope", Times: -1})
	if got := home("U0BOB"); strings.Contains(got, "*Approval 1:*") || !strings.Contains(got, "*Approval 3:*") {
		t.Errorf("without a list of channels: %s", got)
	}
	fault.Cancel()
	// A tab that Slack refuses harms nothing; other tabs are not the bot's.
	o.fake.Fail(fakeslack.Fault{Method: "views.publish", Error: "not_enabled"})
	home("U0BOB")
	o.fake.OpenHome("U0ADA", "messages")
	home("U0BOB")
}

// The tab lists facts of the conversation that Slack calls the reader's own, as they stand,
// and those of no other one.
func TestHomeListsOwnFacts(t *testing.T) {
	t.Parallel()
	in := &lobby{}
	o := open(t, fakeslack.Options{}, func(o *Options) { in.Ledger = o.Inbox.(*ledger.Ledger); o.Inbox = in })
	own, other := o.fake.DM("U0ADA"), o.fake.DM("U0BOB")
	in.facts = map[string][]string{own: {`1: "<!channel> <https://x.example|tea> *now*"`}, other: {"a secret of bob"}, general: {"a fact of all"}}
	for channel, want := range map[string]bool{own: true, other: false, general: false, "": false, "D0GONE": false} {
		if err := o.a.publish(t.Context(), api.Event{User: "U0ADA", Channel: channel}); err != nil {
			t.Fatal(err)
		}
		home := unescaped(o.fake.Views("U0ADA")[0].Raw)
		if strings.Contains(home, `{"type":"text","text":"1: "<!channel> <https://x.example|tea> *now*""}`) != want ||
			strings.Contains(home, "Facts of our conversation") != want || strings.Contains(home, "a secret") || strings.Contains(home, "a fact") {
			t.Errorf("opened in %q: %s", channel, home)
		}
	}
}

// A person of another organisation is not heard, and sees nothing.
func TestHomeOfStrangers(t *testing.T) {
	t.Parallel()
	in := &lobby{}
	o := open(t, fakeslack.Options{}, func(o *Options) { in.Ledger = o.Inbox.(*ledger.Ledger); o.Inbox = in })
	o.fake.AddUser(fakeslack.User{ID: "U0EVE", Name: "eve", Team: "T0OTHER", Stranger: true})
	o.fake.OpenHome("U0EVE", "home")
	o.fake.OpenHome("U0ADA", "home")
	o.wait(func(s *fakeslack.Server) bool { return len(s.Calls("views.publish")) == 1 && s.Unacked() == 0 })
	o.a.working.calls.Wait()
	if v := o.fake.Views("U0EVE"); len(v) > 0 {
		t.Errorf("eve sees %s", v[0].Raw)
	}
}

// A person who is not heard sees no tools and no rules.
func TestHomeIsForWhoIsHeard(t *testing.T) {
	t.Parallel()
	in := &lobby{}
	o := open(t, fakeslack.Options{}, func(o *Options) {
		in.Ledger = o.Inbox.(*ledger.Ledger)
		o.Inbox, o.Allow = in, []string{"user:U0ADA"}
	})
	o.fake.OpenHome("U0BOB", "home")
	o.fake.OpenHome("U0ADA", "home")
	o.wait(func(s *fakeslack.Server) bool { return len(s.Calls("views.publish")) > 0 && s.Unacked() == 0 })
	o.a.working.calls.Wait()
	if v := o.fake.Views("U0BOB"); len(v) > 0 {
		t.Errorf("bob sees %s", v[0].Raw)
	}
}

// However much there is, the tab is one that Slack takes.
func TestHomeIsNeverTooLong(t *testing.T) {
	var h chat.Home
	for i := range 1000 {
		h.Facts = append(h.Facts, strings.Repeat("漢\"", 1000))
		h.Tools = append(h.Tools, chat.Offer{Name: fmt.Sprint("tool", i), About: strings.Repeat("漢\"", 1000), Risk: strings.Repeat("r", 1000)})
	}
	for i := range 20 {
		h.Waiting = append(h.Waiting, chat.Waits{Number: i, Tool: strings.Repeat("t", 500), Thread: thread(general, "1.2"), Ref: api.RefOf(fakeslack.Team, general, "1.3")})
	}
	h.Further = 30
	view := homeView(h, "https://x.slack.com/", time.Unix(0, 0))
	raw, err := json.Marshal(view)
	if n := len(view.Blocks.BlockSet); err != nil || n > layout.MostModal || len(raw) > 250_000 {
		t.Errorf("%d blocks, %d bytes, %v", n, len(raw), err)
	}
	if !strings.Contains(string(raw), "and 800 more") || !strings.Contains(string(raw), "and 950 more") || !strings.Contains(string(raw), "and 30 more") {
		t.Error("it does not say that there is more")
	}
}
