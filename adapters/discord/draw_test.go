package discord

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/internal/fakediscord"
)

var person1 = chat.User{ID: "42", Name: "Ada"}

func asking(args string) *chat.Approval {
	return &chat.Approval{
		Call: "c-7", Tool: "deploy", Headline: "Approval: deploy", Args: args, Digest: chat.Sum(args), Requester: person1,
		Approvers: []string{"requester", "role:77", "user:9", "anyone"}, Quorum: 2, Exclude: []chat.User{{ID: "5"}},
		Approve: []string{"✅", "👍"}, Deny: []string{"❌"}, Deadline: time.Unix(1_800_000_000, 0), Why: "it sends data out",
	}
}

// A post whose outcome is unknown stands once: while Discord knows the nonce,
// and after that.
func TestAmbiguousPosts(t *testing.T) {
	t.Parallel()
	posts := map[string]chat.Post{
		"answer":   answer("a/1", "done"),
		"long":     answer("a/2", strings.Repeat("a line of words\n\n", 200)),
		"file":     answer("a/3", strings.Repeat("a line of words\n\n", 2000)),
		"steps":    {Key: "s/1", Steps: &chat.Steps{Turn: "3", Status: "Running deploy"}},
		"approval": {Key: "p/1", Approval: asking(`{"env":"prod"}`)},
	}
	for name, p := range posts {
		for _, fault := range []fakediscord.Fault{
			{Route: postRoute, After: true, Status: 502},
			{Route: postRoute, After: true, Cut: true},
			{Route: postRoute, Status: 500},
			{Route: postRoute, Cut: true},
			{Route: postRoute, Status: 429, RetryAfter: time.Millisecond},
			{Route: postRoute, Skip: 1, After: true, Status: 504},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := p
				o := open(t, fakediscord.Options{}, nil)
				dm := o.fake.DM(o.ada)
				p.ReplyTo = api.RefOf(api.Place{Channel: dm}, o.fake.Say(o.ada, dm, "go"))
				o.fake.Inject(fault)
				first := o.post(direct(dm), p, false)
				stands := len(o.fake.Posts(dm))
				if want := len(messagesOf(direct(dm), messageOf(p))); stands != want {
					t.Fatalf("%d messages, want %d", stands, want)
				}
				o.stop()
				o.fake.ForgetNonces()
				o.run(nil) // a later process isn't sure whether it was made
				if again := o.post(direct(dm), p, true); again != first || len(o.fake.Posts(dm)) != stands {
					t.Errorf("looked for, there are %d messages, %v and %v", len(o.fake.Posts(dm)), first, again)
				}
				other := p
				other.Key, other.ReplyTo = "another", api.RefOf(api.Place{Channel: dm}, o.fake.Say(o.ada, dm, "again"))
				if another := o.post(direct(dm), other, true); another == first {
					t.Error("the post of another question was taken for this one")
				}
			})
		}
	}
}

// After a thread could not be made for sure, there is one thread.
func TestAmbiguousThread(t *testing.T) {
	t.Parallel()
	for _, fault := range []fakediscord.Fault{
		{Route: threadRoute, After: true, Status: 502}, {Route: threadRoute, Status: 503}, {Route: threadRoute, After: true, Cut: true},
	} {
		o := build(t, fakediscord.Options{})
		o.fake.Inject(fault)
		o.run(nil)
		id := o.fake.Say(o.ada, o.general, o.mention()+" go")
		o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
		o.post(thread(o.general, id), answer("a", "done"), false)
		if len(o.fake.Threads(o.general)) != 1 || len(o.fake.Posts(id)) != 1 {
			t.Errorf("threads %+v, posts %+v", o.fake.Threads(o.general), o.fake.Posts(id))
		}
	}
}

// A process that died between hearing a question and making its thread is
// followed by one that makes it, with the question as its title.
func TestThreadAfterCrash(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	id := o.fake.Say(o.ada, o.general, o.mention()+" what now?")
	o.run(nil)
	o.post(thread(o.general, id), answer("a", "nothing"), true)
	if got := o.fake.Threads(o.general); len(got) != 1 || got[0].Name != "what now?" {
		t.Errorf("threads %+v", got)
	}
}

