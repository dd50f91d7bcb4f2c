package discord

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/internal/fakediscord"
)

// A refusal is for good unless it is known to pass, and says which it is. What
// can't be said anywhere is another matter.
func TestRefusals(t *testing.T) {
	t.Parallel()
	words := "Discord's own words"
	tests := []struct {
		status, code int
		want         string // "" for chat.ErrGone
		passes       bool
	}{
		{400, 50006, "Discord refused my answer (50006: the message is empty)", false},
		{400, 50009, "Discord refused my answer (50009: discord's own words)", false},
		{400, 50024, "Discord refused my answer (50024: discord's own words)", false},
		{400, 50035, "Discord refused my answer (50035: discord's own words)", false},
		{400, 200000, "Discord refused my answer (200000: this server's AutoMod blocked it)", false},
		{400, 240000, "Discord refused my answer (240000: it holds a link that Discord blocks as harmful)", false},
		{403, 20009, "Discord refused my answer (20009: Discord takes it for explicit content)", false},
		{403, 40007, "Discord refused my answer (40007: discord's own words)", false},
		{400, 400001, "Discord refused my answer (400001: discord's own words)", false},
		{403, 99999, "Discord refused my answer (99999: discord's own words)", false},
		{403, 0, "Discord refused my answer (403: forbidden)", false},
		{404, 10003, "", false},
		{403, 50001, "", false},
		{403, 50007, "", false},
		{403, 50013, "", false},
		{403, 50278, "", false},
		{429, 20016, "", true},
		{400, 130000, "", true},
		{429, 30046, "", true},
		{403, 40006, "", true},
	}
	for _, tt := range tests {
		t.Run(strconv.Itoa(tt.code), func(t *testing.T) {
			t.Parallel()
			o := open(t, fakediscord.Options{}, nil)
			dm := o.fake.DM(o.ada)
			status := tt.status
			if status == 429 {
				status = 400 // else it is a rate limit
			}
			o.fake.Inject(fakediscord.Fault{Route: postRoute, Status: status, Code: tt.code, Message: words + ".", Times: 9})
			_, err := o.a.Post(t.Context(), direct(dm), answer("a", "hi"), false)
			var refused chat.Refused
			switch {
			case tt.passes && (err == nil || errors.Is(err, chat.ErrGone) || errors.As(err, &refused)):
				t.Errorf("it does not pass: %v", err)
			case tt.passes:
			case tt.want == "" && !errors.Is(err, chat.ErrGone):
				t.Errorf("the place is not gone: %v", err)
			case tt.want != "" && (!errors.As(err, &refused) || refused.Notice() != tt.want || errors.Is(err, chat.ErrGone)):
				t.Errorf("refused with %v", err)
			}
			if n := len(o.fake.Calls(postRoute)); n != 1 && tt.code != 0 && !(tt.code == api.CodeAutoMod && n == 2) {
				t.Errorf("%d calls", n)
			}
		})
	}
}

// A text that AutoMod blocks is given as a file, once, and without files it is refused.
// A link that Discord blocks is left out. One blocked answer blocks no other.
func TestBlocked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		says, want string
		spoil      func(*office)
	}{
		"a word":     {"a rude word", "AutoMod blocked it). It is in the file.", nil},
		"a link":     {"see [here](https://harmful.example/x) and https://harmful.example", "see [here] (link left out) and (link left out)\n-# Links are left out", nil},
		"no file":    {"a rude word", "", func(o *office) { o.fake.BotMay(o.guild, fakediscord.Usual&^fakediscord.AttachFiles) }},
		"both, link": {"a rude https://harmful.example", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := open(t, fakediscord.Options{}, nil)
			o.fake.Block(o.guild, "rude")
			o.fake.Block("", "harmful.example")
			if tt.spoil != nil {
				tt.spoil(o)
			}
			id := o.fake.Say(o.ada, o.general, o.mention()+" go")
			th := thread(o.general, id)
			var refused chat.Refused
			ref, err := o.a.Post(t.Context(), th, answer("a", tt.says), false)
			switch posts := o.fake.Posts(id); {
			case tt.want == "" && !errors.As(err, &refused):
				t.Errorf("it is not refused: %v", err)
			case tt.want == "":
				o.post(th, answer("a/refused", refused.Notice()), false)
				return
			case err != nil || len(posts) != 1 || !strings.Contains(posts[0].Content, tt.want):
				t.Fatalf("posts %+v, error %v", posts, err)
			case name == "a word" && (len(posts[0].Files) != 1 || string(posts[0].Files[0].Data) != tt.says):
				t.Errorf("files %+v", posts[0].Files)
			}
			o.fake.ForgetNonces()
			if again := o.post(th, answer("a", tt.says), true); again != ref {
				t.Errorf("looked for, it is at %v, it was at %v", again, ref)
			}
		})
	}
}

