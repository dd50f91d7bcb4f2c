package discord

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/adapters/discord/api"
	"nod/adapters/discord/commands"
	"nod/chat"
	"nod/internal/fakediscord"
)

// end has a last message come, so that all before it was heard.
func (o *office) end(n int) {
	o.t.Helper()
	o.fake.Say(o.cleo, o.fake.DM(o.cleo), "the end")
	o.in.Await(o.t, func() bool { return len(o.in.Messages) >= n+1 })
}

// Who has called the bot in a thread is answered there without a mention; what
// others say there is kept for what is asked next, and calls nobody.
func TestFollowCallers(t *testing.T) {
	t.Parallel()
	content := fakediscord.Options{Privileged: fakediscord.IntentMessageContent}
	for _, tt := range []struct {
		name     string
		follow   string
		standing func(o *office) chat.Standing
		want     []string // what was put, with "aside" before what calls nobody
	}{
		{"auto", "auto", callers, []string{"and now?", "aside @bob look", "aside I think so", "hey"}},
		{"callers", "callers", callers, []string{"and now?", "aside @bob look", "aside I think so", "hey"}},
		{"muted", "auto", func(o *office) chat.Standing {
			st := callers(o)
			st.Muted = true
			return st
		}, []string{"aside and now?", "aside @bob look", "aside I think so", "hey"}},
		{"said before it was called", "auto", func(o *office) chat.Standing {
			st := callers(o)
			st.First = time.Now().Add(time.Hour)
			return st
		}, []string{"hey"}},
		{"thread", "thread", callers, []string{"and now?", "aside @bob look", "I think so", "hey"}},
		{"mentions", "mentions", callers, []string{"hey"}},
		{"callers not known", "callers", func(*office) chat.Standing { return chat.Standing{Known: true} }, []string{"aside and now?", "aside @bob look", "aside I think so", "hey"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := open(t, content, func(o *Options) { o.Follow = tt.follow })
			th := o.fake.OpenThread(o.ada, o.general, "", "talk")
			o.in.Do(func() { o.in.Threads[thread(o.general, th)] = tt.standing(o) })
			o.fake.Say(o.ada, th, "and now?")
			o.fake.Say(o.ada, th, "<@"+o.bob+"> look")
			o.fake.Say(o.bob, th, "I think so")
			o.fake.Say(o.bob, th, "hey "+o.mention())
			o.fake.Say(o.ada, o.general, "nothing to do with it")
			o.end(len(tt.want))
			var got []string
			for _, m := range o.in.Messages {
				text := m.Text
				if text == "the end" {
					continue
				}
				if m.Aside {
					text = "aside " + text
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || len(o.in.Messages) != len(tt.want)+1 {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A thread that is muted can be told to go on: the word needs no mention, whoever
// says it, as little as the one that mutes it.
func TestMuteHeard(t *testing.T) {
	t.Parallel()
	content := fakediscord.Options{Privileged: fakediscord.IntentMessageContent}
	for _, follow := range []string{"auto", "thread"} {
		t.Run(follow, func(t *testing.T) {
			t.Parallel()
			o := open(t, content, func(o *Options) { o.Follow = follow })
			th, other := o.fake.OpenThread(o.ada, o.general, "", "talk"), o.fake.OpenThread(o.ada, o.general, "", "other")
			muted := callers(o)
			muted.Muted = true
			o.in.Do(func() { o.in.Threads[thread(o.general, th)] = muted })
			o.fake.Say(o.bob, th, "mute")
			o.fake.Say(o.ada, th, "Unmute")
			o.fake.Say(o.ada, other, "unmute") // where nobody has called it that is somebody else's word
			o.end(2)
			for _, m := range o.in.Messages {
				if m.Aside {
					t.Errorf("%q calls nobody", m.Text)
				}
			}
			if got := slices.Sorted(slices.Values(o.in.Texts())); !slices.Equal(got, []string{"Unmute", "mute", "the end"}) {
				t.Errorf("it heard %q", got)
			}
		})
	}
}

func callers(o *office) chat.Standing {
	return chat.Standing{Known: true, Callers: []chat.UserID{chat.UserID(o.ada)}}
}

// Without the intent it says once, in a thread of its own, that it takes a
// mention; elsewhere it says nothing.
func TestHint(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, func(o *Options) { o.Follow = "auto" })
	th, other := o.fake.OpenThread(o.ada, o.general, "", "talk"), o.fake.OpenThread(o.ada, o.general, "", "other")
	o.in.Do(func() { o.in.Threads[thread(o.general, th)] = callers(o) })
	for _, c := range []string{th, other, o.general, th} {
		o.fake.Say(o.ada, c, "and now?")
	}
	o.wait(func(s *fakediscord.Server) bool { return len(s.Posts(th)) > 0 })
	o.fake.Say(o.ada, th, o.mention()+" the end") // comes after all that is said of the others
	o.fake.Say(o.ada, other, o.mention()+" the end")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	if posts := o.fake.Posts(th); len(posts) != 1 || !strings.Contains(posts[0].Content, "only messages that mention me") {
		t.Errorf("posts %+v", posts)
	}
	if len(o.fake.Posts(other))+len(o.fake.Posts(o.general)) > 0 {
		t.Errorf("messages %q", o.in.Texts())
	}
}

// A call that can't be read is said to be that, and calls no model.
func TestBlind(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	o.fake.Say(o.ada, o.general, "<@&"+o.fake.BotRole(o.guild)+"> why?")
	o.wait(func(s *fakediscord.Server) bool { return len(s.Posts(o.general)) == 1 })
	if got := o.fake.Posts(o.general)[0]; !strings.Contains(got.Content, "mention me by name") || len(got.Pings) > 0 {
		t.Errorf("it says %+v", got)
	}
	dm := o.fake.DM(o.ada)
	o.fake.Say(o.ada, dm, "", fakediscord.With{Sticker: "wave"})
	o.fake.Say(o.ada, dm, "", fakediscord.With{Poll: []string{"lunch?", "yes", "no"}})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	said := o.fake.Say(o.ada, dm, "", fakediscord.With{Files: []fakediscord.File{{Name: "voice-message.ogg", Type: "audio/ogg", Data: []byte("x"), Seconds: 11.4}}})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 3 })
	if diff := cmp.Diff([]string{"[sticker: wave]", "[poll: lunch? / yes / no]", "[voice message of 12 s, not written down]"}, o.in.Texts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	o.fake.Edit(said, "hear me")
	o.in.Await(t, func() bool { return len(o.in.Edits) == 1 })
	if got := o.in.Edits[api.RefOf(api.Place{Channel: dm}, said)]; got != "hear me\n[voice message of 12 s, not written down]" {
		t.Errorf("edited, it says %q", got)
	}
}

// That a message which is answered can't be read is said too.
func TestHiddenReference(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	secret := o.fake.Say(o.bob, o.general, "a secret")
	o.fake.Say(o.ada, o.general, o.mention()+" what does this mean?", fakediscord.With{ReplyTo: secret})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	want := []chat.Quote{{From: chat.User{ID: chat.UserID(o.bob), Name: "bob"}, Text: hiddenText, Own: true}}
	if diff := cmp.Diff(want, o.in.Messages[0].Quoted); diff != "" {
		t.Errorf("quoted (-want +got):\n%s", diff)
	}
}

// Nothing of other people's conversations is put, whatever happens in them.
func TestNothingOfOthers(t *testing.T) {
	t.Parallel()
	for _, follow := range []string{"thread", "callers", "mentions"} {
		t.Run(follow, func(t *testing.T) {
			t.Parallel()
			o := open(t, fakediscord.Options{Privileged: fakediscord.IntentMessageContent}, func(o *Options) { o.Follow = follow })
			root := o.fake.Say(o.bob, o.general, "my salary is 100")
			th := o.fake.OpenThread(o.bob, o.general, root, "between us")
			said := o.fake.Say(o.bob, th, "a secret")
			for _, id := range []string{root, said} {
				o.fake.React(o.cleo, id, "👍")
				o.fake.Edit(id, "my salary is 100, not for the bot")
				o.fake.Unreact(o.cleo, id, "👍")
				o.fake.Delete(id)
			}
			o.end(0)
			o.stop()
			if len(o.in.Known) != 1 || len(o.in.Edits)+len(o.in.Deletions)+len(o.in.Reactions)+len(o.in.Messages) != 1 {
				t.Errorf("it was told %v", o.in.Known)
			}
		})
	}
}

// Where a public app is invited by strangers it is not served, unless the file
// says so, and says which key to set. Direct messages count with their writer.
func TestServed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		public bool
		guilds func(own, other string) []string
		want   []string
		said   []string
	}{
		{"own app", false, nil, []string{"direct of ada", "direct of eve", "in other", "in own"}, nil},
		{"public app", true, nil, []string{"direct of ada", "in own"}, []string{"other"}},
		{"listed", true, func(_, other string) []string { return []string{other} }, []string{"direct of eve", "in other"}, []string{"own"}},
		{"own app, listed", false, func(own, _ string) []string { return []string{own} }, []string{"direct of ada", "in own"}, []string{"other"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := build(t, fakediscord.Options{Public: tt.public})
			eve := o.fake.AddUser("eve", "")
			other := o.fake.AddGuild("other", eve)
			channels := map[string]string{"own": o.general, "other": o.fake.AddChannel(other, "general")}
			o.fake.OwnApp(o.cleo)
			o.run(func(opt *Options) {
				if tt.guilds != nil {
					opt.Guilds = tt.guilds(o.guild, other)
				}
			})
			o.fake.Say(o.ada, o.general, o.mention()+" in own")
			for range 2 {
				o.fake.Say(eve, channels["other"], o.mention()+" in other")
			}
			o.fake.Say(o.ada, o.fake.DM(o.ada), "direct of ada")
			o.fake.Say(eve, o.fake.DM(eve), "direct of eve")
			o.in.Await(t, func() bool {
				n := map[string]bool{}
				for _, m := range o.in.Messages {
					n[m.Text] = true
				}
				return len(n) == len(tt.want)
			})
			for _, name := range tt.said {
				o.wait(func(s *fakediscord.Server) bool { return len(s.Posts(channels[name])) == 1 })
				if got := o.fake.Posts(channels[name])[0].Content; !strings.Contains(got, "discord.guilds") {
					t.Errorf("it says %q", got)
				}
			}
			for _, text := range o.in.Texts() {
				if !strings.Contains(strings.Join(tt.want, ","), text) {
					t.Errorf("it heard %q", text)
				}
			}
		})
	}
}

func TestAllow(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	role := o.fake.AddRole(o.guild, "ops", 0)
	o.fake.SetRoles(o.guild, o.bob, role)
	open := o.fake.AddChannel(o.guild, "open")
	o.run(func(opt *Options) { opt.Allow = []string{"user:" + o.ada, "role:" + role, "channel:" + open} })
	for _, who := range []string{o.ada, o.bob, o.cleo} {
		o.fake.Say(who, o.general, o.mention()+" general")
		o.fake.Say(who, open, o.mention()+" open")
		o.fake.Say(who, o.fake.DM(who), "direct")
	}
	o.in.Await(t, func() bool { return len(o.in.Messages) == 7 })
	o.fake.Say(o.ada, o.fake.DM(o.ada), "the end")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 8 })
	for _, m := range o.in.Messages {
		if m.From.ID == chat.UserID(o.cleo) && m.Text != "open" {
			t.Errorf("it heard %+v", m)
		}
	}
}

// The author of an unheard command is told the reason: the server, or they themselves.
func TestCommandUnheard(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{Public: true})
	eve := o.fake.AddUser("eve", "")
	lobby := o.fake.AddChannel(o.fake.AddGuild("other", eve), "lobby")
	o.fake.OwnApp(o.cleo)
	o.run(func(opt *Options) { opt.Commands, opt.Allow = true, []string{"user:" + o.bob} })
	o.wait(func(s *fakediscord.Server) bool { return len(s.Commands()) == len(commands.List) })
	for i, tt := range []struct{ who, channel, want, not string }{
		{o.ada, o.general, "discord.allow", "discord.guilds"},
		{eve, lobby, "discord.guilds", "discord.allow"},
		{o.ada, o.fake.DM(o.ada), "discord.allow", "discord.guilds"},
		{eve, o.fake.DM(eve), "not set up to answer you", "discord"},
	} {
		o.fake.Slash(tt.who, tt.channel, "ask", map[string]any{"question": "why?"})
		o.wait(func(s *fakediscord.Server) bool {
			all := s.Interactions()
			return len(all) > i && len(all[i].Replies) == 1
		})
		got := o.fake.Interactions()[i].Replies[0]
		if !strings.Contains(got.Content, tt.want) || strings.Contains(got.Content, tt.not) || got.Reader != tt.who {
			t.Errorf("%d: %q for %q", i, got.Content, got.Reader)
		}
	}
}