func TestGone(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	o.post(thread(o.general, id), answer("a", "hi"), false)
	o.fake.DeleteChannel(id)
	o.fake.Say(o.ada, o.general, o.mention()+" and now?") // by then it knows
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	if _, err := o.a.Post(t.Context(), thread(o.general, id), answer("b", "hi"), false); !errors.Is(err, chat.ErrGone) {
		t.Errorf("post in a deleted thread: %v", err)
	}
	dm := o.fake.DM(o.ada)
	o.fake.CloseDMs(o.ada, true)
	if _, err := o.a.Post(t.Context(), direct(dm), answer("a", "hi"), false); !errors.Is(err, chat.ErrGone) {
		t.Errorf("post: %v", err)
	}
	ref := api.RefOf(api.Place{Channel: dm}, "123")
	if err := o.a.Edit(t.Context(), direct(dm), ref, answer("a", "hi")); !errors.Is(err, chat.ErrGone) {
		t.Errorf("edit: %v", err)
	}
	if err := o.a.React(t.Context(), ref, "👀"); !errors.Is(err, chat.ErrGone) {
		t.Errorf("react: %v", err)
	}
}

// The steps are edited in place, never backwards, and a reader gets them in
// full, alone, in pages, also from another process.
func TestSteps(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	th := thread(o.general, id)
	step := chat.Steps{Turn: "3", Version: 5, Status: "Running deploy", Items: []chat.Step{{
		Thought: "I have to.", Calls: []chat.ToolCall{{Tool: "deploy", Args: `{"env":"prod"}`, State: chat.CallRunning}},
	}}}
	ref := o.post(th, chat.Post{Key: "s", Steps: &step}, false)
	if got := o.fake.Message(ref.ID).Content; got != "⏳ Step 1 · Running deploy …" {
		t.Errorf("at work it says %q", got)
	}
	step.Version, step.Done, step.Status, step.Took = 9, true, "Done", 3100*time.Millisecond
	step.Items = append(step.Items, chat.Step{Calls: []chat.ToolCall{{
		Tool: "calculator", Args: `{"e":"1+1"}`, State: chat.CallDone, Observation: strings.Repeat("```2```\n", 500),
	}}})
	if err := o.a.Edit(t.Context(), th, ref, chat.Post{Key: "s", Steps: &step}); err != nil {
		t.Fatal(err)
	}
	old := chat.Steps{Turn: "3", Version: 7, Status: "old", Done: true}
	if err := o.a.Edit(t.Context(), th, ref, chat.Post{Key: "s", Steps: &old}); err != nil {
		t.Fatal(err)
	}
	if got := o.fake.Message(ref.ID).Content; got != "2 steps · 3.1 s · deploy, calculator" {
		t.Errorf("in the end it says %q", got)
	}
	o.stop()
	o.run(nil)
	o.fake.ForgetNonces()
	if again := o.post(th, chat.Post{Key: "s", Steps: &old}, true); again != ref {
		t.Errorf("it was posted again: %v and %v", ref, again)
	}
	o.in.Do(func() { o.in.Turns["3"] = step })
	o.fake.Click(o.bob, ref.ID, o.fake.Message(ref.ID).Buttons()[0])
	o.wait(func(s *fakediscord.Server) bool { return len(s.Ephemerals(o.bob)) == 1 })
	page := o.fake.Ephemerals(o.bob)[0]
	for _, want := range []string{"**Thought**", "I have to.", "**Action** `deploy`", `{"env":"prod"}`, "**Observation** (done)"} {
		if !strings.Contains(page.Content, want) {
			t.Errorf("the page lacks %q: %s", want, page.Content)
		}
	}
	o.fake.Click(o.bob, page.ID, page.Buttons()[0])
	o.wait(func(s *fakediscord.Server) bool { return strings.Contains(s.Message(page.ID).Content, "page 2 of") })
	page = o.fake.Message(page.ID)
	if len(page.Buttons()) != 2 || len(o.fake.Ephemerals(o.bob)) != 1 {
		t.Errorf("page 2 has %q", page.Buttons())
	}
	o.fake.Click(o.bob, page.ID, page.Buttons()[0])
	o.wait(func(s *fakediscord.Server) bool { return strings.Contains(s.Message(page.ID).Content, "page 1 of") })
	if len(o.fake.Ephemerals(o.ada))+len(o.fake.Ephemerals(o.cleo)) != 0 {
		t.Error("others see them")
	}
}