// Where messages can't be read they can't be answered either, which keeps no
// answer from being posted.
func TestNoHistory(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	root := o.fake.Say(o.ada, o.general, "x")
	th := o.fake.OpenThread(o.ada, o.general, root, "t")
	o.fake.Overwrite(o.general, o.fake.Bot(), 0, fakediscord.ReadMessageHistory)
	p := answer("a", "hi")
	p.ReplyTo = api.RefOf(api.Place{Channel: o.general, Thread: th}, o.fake.Say(o.ada, th, o.mention()+" go"))
	o.post(thread(o.general, th), p, false)
	if posts := o.fake.Posts(th); len(posts) != 1 || posts[0].ReplyTo != "" {
		t.Errorf("posts %+v", posts)
	}
}

// Where no file may be attached a long answer is messages, and an approval whose
// arguments don't fit one is refused, which the engine takes for a denial.
func TestNoFiles(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	o.fake.BotMay(o.guild, fakediscord.Usual&^fakediscord.AttachFiles)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	long := strings.Repeat("A sentence of five words. ", 600)
	o.post(th, answer("a", long), false)
	said := ""
	for _, p := range o.fake.Posts(id) {
		said += p.Content + " "
	}
	if squeezed(said) != squeezed(long) {
		t.Errorf("it says %d of %d characters", len(said), len(long))
	}
	var refused chat.Refused
	p := chat.Post{Key: "p", Approval: asking(`{"text":"` + strings.Repeat("é", 5000) + `"}`)}
	if _, err := o.a.Post(t.Context(), th, p, false); !errors.As(err, &refused) || !strings.Contains(refused.Words, "too long") {
		t.Errorf("the approval: %v", err)
	}
}

// A thread that could be made, but not written in, is not made.
func TestNoWritingInThreads(t *testing.T) {
	t.Parallel()
	for name, forbid := range map[string]func(o *office){
		"by the role": func(o *office) { o.fake.BotMay(o.guild, fakediscord.Usual&^fakediscord.SendMessagesInThreads) },
		"here":        func(o *office) { o.fake.Overwrite(o.general, o.fake.Bot(), 0, fakediscord.SendMessagesInThreads) },
		"to everyone": func(o *office) {
			o.fake.Overwrite(o.general, o.guild, 0, fakediscord.SendMessagesInThreads)
			o.fake.Overwrite(o.general, o.fake.BotRole(o.guild), 0, 0)
		},
	} {
		for _, before := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				o := build(t, fakediscord.Options{})
				if before {
					forbid(o)
				}
				o.run(nil)
				if !before {
					forbid(o)
				}
				id := o.fake.Say(o.ada, o.general, o.mention()+" go")
				o.in.Await(t, func() bool { return len(o.in.Messages) == 1 }) // it heard of the change before
				ref := o.post(thread(o.general, id), answer("a", "done"), false)
				if threads := o.fake.Threads(o.general); len(threads) > 0 {
					t.Errorf("threads %+v", threads)
				}
				if posts := o.fake.Posts(o.general); len(posts) != 1 || posts[0].ReplyTo != id || posts[0].ID != ref.ID {
					t.Errorf("posts %+v", posts)
				}
			})
		}
	}
}

