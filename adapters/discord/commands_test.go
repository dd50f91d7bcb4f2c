package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/adapters/discord/api"
	"nod/adapters/discord/commands"
	"nod/chat"
	"nod/internal/fakediscord"
	"nod/internal/ledger"
)

const registerRoute = "PUT /applications/{app}/commands"

func withCommands(o *Options) { o.Commands = true }

func commanded(t *testing.T) *office {
	t.Helper()
	o := open(t, fakediscord.Options{}, withCommands)
	o.wait(func(s *fakediscord.Server) bool { return len(s.Commands()) == len(commands.List) })
	return o
}

// The commands are registered once, and again only when they differ.
func TestRegister(t *testing.T) {
	o := commanded(t)
	got := o.fake.Commands()
	for _, want := range []string{"ask", commands.AskAbout, "stop", "forget", "help", "drop", "tools"} {
		if slices.Index(got, want) < 0 || slices.Contains(got[slices.Index(got, want)+1:], want) {
			t.Errorf("commands %q, want %s once", got, want)
		}
	}
	var sent []commands.Command
	if err := json.Unmarshal(o.fake.Calls(registerRoute)[0].Body, &sent); err != nil {
		t.Fatal(err)
	}
	if body := o.fake.Calls(registerRoute)[0].Body; !bytes.Contains(body, []byte(`"choices":[{"name":"`)) {
		t.Errorf("no command has a switch: %s", body)
	}
	for _, c := range sent { // where the bot is, and so hears what follows
		if !slices.Equal(c.Contexts, []int{0, 1}) || !slices.Equal(c.Installs, []int{0}) {
			t.Errorf("%s can be given in %v, installed by %v", c.Name, c.Contexts, c.Installs)
		}
	}
	o.stop()
	o.run(withCommands)
	o.wait(func(s *fakediscord.Server) bool { return len(s.Calls("GET /applications/{app}/commands")) == 2 })
	o.stop()
	if n := len(o.fake.Calls(registerRoute)); n != 1 {
		t.Errorf("registered %d times", n)
	}
}

// A question by command is a message of whoever asked; in a channel it begins a
// thread, and it is heard also if the bot dies right after showing it.
func TestAsk(t *testing.T) {
	o := commanded(t)
	dm := o.fake.DM(o.ada)
	o.fake.Slash(o.ada, dm, "ask", map[string]any{"question": "what is Go?"})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	if m := o.in.Messages[0]; m.Thread != direct(dm) || m.From != (chat.User{ID: chat.UserID(o.ada), Name: "Ada"}) || m.Text != "what is Go?" {
		t.Errorf("message %+v", m)
	}
	o.fake.Slash(o.bob, o.general, "ask", map[string]any{"question": "@everyone why?"})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	m := o.in.Messages[1]
	p := answer("a", "because")
	p.ReplyTo = m.Ref
	o.post(m.Thread, p, false)
	if got := o.fake.Threads(o.general); len(got) != 1 || got[0].ID != m.Ref.ID || got[0].Name != "@everyone why?" || len(o.fake.Posts(m.Ref.ID)) != 1 {
		t.Errorf("threads %+v", got)
	}
	if pings := o.fake.Pings(o.general); len(pings) > 0 {
		t.Errorf("it pinged %q", pings)
	}
	o.in.Do(func() { delete(o.in.Known, api.MessageKey(m.Ref.ID)) }) // as if it had died before putting it
	o.stop()
	o.fake.ForgetSessions() // else it would simply go on
	o.run(nil)
	o.in.Await(t, func() bool {
		return len(o.in.Messages) == 3 && o.in.Messages[2].Ref == m.Ref && o.in.Messages[2].From.ID == m.From.ID
	})
}