// The last form of steps is written again until Discord has taken it.
func TestStepsUntilTaken(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]fakediscord.Fault{
		"one call too many":  {Status: http.StatusTooManyRequests},
		"no answer":          {Cut: true},
		"an answer of above": {Status: http.StatusBadGateway},
		"archived":           {},
	} {
		t.Run(name, func(t *testing.T) {
			o := open(t, fakediscord.Options{}, nil)
			id := o.fake.Say(o.ada, o.general, o.mention()+" go")
			th := thread(o.general, id)
			step := chat.Steps{Turn: "3", Version: 5, Status: "Running deploy"}
			ref := o.post(th, chat.Post{Key: "s", Steps: &step}, false)
			if fault.Status != 0 || fault.Cut {
				fault.Route = editRoute
				o.fake.Inject(fault)
			} else {
				o.fake.Archive(id, true, false)
			}
			step.Version, step.Done, step.Status = 9, true, "Done"
			if err := o.a.Edit(t.Context(), th, ref, chat.Post{Key: "s", Steps: &step}); err != nil {
				t.Fatal(err)
			}
			if got := o.fake.Message(ref.ID); got.Content != "0 steps" || len(got.Buttons()) != 1 {
				t.Errorf("in the end it says %q, with the buttons %q", got.Content, got.Buttons())
			}
		})
	}
}

// When the store takes its time the click is answered in time all the same.
func TestSlowSteps(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, func(o *Options) { o.Defer = time.Millisecond })
	dm := o.fake.DM(o.ada)
	ref := o.post(direct(dm), chat.Post{Key: "s", Steps: &chat.Steps{Turn: "3"}}, false)
	slow := make(chan struct{})
	o.in.Do(func() { o.in.Slow = slow; o.in.Turns["3"] = chat.Steps{Done: true, Status: "Done"} })
	o.fake.Click(o.ada, ref.ID, o.fake.Message(ref.ID).Buttons()[0])
	o.wait(func(s *fakediscord.Server) bool { return s.Interactions()[0].Answer == answerPromise })
	close(slow)
	o.wait(func(s *fakediscord.Server) bool {
		e := s.Ephemerals(o.ada)
		return len(e) == 1 && strings.Contains(e[0].Content, "0 steps")
	})
}

func TestApproval(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	p := asking(`{"env":"prod","note":"@everyone ` + "```" + `"}`)
	ref := o.post(th, chat.Post{Key: "p", Approval: p}, false)
	got := o.fake.Message(ref.ID)
	for _, want := range []string{
		"Approval: deploy\n", "it sends data out", "```json\n{\"env\":\"prod\",\"note\":\"@everyone \\u0060\\u0060\\u0060\"}\n```",
		"**Asked by** <@42>", "**May approve:** <@42>, <@&77>, <@9>, anyone here (2 different people have to)", "**Not:** <@5>", "<t:1800000000:f> (<t:1800000000:R>)", "-# call `c-7` · digest `" + p.Digest[:12] + "`",
	} {
		if !strings.Contains(got.Text(), want) {
			t.Errorf("the approval lacks %q:\n%s", want, got.Text())
		}
	}
	var on []string
	for _, r := range o.fake.Reactions(ref.ID) {
		on = append(on, r.Emoji.Name)
	}
	if !slices.Equal(on, []string{"✅", "❌"}) || false {
		t.Errorf("reactions %q, pings %q", on, o.fake.Pings(id))
	}
	p.By = []chat.User{person1}
	for outcome, want := range map[chat.Outcome]string{
		"": "1 of 2 approved: <@42>", chat.Approved: "Approved by " + person1.Display(), chat.Denied: "Denied by " + person1.Display(), chat.Expired: "Expired", chat.Cancelled: "Cancelled",
	} {
		if p.Outcome = outcome; outcome != "" {
			p.Headline = want
		}
		if err := o.a.Edit(t.Context(), th, ref, chat.Post{Key: "p", Approval: p}); err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(o.fake.Message(ref.ID).Text(), "\n")
		if outcome == "" {
			first = o.fake.Message(ref.ID).Text()
		}
		if outcome != "" && first != want || !strings.Contains(first, want) {
			t.Errorf("%s: it begins with %q", outcome, first)
		}
		if n := len(o.fake.Message(ref.ID).Buttons()); n > 0 != (outcome == "") {
			t.Errorf("%s: it has %d buttons", outcome, n)
		}
	}
}