// Where the bot may no longer write in a thread it goes on above it; what it said
// there is still changed there.
func TestThreadBecomesReadOnly(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	p := asking("{}")
	first := o.post(th, chat.Post{Key: "p", Approval: p}, false)
	o.fake.Overwrite(o.general, o.fake.Bot(), 0, fakediscord.SendMessagesInThreads)
	second := o.post(th, answer("a", "done"), true)
	if posts := o.fake.Posts(o.general); len(posts) != 1 || posts[0].ID != second.ID || posts[0].ReplyTo != id {
		t.Errorf("posts %+v", posts)
	}
	p.Outcome = chat.Expired
	for _, err := range []error{
		o.a.Edit(t.Context(), th, first, chat.Post{Key: "p", Approval: p}),
		o.a.Edit(t.Context(), th, second, answer("a", "done!")),
		o.a.React(t.Context(), first, "👀"), o.a.React(t.Context(), second, "👀"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}

// The bot says once above a locked thread that it can't answer there.
func TestLockedThread(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	o.post(th, answer("a", "done"), false)
	o.fake.Archive(id, true, true)
	for _, key := range []string{"b", "c"} {
		if _, err := o.a.Post(t.Context(), th, answer(key, "more"), false); !errors.Is(err, chat.ErrGone) {
			t.Errorf("post: %v", err)
		}
	}
	if posts := o.fake.Posts(o.general); len(posts) != 1 || !strings.Contains(posts[0].Content, "it is locked") || posts[0].ReplyTo != id {
		t.Errorf("posts above %+v", posts)
	}
}

// A question that AutoMod lets no thread be named after gets one all the same.
func TestBlockedName(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	o.fake.Block(o.guild, "rude")
	id := o.fake.Say(o.ada, o.general, o.mention()+" a rude question")
	o.post(thread(o.general, id), answer("a", "hm"), false)
	if got := o.fake.Threads(o.general); len(got) != 1 || got[0].Name != unnamed || len(o.fake.Posts(id)) != 1 {
		t.Errorf("threads %+v", got)
	}
}

// A proxy before Discord may refuse a post for a moment, in HTML.
func TestRefusedForAMoment(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	dm := o.fake.DM(o.ada)
	o.fake.Inject(fakediscord.Fault{Route: postRoute, Status: http.StatusForbidden})
	o.post(direct(dm), answer("a", "hi"), false)
	if posts := o.fake.Posts(dm); len(posts) != 1 {
		t.Errorf("posts %+v", posts)
	}
}

// Words of a private thread are not repeated where others read them.
func TestPrivateThread(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	th := o.fake.OpenPrivate(o.ada, o.general, "secret", o.fake.Bot())
	o.fake.Overwrite(o.general, o.fake.Bot(), 0, fakediscord.SendMessagesInThreads)
	o.fake.HoldGuilds() // so that it has to ask for the thread
	o.run(nil)
	if _, err := o.a.Post(t.Context(), thread(o.general, th), answer("a", "secret"), false); !errors.Is(err, chat.ErrGone) {
		t.Errorf("post: %v", err)
	}
	if posts := o.fake.Posts(o.general); len(posts) > 0 {
		t.Errorf("posts %+v", posts)
	}
}

// A post that another process made above an unwritable thread is edited there, and
// votes on it count.
func TestAnotherProcessLeftTheThread(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	o.post(th, answer("a", "done"), false)
	o.fake.Overwrite(o.general, o.fake.Bot(), 0, fakediscord.SendMessagesInThreads)
	p := asking("{}")
	ref := o.post(th, chat.Post{Key: "p", Approval: p}, false)
	if posts := o.fake.Posts(o.general); len(posts) != 1 || posts[0].ID != ref.ID {
		t.Fatalf("posts above %+v", posts)
	}
	o.fake.React(o.bob, ref.ID, "✅")
	o.stop()
	o.run(nil)
	on, err := o.a.Reactions(t.Context(), chat.Pending{Thread: th, Call: p.Call, Ref: ref, Approve: p.Approve, Deny: p.Deny}, false)
	if err != nil || len(on) != 1 || on[0].By.ID != chat.UserID(o.bob) {
		t.Errorf("votes %+v, %v", on, err)
	}
	if err := o.a.React(t.Context(), ref, "👀"); err != nil {
		t.Error(err)
	}
	p.Outcome, p.Headline = chat.Expired, "Expired"
	if err := o.a.Edit(t.Context(), th, ref, chat.Post{Key: "p", Approval: p}); err != nil {
		t.Error(err)
	}
	if text := o.fake.Message(ref.ID).Text(); !strings.Contains(text, "Expired") {
		t.Errorf("it says %q", text)
	}
}

// Where for a moment nothing can be said, neither in a thread nor above it, the thread is
// where it goes on.
func TestMutedForAMoment(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	o.post(th, answer("a", "done"), false)
	o.fake.Overwrite(o.general, o.fake.Bot(), 0, fakediscord.SendMessages|fakediscord.SendMessagesInThreads)
	if _, err := o.a.Post(t.Context(), th, answer("b", "more"), false); !errors.Is(err, chat.ErrGone) {
		t.Errorf("post: %v", err)
	}
	o.fake.Overwrite(o.general, o.fake.Bot(), 0, 0)
	o.post(th, answer("c", "on"), false)
	if above, in := o.fake.Posts(o.general), o.fake.Posts(id); len(above) != 0 || len(in) != 2 {
		t.Errorf("posts above %+v, in the thread %+v", above, in)
	}
}

// A refusal of one channel says nothing of another: there a thread is made, a card stands
// with its emoji and buttons, and the sign of work shows.
func TestRefusedInOneChannel(t *testing.T) {
	t.Parallel()
	const long = 10000
	for _, f := range []fakediscord.Fault{
		{Status: 403, Code: 50013}, {Status: 403, Code: 50001}, {Status: 400, Code: 50035}, {Status: 429, RetryAfter: time.Hour},
	} {
		t.Run(strconv.Itoa(max(f.Code, f.Status)), func(t *testing.T) {
			t.Parallel()
			o := open(t, fakediscord.Options{}, nil)
			here, other := o.general, o.fake.AddChannel(o.guild, "other")
			f.Channel, f.Times = here, long
			fault := o.fake.Inject(f)
			shut, free := o.fake.Say(o.ada, here, o.mention()+" go"), o.fake.Say(o.ada, other, o.mention()+" go")
			o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			refused := make(chan error, 1)
			go func() {
				_, err := o.a.Post(ctx, thread(here, shut), chat.Post{Key: "p", Approval: asking("{}")}, false)
				refused <- err
			}()
			o.wait(func(*fakediscord.Server) bool { return fault.Hits() > 0 })
			if f.Status != 429 {
				if err := <-refused; err == nil {
					t.Error("it was posted where it is refused")
				}
			}
			o.a.Working(thread(other, free), chat.Work{What: "Thinking", For: 10 * time.Second})
			ref := o.post(thread(other, free), chat.Post{Key: "p", Approval: asking("{}")}, false)
			o.wait(func(s *fakediscord.Server) bool {
				posts := s.Posts(free)
				return len(posts) == 2 && len(s.Reactions(ref.ID)) == 2 && len(posts[0].Buttons()) > 0 && len(posts[1].Buttons()) > 0
			})
			cancel()
		})
	}
}