func TestStopForgetHelp(t *testing.T) {
	o := commanded(t)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 }) // which stands in another lane than what is said in its thread
	o.post(th, answer("a", "done"), false)
	var options map[string]any
	said := func(channel, name, want string) {
		t.Helper()
		n := len(o.fake.Interactions())
		o.fake.Slash(o.ada, channel, name, options)
		o.wait(func(s *fakediscord.Server) bool {
			all := s.Interactions()
			return len(all) > n && len(all[n].Replies) == 1 && all[n].Replies[0].Content != ""
		})
		got := o.fake.Interactions()[n].Replies[0]
		if !strings.Contains(got.Content, want) || got.Reader != o.ada {
			t.Errorf("/%s: %q for %q", name, got.Content, got.Reader)
		}
	}
	said(id, "stop", "Nothing is running")
	o.in.Do(func() { o.in.Threads[th] = chat.Standing{Known: true, Running: true} })
	said(id, "stop", "Stopping")
	if len(o.in.Halts) != 1 || o.in.Halts[0] != th {
		t.Errorf("halts %v", o.in.Halts)
	}
	said(id, "forget", "answer comes")
	if got := o.in.Texts(); !slices.Equal(got, []string{"go", "forget"}) {
		t.Errorf("messages %q", got)
	}
	said(o.general, "forget", "Use this in a conversation")
	said(o.general, "help", "Mention me")
	o.in.Do(func() { o.in.Fail = errors.New("down") })
	said(id, "forget", "did not work")
	o.in.Do(func() { o.in.Fail = nil })
	options = map[string]any{"text": "no deploys"}
	said(id, "remember", "answer comes")
	options = map[string]any{"fact": "4"}
	said(id, "forget", "answer comes")
	if got := o.in.Texts(); !slices.Equal(got[2:], []string{"remember: no deploys", "forget fact 4"}) {
		t.Errorf("messages %q", got)
	}
	p := answer("b", "forgotten")
	p.ReplyTo = o.in.Messages[1].Ref // which is no message
	o.post(th, p, true)
}

// Answers to clicks don't wait behind posts, and are made once where two
// processes hear them.
func TestClicksUnderLoad(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{LimitScale: 1})
	o.run(func(opt *Options) { opt.Pace = 1 })
	dm := o.fake.DM(o.ada)
	ref := o.post(direct(dm), chat.Post{Key: "s", Steps: &chat.Steps{Turn: "3"}}, false)
	o.in.Do(func() { o.in.Turns["3"] = chat.Steps{Done: true} })
	o.a.rest.Out.Pause("*", ledger.Longest) // nothing else may be sent
	for n := range 50 {
		o.fake.Click(o.ada, ref.ID, o.fake.Message(ref.ID).Buttons()[0])
		o.wait(func(s *fakediscord.Server) bool { return len(s.Ephemerals(o.ada)) == n+1 })
	}
	o.fake.Inject(fakediscord.Fault{Route: "POST /interactions/{interaction}/{token}/callback", After: true, Status: http.StatusBadGateway})
	o.fake.Click(o.ada, ref.ID, o.fake.Message(ref.ID).Buttons()[0])
	o.wait(func(s *fakediscord.Server) bool {
		return len(s.Calls("POST /interactions/{interaction}/{token}/callback")) == 52
	})
	if n := len(o.fake.Ephemerals(o.ada)); n != 51 {
		t.Errorf("%d answers", n)
	}
}

// Answers to interactions that follow later wait for no other call either, nor for
// each other; one that comes too soon is given again.
func TestFollowUpsUnderLoad(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{LimitScale: 1})
	o.run(func(opt *Options) { opt.Pace, opt.Commands = 1, true })
	o.wait(func(s *fakediscord.Server) bool { return slices.Contains(s.Commands(), "stop") })
	dm := o.fake.DM(o.ada)
	ref := o.post(direct(dm), chat.Post{Key: "p", Approval: asking("{}")}, false)
	o.fake.Click(o.bob, ref.ID, o.fake.Message(ref.ID).Buttons()[0])
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 1 })
	o.a.rest.Out.Pause("*", time.Hour) // nothing else may be sent
	for range 10 {
		o.fake.Slash(o.ada, dm, "stop", nil)
	}
	o.fake.Inject(fakediscord.Fault{Route: "PATCH /webhooks/{app}/{token}/messages/{message}", Status: http.StatusTooManyRequests, RetryAfter: time.Millisecond})
	soon, cancel := context.WithTimeout(t.Context(), ledger.Longest)
	defer cancel()
	if err := o.a.Whisper(soon, direct(dm), chat.User{ID: chat.UserID(o.bob)}, ref, "You may not."); err != nil {
		t.Fatal(err)
	}
	o.wait(func(s *fakediscord.Server) bool {
		said := 0
		for _, m := range s.Ephemerals(o.ada) {
			if strings.Contains(m.Content, "Nothing is running") {
				said++
			}
		}
		return said == 10 && len(s.Ephemerals(o.bob)) == 1
	})
}