// Arguments that don't fit come along as a file, which an edit leaves there.
func TestLongArguments(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	dm := o.fake.DM(o.ada)
	args := `{"text":"` + strings.Repeat("é", 5000) + `"}`
	p := asking(args)
	ref := o.post(direct(dm), chat.Post{Key: "p", Approval: p}, false)
	p.Outcome = chat.Expired
	if err := o.a.Edit(t.Context(), direct(dm), ref, chat.Post{Key: "p", Approval: p}); err != nil {
		t.Fatal(err)
	}
	got := o.fake.Message(ref.ID)
	if len(got.Files) != 1 || string(got.Files[0].Data) != args || !strings.Contains(got.Content, chat.Sum(args)[:12]) {
		t.Errorf("files %d, %s", len(got.Files), got.Content)
	}
}

// A thread that was archived meanwhile is opened by what is posted or changed in
// it; one that was locked too is closed to the bot.
func TestArchived(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	p := asking("{}")
	ref := o.post(th, chat.Post{Key: "p", Approval: p}, false)
	archived := func(want bool) {
		t.Helper()
		if got := o.fake.Threads(o.general)[0]; got.Archived != want {
			t.Errorf("the thread is %+v", got)
		}
	}
	o.fake.Archive(id, true, false)
	p.Outcome, p.Headline = chat.Expired, "Expired"
	if err := o.a.Edit(t.Context(), th, ref, chat.Post{Key: "p", Approval: p}); err != nil {
		t.Fatal(err)
	}
	if got := o.fake.Message(ref.ID).Text(); !strings.HasPrefix(got, "Expired\n") {
		t.Errorf("it is %q", got)
	}
	archived(false)
	o.fake.Archive(id, true, false)
	o.post(th, answer("a", "done"), false)
	archived(false)
	o.fake.Archive(id, true, true)
	if err := o.a.Edit(t.Context(), th, ref, chat.Post{Key: "p", Approval: p}); !errors.Is(err, chat.ErrGone) {
		t.Errorf("edit in a locked thread: %v", err)
	}
	if _, err := o.a.Post(t.Context(), th, answer("b", "more"), false); !errors.Is(err, chat.ErrGone) {
		t.Errorf("post in a locked thread: %v", err)
	}
	archived(true)
}

// React finds the message that began a thread in the channel above it.
func TestReact(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	o.post(th, answer("a", "done"), false)
	below := o.fake.Say(o.ada, id, "more")
	for _, m := range []string{id, below} {
		for range 2 {
			if err := o.a.React(t.Context(), api.RefOf(api.PlaceOf(th), m), chat.EmojiSeen); err != nil {
				t.Fatal(err)
			}
		}
		if got := o.fake.Reactions(m); len(got) != 1 || got[0].Emoji.Name != chat.EmojiSeen {
			t.Errorf("reactions %+v", got)
		}
	}
}