// A found reaction of an unheard person decides nothing either.
func TestAllowOfFoundReactions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		allow func(o *office, role string) []string
		heard []string // besides ada
	}{
		{"user", func(*office, string) []string { return nil }, nil},
		{"role", func(_ *office, role string) []string { return []string{"role:" + role} }, []string{"bob"}},
		{"channel", func(o *office, _ string) []string { return []string{"channel:" + o.general} }, []string{"bob", "cleo"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := build(t, fakediscord.Options{})
			role := o.fake.AddRole(o.guild, "ops", 0)
			o.fake.SetRoles(o.guild, o.bob, role)
			allow := func(opt *Options) { opt.Allow = append(tt.allow(o, role), "user:"+o.ada) }
			o.run(allow)
			th := thread(o.general, o.fake.Say(o.ada, o.general, o.mention()+" go"))
			p := asking("{}")
			ref := o.post(th, chat.Post{Key: "p", Approval: p}, false)
			o.in.Do(func() {
				o.in.Waiting = []chat.Pending{{Thread: th, Ref: ref, Call: p.Call, Approve: p.Approve, Deny: p.Deny}}
			})
			o.stop()
			o.fake.ForgetSessions() // else it would simply go on
			for _, who := range []string{o.ada, o.bob, o.cleo} {
				o.fake.React(who, ref.ID, "✅")
			}
			o.run(allow)
			o.in.Await(t, func() bool { return len(o.in.Reactions) == 3 })
			for _, r := range o.in.Reactions {
				by, err := o.a.Who(t.Context(), th.Channel, r.By)
				if want := by.ID == chat.UserID(o.ada) || slices.Contains(tt.heard, by.Name); err != nil || (by.Barred == "") != want {
					t.Errorf("%s is barred by %q, %v", by.Name, by.Barred, err)
				}
			}
		})
	}
}