// An application of a time when it had another id than its bot is asked for by that.
func TestOldApplication(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{OldApp: true}, withCommands)
	o.wait(func(s *fakediscord.Server) bool { return len(s.Commands()) == len(commands.List) })
	o.fake.Slash(o.ada, o.fake.DM(o.ada), "stop", nil)
	o.wait(func(s *fakediscord.Server) bool {
		told := s.Ephemerals(o.ada)
		return len(told) == 1 && strings.Contains(told[0].Content, "Nothing is running")
	})
}

// Where Discord does not say which application the bot is of, it is taken for one of
// the same id, as nearly all are.
func TestUnknownApplication(t *testing.T) {
	t.Parallel()
	const commandsRoute = "GET /applications/{app}/commands"
	o := build(t, fakediscord.Options{})
	o.fake.Inject(fakediscord.Fault{Route: "GET /applications/@me", Status: http.StatusForbidden, Code: 20001, Times: 100})
	o.run(withCommands)
	o.wait(func(s *fakediscord.Server) bool { return len(s.Calls(commandsRoute)) > 0 })
	if got, want := o.fake.Calls(commandsRoute)[0].Path, "/applications/"+o.fake.Bot()+"/commands"; got != want {
		t.Errorf("it asks for %s, want %s", got, want)
	}
}

// A command's answer goes to its author alone, also a long one.
func TestPrivateAnswers(t *testing.T) {
	o := commanded(t)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	o.post(th, answer("a", "done"), false)
	for i, c := range []struct {
		name    string
		options map[string]any
		text    string
	}{
		{"help", nil, "help"},
		{"memory", nil, "memory"},
		{"steps", nil, "steps"},
		{"artifacts", nil, "artifacts"},
		{"grants", nil, "grants"},
		{"waiting", nil, "waiting"},
		{"drop", map[string]any{"name": "plot.png"}, "drop plot.png"},
		{"tools", map[string]any{"switch": "off", "name": "fetch"}, "tools off fetch"},
		{"unschedule", map[string]any{"number": "2"}, "unschedule 2"},
		{"facts", nil, "facts"},
	} {
		o.fake.Slash(o.bob, id, c.name, c.options)
		o.in.Await(t, func() bool { return len(o.in.Messages) == i+2 })
		m := o.in.Messages[i+1]
		if m.Text != c.text || m.Thread != th || m.From.ID != chat.UserID(o.bob) {
			t.Errorf("/%s: %+v", c.name, m)
		}
		p := answer("of "+c.name, "this is the answer to "+c.name+strings.Repeat("\n\nand so on", 200))
		p.ReplyTo = m.Ref
		o.post(th, p, false)
	}
	said := ""
	for _, m := range o.fake.Ephemerals(o.bob) {
		said += m.Content
	}
	if n := strings.Count(said, "this is the answer to"); n != 10 || len(o.fake.Posts(id)) != 1 {
		t.Errorf("he is told %d answers, the thread has %d posts", n, len(o.fake.Posts(id)))
	}
	if n := strings.Count(said, "and so on"); n != 10*200 {
		t.Errorf("%d parts", n)
	}
}

// Where the bot is not, a question is refused rather than shown and never heard.
func TestAskElsewhere(t *testing.T) {
	o := commanded(t)
	for _, c := range []struct {
		installed bool
		context   int
		channel   string
		want      string
	}{
		{true, 0, o.general, "not a member of this server"}, {false, 2, o.fake.DM(o.ada), "not part of this conversation"},
	} {
		o.fake.Abroad(c.installed, c.context)
		for _, name := range []string{"ask", "stop"} {
			options := map[string]any{"question": "what is our plan?"}
			if name == "stop" {
				options = nil
			}
			n := len(o.fake.Ephemerals(o.ada))
			o.fake.Slash(o.ada, c.channel, name, options)
			o.wait(func(s *fakediscord.Server) bool { return len(s.Ephemerals(o.ada)) > n })
			if got := o.fake.Ephemerals(o.ada)[n].Content; !strings.Contains(got, c.want) {
				t.Errorf("it says %q", got)
			}
		}
		if posts := o.fake.Posts(c.channel); len(posts) > 0 {
			t.Errorf("posts %+v", posts)
		}
	}
}