// A private word goes away again, at the latest when the bot does.
func TestWhisper(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, func(o *Options) { o.Brief = time.Hour })
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	ref := o.post(th, answer("a", "done"), false)
	if err := o.a.Whisper(t.Context(), th, chat.User{ID: chat.UserID(o.bob)}, ref, "You may not."); err != nil {
		t.Fatal(err)
	}
	posts := o.fake.Posts(id)
	if got := posts[len(posts)-1]; got.Content != "-# <@"+o.bob+"> You may not." || got.ReplyTo != ref.ID || len(got.Pings) > 0 {
		t.Errorf("it says %+v", got)
	}
	o.stop()
	if got := o.fake.Posts(id); len(got) != 1 {
		t.Errorf("left: %+v", got)
	}
	o.run(func(o *Options) { o.Brief = time.Millisecond })
	if err := o.a.Whisper(t.Context(), th, chat.User{ID: chat.UserID(o.bob)}, ref, "No."); err != nil {
		t.Fatal(err)
	}
	o.wait(func(s *fakediscord.Server) bool {
		return len(s.Calls("DELETE /channels/{channel}/messages/{message}")) == 2
	})
}

// A private word is said once and goes away again, also if Discord's answer is lost.
func TestWhisperLost(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, func(o *Options) { o.Brief = time.Millisecond })
	dm := o.fake.DM(o.ada)
	o.fake.Inject(fakediscord.Fault{Route: postRoute, After: true, Cut: true})
	if err := o.a.Whisper(t.Context(), direct(dm), chat.User{ID: chat.UserID(o.ada)}, chat.MessageRef{}, "You may not."); err != nil {
		t.Fatal(err)
	}
	o.wait(func(s *fakediscord.Server) bool {
		return len(s.Calls("DELETE /channels/{channel}/messages/{message}")) == 1 && len(s.Posts(dm)) == 0
	})
	if n := len(o.fake.Calls(postRoute)); n != 2 {
		t.Errorf("%d attempts, want 2", n)
	}
}

func TestWorking(t *testing.T) {
	t.Parallel()
	const typing = "POST /channels/{channel}/typing"
	o := open(t, fakediscord.Options{}, nil)
	dm := direct(o.fake.DM(o.ada))
	o.a.Working(dm, chat.Work{What: "Thinking"})
	o.a.Working(dm, chat.Work{What: "Thinking"})
	o.wait(func(s *fakediscord.Server) bool { return len(s.Calls(typing)) >= 1 })
	o.post(dm, answer("a", "a first word"), false) // clears the sign
	o.wait(func(s *fakediscord.Server) bool { return len(s.Calls(typing)) >= 2 })
	o.a.Working(dm, chat.Work{})
	o.a.Working(dm, chat.Work{})
	if o.a.working.goesOn(dm, nil) == false {
		t.Error("it is at work")
	}
}

// Before there are steps, a silent message says what the bot does and for how long, with a
// button to stop it. It goes when steps or the end come.
func TestSignInWords(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	dm := o.fake.DM(o.ada)
	shows := func(want ...string) {
		t.Helper()
		o.wait(func(s *fakediscord.Server) bool {
			var got []string
			for _, p := range s.Posts(dm) {
				got = append(got, p.Content)
			}
			return slices.Equal(got, want)
		})
	}
	works := func(what string, long time.Duration) { o.a.Working(direct(dm), chat.Work{What: what, For: long}) }
	works("Thinking", 0)
	works("Thinking", 10*time.Second)
	shows("⏳ Thinking · 10 s …")
	p := o.fake.Posts(dm)[0]
	if p.Flags&int(discordgo.MessageFlagsSuppressNotifications) == 0 || len(p.Buttons()) != 1 {
		t.Errorf("the sign is %+v", p)
	}
	works("Thinking", time.Minute)
	shows("⏳ Thinking · 60 s …")
	steps := chat.Post{Key: "s", Steps: &chat.Steps{Turn: "1", Version: 1, Status: "Running fetch"}}
	o.post(direct(dm), steps, false)
	works("Running fetch", 10*time.Second) // the steps say it
	shows("⏳ Running fetch …")
	o.a.Working(direct(dm), chat.Work{})
	works("Thinking", 30*time.Second)
	shows("⏳ Running fetch …", "⏳ Thinking · 30 s …")
	o.a.Working(direct(dm), chat.Work{})
	shows("⏳ Running fetch …")
	works("Thinking", 30*time.Second)
	shows("⏳ Running fetch …", "⏳ Thinking · 30 s …")
	o.stop()
	shows("⏳ Running fetch …")
	o.run(nil)
	works("Thinking", 30*time.Second)
	shows("⏳ Running fetch …", "⏳ Thinking · 30 s …")
	r := &o.a.remarks
	o.until("the process knows its message, and forgets it as if it were killed", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		defer clear(r.left)
		return len(r.left) > 0
	})
	o.stop()
	shows("⏳ Running fetch …", "⏳ Thinking · 30 s …")
	o.run(nil)
	works("Thinking", 0) // the next process takes it away
	shows("⏳ Running fetch …")
}