// A person who left the server, or lost the role that is heard, decides nothing there any
// more. The vote looks them up at the home of the call, also after a click on a copy of the
// card in a direct conversation.
func TestVoterIsLookedUpAtHome(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	role := o.fake.AddRole(o.guild, "ops", 0)
	o.fake.SetRoles(o.guild, o.bob, role)
	o.run(func(opt *Options) { opt.Allow = []string{"role:" + role, "user:" + o.ada} })
	home := thread(o.general, "1").Channel
	barred := func(user string) string {
		by, err := o.a.Who(t.Context(), home, chat.User{ID: chat.UserID(user)})
		if err != nil {
			t.Error(err)
		}
		return by.Barred
	}
	if a, b := barred(o.ada), barred(o.bob); a != "" || b != "" {
		t.Errorf("barred: %q, %q", a, b)
	}
	o.fake.Leave(o.guild, o.ada)
	o.fake.SetRoles(o.guild, o.bob)
	if a, b := barred(o.ada), barred(o.bob); a != "only members of this server may decide here" || b != "only those whom discord.allow names may decide here" {
		t.Errorf("barred: %q, %q", a, b)
	}
}

// A vote of an earlier process may be judged before this one has signed in. Until then nobody
// can say whether the server is served, so it waits.
func TestVoterWaitsForTheSignIn(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	a, err := New(o.options())
	if err != nil {
		t.Fatal(err)
	}
	looked := make(chan chat.User, 1)
	go func() {
		by, err := a.Who(t.Context(), thread(o.general, "1").Channel, chat.User{ID: chat.UserID(o.ada)})
		if err != nil {
			t.Error(err)
		}
		looked <- by
	}()
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- a.Run(ctx) }()
	if by := <-looked; by.Barred != "" {
		t.Errorf("before the sign-in she is barred: %q", by.Barred)
	}
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
}