// In a channel that the bot can't see a question is refused, too.
func TestAskUnseen(t *testing.T) {
	o := commanded(t)
	o.fake.Overwrite(o.general, o.fake.Bot(), 0, fakediscord.ViewChannel)
	o.fake.Slash(o.ada, o.general, "ask", map[string]any{"question": "what is our plan?"})
	o.wait(func(s *fakediscord.Server) bool { return len(s.Ephemerals(o.ada)) == 1 })
	if got := o.fake.Ephemerals(o.ada)[0].Content; !strings.Contains(got, "can't see this channel") || len(o.fake.Posts(o.general)) > 0 {
		t.Errorf("it says %q, posts %+v", got, o.fake.Posts(o.general))
	}
}

// Files come along with a question; whoever asked is brought into the thread.
func TestAskWithFiles(t *testing.T) {
	o := commanded(t)
	o.fake.Slash(o.bob, o.general, "ask", map[string]any{
		"question": "what is in it?", "file": fakediscord.File{Name: "notes.txt", Data: []byte("alpha")},
	})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	m := o.in.Messages[0]
	if m.Text != "what is in it?" || m.From.ID != chat.UserID(o.bob) || len(m.Files) != 1 || m.Files[0].Text != "alpha" {
		t.Errorf("message %+v", m)
	}
	o.wait(func(s *fakediscord.Server) bool {
		th := s.Threads(o.general)
		return len(th) == 1 && slices.Contains(th[0].Members, o.bob)
	})
}

// A message that the bot could not read is asked about by a command on it.
func TestAskAbout(t *testing.T) {
	o := commanded(t)
	secret := o.fake.Say(o.cleo, o.general, "the tide turns at noon", fakediscord.With{Files: []fakediscord.File{{Name: "log.txt", Data: []byte("beta")}}})
	id := o.fake.Menu(o.bob, secret, commands.AskAbout)
	o.wait(func(s *fakediscord.Server) bool { return s.Interactions()[0].Form != "" })
	o.fake.Fill(id, "what is meant?")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	m := o.in.Messages[0]
	if !strings.HasPrefix(m.Text, "what is meant?") || m.From.ID != chat.UserID(o.bob) || len(m.Files) != 1 ||
		len(m.Quoted) != 1 || m.Quoted[0].Text != "the tide turns at noon" || m.Quoted[0].From.ID != chat.UserID(o.cleo) {
		t.Errorf("message %+v", m)
	}
	o.post(m.Thread, answer("a", "twelve"), false)
	if posts := o.fake.Posts(m.Ref.ID); len(posts) != 1 {
		t.Errorf("posts %+v", posts)
	}
}

// Files come along also where the answer by which the question was shown is lost, so that
// it is known only as any other message is, and where two processes hear it.
func TestAskWithFilesUnheard(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(o *office){
		"lost": func(o *office) {
			o.fake.Inject(fakediscord.Fault{Route: "POST /interactions/{interaction}/{token}/callback", After: true, Cut: true})
		},
		"two processes": func(o *office) { o.run(func(opt *Options) { withCommands(opt); o.beside(opt) }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := open(t, fakediscord.Options{}, withCommands)
			o.wait(func(s *fakediscord.Server) bool { return len(s.Commands()) == len(commands.List) })
			spoil(o)
			o.fake.Slash(o.bob, o.general, "ask", map[string]any{
				"question": "what is in it?", "file": fakediscord.File{Name: "notes.txt", Data: []byte("alpha")},
			})
			o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
			if m := o.in.Messages[0]; m.Text != "what is in it?" || len(m.Files) != 1 || m.Files[0].Text != "alpha" {
				t.Errorf("message %+v", m)
			}
		})
	}
}