func TestMembers(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	role := o.fake.AddRole(o.guild, "ops", 0)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th, dm := thread(o.general, id), direct(o.fake.DM(o.ada))
	o.fake.SetRoles(o.guild, o.ada, role)
	member := func(th chat.ThreadID, who, rule string) bool {
		are, err := o.a.Members(t.Context(), th, rule, []chat.UserID{chat.UserID(who)})
		if err != nil {
			t.Error(err)
		}
		return len(are) == 1
	}
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	if !member(th, o.ada, "role:"+role) || member(th, o.bob, "role:"+role) || member(th, "999", "role:"+role) || !member(th, o.bob, "role:"+o.guild) {
		t.Error("roles are wrong")
	}
	o.fake.SetRoles(o.guild, o.ada)
	if member(th, o.ada, "role:"+role) || member(th, o.ada, "group:"+role) || member(dm, o.ada, "role:"+role) {
		t.Error("a role that was taken back counts")
	}
	ctx := t.Context()
	if !o.a.Possible(ctx, th, "role:"+role) || o.a.Possible(ctx, th, "role:1") || o.a.Possible(ctx, dm, "role:"+role) || o.a.Possible(ctx, th, "group:S1") {
		t.Error("what is possible is wrong")
	}
	o.fake.Inject(fakediscord.Fault{Route: "GET /guilds/{guild}/members/{user}", Status: 500})
	if are, err := o.a.Members(ctx, th, "role:"+role, []chat.UserID{chat.UserID(o.ada)}); len(are) > 0 || err == nil {
		t.Errorf("members %v, %v", are, err)
	}
}

// Thirty conversations at once, and one with many messages, under Discord's own
// limits: everything arrives, and next to nothing is refused: a call that a busy
// machine holds up on its way may come in a window that is full.
func TestUnderLimits(t *testing.T) {
	t.Parallel()
	refused := 0
	for _, scale := range []float64{5, 2, 1} { // the quicker, the more calls a busy machine makes arrive too early
		if refused = underLimits(t, scale); refused <= 25 {
			return
		}
	}
	t.Errorf("%d calls were refused as too many", refused)
}

// underLimits plays a burst so many times as fast as Discord is, and counts refused calls.
func underLimits(t *testing.T, scale float64) (refused int) {
	o := build(t, fakediscord.Options{LimitScale: scale})
	var dms []string
	for range 30 {
		dms = append(dms, o.fake.DM(o.fake.AddUser("somebody", "")))
	}
	o.run(func(opt *Options) { opt.Pace, opt.Stagger = scale, time.Second })
	var all sync.WaitGroup
	for _, dm := range dms {
		all.Go(func() {
			p := chat.Post{Key: "p", Approval: asking("{}")}
			ref, err := o.a.Post(context.Background(), direct(dm), p, false)
			if err != nil {
				t.Error(err)
			}
			for i, key := range strings.Split("abcdefghijkl", "") {
				if _, err := o.a.Post(context.Background(), direct(dm), answer(key, key), false); err != nil {
					t.Error(err)
				}
				if i == 3 {
					if err := o.a.Edit(context.Background(), direct(dm), ref, p); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	for _, dm := range dms {
		if n := len(o.fake.Posts(dm)); n != 13 {
			t.Errorf("%d messages in a DM", n)
		}
	}
	return o.fake.RateLimited()
}
