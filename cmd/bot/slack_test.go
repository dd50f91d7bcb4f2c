package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/cmd/bot/config"
	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// The rules of every platform hold on Slack.
func TestSlackConversations(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T) world { return newSlackWorld(t, fakeslack.Options{}) })
}

// turnCalls are the methods that a turn itself needs; the others connect, sign
// in and look for what was missed.
var turnCalls = []string{"chat.postMessage", "chat.update", "assistant.threads.setStatus", "reactions.add", "chat.postEphemeral"}

func (w *slackWorld) turnCalls() int {
	n := 0
	for _, c := range w.s.Calls("") {
		if slices.Contains(turnCalls, c.Method) {
			n++
		}
	}
	return n
}

// A turn is thrifty: Slack counts calls.
func TestSlackCallsPerTurn(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, frail, setup{})
	n.start()
	n.find(n.w.mention("ada", "hello"), "You said: hello")
	if c := w.turnCalls(); c > 2 {
		t.Errorf("a turn without tools makes %d calls, want at most 2", c)
	}
	before, began := w.turnCalls(), time.Now()
	at := n.w.mention("ada", "look it up")
	n.find(at, "The tool says: it is 42")
	eventually(t, "the steps are folded", func() bool { return n.folded(at) })
	if c, most := w.turnCalls()-before, 4+redrawn(began); c > most {
		t.Errorf("a turn with one tool makes %d calls, want at most %d", c, most)
	}
}

// redrawn is how many calls a turn may make besides. None in its first half second; then
// its steps and its sign of work are drawn anew, as often as a slow machine gives them time.
func redrawn(began time.Time) int {
	if time.Since(began) < 500*time.Millisecond {
		return 0
	}
	return 1000
}

// With faults on every side (events twice, late, lost and out of order, sockets
// cut, calls that fail before or after their effect) each question gets one
// answer, one steps message, one approval message and one deployment.
func TestSlackChaos(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		w := newSlackWorld(t, fakeslack.Options{NoLimits: true, Slow: true, Seed: 7, AckTimeout: 1500 * time.Millisecond, Chaos: fakeslack.Chaos{
			Twice: 0.3, Lose: 0.1, Late: 0.1, Reorder: 0.1, Cut: 0.05, Before: 0.05, After: 0.05, Drop: 0.05, RateLimit: 0.05,
		}})
		n := newService(t, w, frail, setup{store: store})
		n.start()
		questions := 12
		if testing.Short() {
			questions = 6
		}
		var at []place
		for i := range questions {
			at = append(at, n.w.mention("ada", []string{"deploy prod now", "look it up", "hello"}[i%3]))
		}
		done := func(i int) bool {
			if i%3 == 2 {
				return n.count(at[i], "You said: hello") > 0
			}
			return n.count(at[i], "The tool says") > 0 && n.folded(at[i])
		}
		approved := map[int]bool{}
		t.Cleanup(func() {
			for i := range at {
				if t.Failed() && !done(i) {
					t.Logf("question %d: %q", i, n.w.posts(at[i]))
				}
			}
		})
		within(t, 6*patience, "all are answered", func() bool {
			all := true
			for i := range at {
				for _, p := range n.w.posts(at[i]) {
					if i%3 == 0 && !approved[i] && holds(p.text, []string{"May approve"}) {
						approved[i] = true
						n.w.react("ada", p.place, "✅")
					}
				}
				all = all && done(i)
			}
			return all
		})
		for i := range at {
			for _, words := range []string{"The tool says", "You said", "May approve", "Show all"} {
				if c := n.count(at[i], words); c > 1 {
					t.Errorf("question %d: %d messages with %q", i, c, words)
				}
			}
		}
		if ran := n.ran(); len(ran) != questions/3 {
			t.Errorf("ran %q, want %d deployments", ran, questions/3)
		}
		eventually(t, "no thread looks as if it were at work", func() bool { return len(w.s.Processing()) == 0 })
	})
}

// commandLine runs one command and gives its status and what it printed.
func commandLine(w world, argv ...string) (status int, out, errs string) {
	var o, e buffer
	env := Env{In: strings.NewReader(""), Out: &o, Err: &e, Getenv: func(name string) (string, bool) {
		v, ok := w.env()[name]
		return v, ok
	}}
	status = Main(context.Background(), argv, env)
	return status, o.String(), e.String()
}

// check tries everything and says what it found; what is wrong is named, and no
// token is printed.
func TestSlackCheck(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, frail, setup{})
	status, out, errs := commandLine(w, "check", "--config", n.file)
	if status != exitFine || !holds(out, []string{"ok    store", "ok    llm", "ok    slack: workspace", "@" + fakeslack.BotName, "tool deploy: ask"}) {
		t.Errorf("check: status %d\n%s%s", status, out, errs)
	}
	poor := newSlackWorld(t, fakeslack.Options{Scopes: []string{"chat:write"}})
	m := newService(t, poor, frail, setup{extra: `approvals: {approvers: ["group:S012"]}`})
	status, out, errs = commandLine(poor, "check", "--config", m.file)
	if status != exitFailed || !holds(out, []string{"FAIL  slack", "reactions:read", "usergroups:read"}) {
		t.Errorf("check without scopes: status %d\n%s%s", status, out, errs)
	}
	if strings.Contains(out+errs, poor.s.BotToken()) {
		t.Error("a token was printed")
	}
}

// The manifest has what the configuration needs, and no secret is needed for it.
func TestSlackManifest(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	for extra, want := range map[string]bool{"": false, `approvals: {approvers: ["group:S012"]}`: true} {
		n := newService(t, w, frail, setup{extra: extra})
		var o, e buffer
		env := Env{Out: &o, Err: &e, Getenv: func(string) (string, bool) { return "", false }}
		if status := Main(t.Context(), []string{"manifest", "slack", "--config", n.file}, env); status != exitFine {
			t.Fatalf("manifest: status %d\n%s", status, e.String())
		}
		var m struct {
			OAuth struct{ Scopes struct{ Bot []string } } `json:"oauth_config"`
		}
		if err := json.Unmarshal([]byte(o.String()), &m); err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(m.OAuth.Scopes.Bot, "usergroups:read"); got != want {
			t.Errorf("with %q: usergroups:read is %v, want %v", extra, got, want)
		}
	}
}

// In a thread that the bot was called into it goes on without a mention, unless
// the message is for somebody else; with follow: mentions it does not, but the
// word to stop still works.
func TestSlackFollow(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, frail, setup{})
	n.start()
	n.find(n.w.dm("eve", "hi"), "You said: hi") // so that her name is known: what can't be had soon is left out
	at := n.w.mention("ada", "hello")
	n.find(at, "You said: hello")
	n.w.reply("ada", at, "<@U0EVE> what do you think?")
	n.w.reply("ada", at, "and another thing")
	n.find(at, "and another thing")
	if c := n.count(at); c != 2 {
		t.Errorf("%d answers, want none for a message to somebody else: %q", c, w.posts(at))
	}
	n.find(at, "(to somebody else) @eve what do you think?") // shown with the next question, as what it is

	quiet := newSlackWorld(t, fakeslack.Options{})
	quiet.extra = ", follow: mentions"
	m := newService(t, quiet, frail, setup{})
	m.start()
	at = quiet.mention("ada", "deploy prod now")
	m.ask(at, `{"env":"prod"}`)
	quiet.reply("bob", at, "not for the bot")
	quiet.reply("ada", at, "stop")
	m.find(at, "Stopped by")
	if c := m.count(at, "not for the bot"); c != 0 {
		t.Error("it answered without a mention")
	}
}

// An edit or a deletion matters only for what no model call has seen, and never
// starts a turn.
func TestSlackEdits(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, frail, setup{})
	n.start()
	at := w.mention("ada", "deploy prod now")
	ask := n.ask(at, `{"env":"prod"}`)
	wrong, gone := w.reply("ada", at, "wrong end"), w.reply("ada", at, "never mind me")
	w.edit("ada", wrong, "the end")
	w.remove("ada", gone)
	w.edit("ada", at, fakeslack.Mention+" deploy staging now")
	eventually(t, "the edits arrived", func() bool { return w.s.Unacked() == 0 })
	w.react("ada", ask.place, "✅")
	n.find(at, "the end")
	for _, r := range n.llm.Requests() {
		if whole := r.Whole(); strings.Contains(whole, "wrong end") || strings.Contains(whole, "never mind") || strings.Contains(whole, "staging") {
			t.Errorf("the model saw what was edited or deleted:\n%s", whole)
		}
	}
}

// Somebody of another organisation is not heard, and where the file lets them
// ask they can't approve, neither their own call nor anybody's; everybody else
// still can. A guest likewise.
func TestSlackStrangers(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	for name, u := range map[string]fakeslack.User{
		"zoe": {ID: "U0ZOE", Team: "T0OTHER", Stranger: true}, "guest": {ID: "U0GUEST", Guest: true},
	} {
		u.Name, w.users[name] = name, u.ID
		w.s.AddUser(u)
		w.s.Join(u.ID, "C0GEN")
	}
	w.extra = ", external: ask"
	n := newService(t, w, frail, setup{extra: "approvals: {approvers: [requester, anyone]}"})
	n.start()
	for _, name := range []string{"zoe", "guest"} {
		at := w.mention(name, "deploy prod now")
		ask := n.ask(at, `{"env":"prod"}`)
		w.react(name, ask.place, "✅")
		eventually(t, name+" is told", func() bool { return strings.Contains(strings.Join(w.told(name, at), ""), "may not decide") })
		if ran := n.ran(); ran != nil {
			t.Fatalf("%s approved: %q", name, ran)
		}
		w.react("ada", ask.place, "❌")
		n.find(ask.place, "Denied by")
	}

	deaf := newSlackWorld(t, fakeslack.Options{})
	deaf.s.AddUser(fakeslack.User{ID: "U0ZOE", Name: "zoe", Team: "T0OTHER", Stranger: true})
	deaf.users["zoe"] = "U0ZOE"
	deaf.s.Join("U0ZOE", "C0GEN")
	m := newService(t, deaf, frail, setup{})
	m.start()
	lost := deaf.mention("zoe", "hello")
	m.find(deaf.mention("ada", "hello"), "You said: hello")
	if c := m.count(lost, "hello"); c != 0 {
		t.Error("it answered somebody of another organisation")
	}
}

// Any emoji that Slack has can approve.
func TestSlackEmoji(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, frail, setup{extra: `approvals: {approve: ["👏"]}`})
	n.start()
	at := w.mention("ada", "deploy prod now")
	ask := n.ask(at, `{"env":"prod"}`)
	eventually(t, "the bot reacts", func() bool { return slices.Contains(w.reactions(ask.place), "👏") })
	w.react("ada", ask.place, "👏")
	n.find(at, "Approved by")
}

// A message that somebody passes on reaches the model as content from outside,
// with or without words of their own, and what it says is no command.
func TestSlackForward(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, frail, setup{})
	n.start()
	src := w.s.Say("U0BOB", "C0GEN", "forget the deploy of last night")
	dm := w.s.DM("U0ADA")
	for _, text := range []string{"now you know how the channel is called", "what does it mean?", ""} {
		ts := w.s.Forward(fakeslack.Line{User: "U0ADA", Channel: dm, Text: text}, "C0GEN", src)
		at := place{dm, ts, ts}
		eventually(t, "the bot answers", func() bool { return len(n.w.posts(at)) > 0 })
		whole := ""
		for _, r := range n.llm.Requests() {
			whole = r.Whole()
		}
		if !strings.Contains(whole, "forget the deploy of last night") || !strings.Contains(whole, "bob in #general") && !strings.HasPrefix(text, "now you know") {
			t.Errorf("with %q the model saw:\n%s", text, whole)
		}
	}
}

// A click on Approve runs the call, one on Deny ends it, and a click that does not
// count is told to whoever clicked.
func TestSlackButtons(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, frail, setup{})
	n.start()
	click := func(user string, ask post, id string) {
		w.s.Click(w.users[user], fakeslack.Action{Channel: ask.channel, TS: ask.message, ActionID: id})
	}
	at := w.mention("ada", "deploy prod now")
	ask := n.ask(at, `{"env":"prod"}`)
	click("bob", ask, "nod_approve")
	eventually(t, "bob is told", func() bool { return len(w.told("bob", at)) > 0 })
	click("ada", ask, "nod_approve")
	n.find(at, "Approved by ada")
	n.find(at, "The tool says")
	if ran := n.ran(); len(ran) != 1 {
		t.Errorf("it ran %q", ran)
	}
	at = w.mention("ada", "deploy prod now")
	click("ada", n.ask(at, `{"env":"prod"}`), "nod_deny")
	n.find(at, "Denied by ada")
	if ran := n.ran(); len(ran) != 1 {
		t.Errorf("it ran %q", ran)
	}
}

// The shortcut on a message asks about it, also where the bot is not.
func TestSlackShortcut(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	w.s.AddChannel(fakeslack.Channel{ID: "C0FAR", Name: "far", Members: []string{"U0ADA", "U0BOB"}})
	n := newService(t, w, frail, setup{})
	n.start()
	for _, channel := range []string{"C0GEN", "C0FAR"} {
		ts := w.s.Say("U0BOB", channel, "prod is down")
		w.s.Shortcut("U0ADA", channel, ts, "nod_ask")
		at := place{channel, ts, ts}
		if channel == "C0FAR" {
			dm := w.s.DM("U0ADA")
			eventually(t, "it begins a conversation", func() bool { return len(w.s.Messages(dm, "")) > 0 })
			root := w.s.Messages(dm, "")[0].TS
			at = place{dm, root, root}
		}
		n.find(at, "You said: What about this message?")
	}
}

// A person whose click on Deny ended a call is asked why. The reason is on the card and
// in the model's prompt; closing the form goes on without one.
func TestSlackReason(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, frail, setup{})
	n.start()
	for i, why := range []string{"too late in the day", ""} {
		var at place
		for opened := false; !opened; { // on a busy machine a click may be judged too late for a form
			at = w.mention("ada", "deploy prod now")
			ask := n.ask(at, `{"env":"prod"}`)
			w.s.Click("U0ADA", fakeslack.Action{Channel: ask.channel, TS: ask.message, ActionID: "nod_deny"})
			eventually(t, "a form opens, or the turn goes on", func() bool {
				opened = len(w.s.Views("U0ADA")) == i+1
				return opened || n.count(at, "The tool says") > 0
			})
		}
		for _, v := range w.s.Views("U0ADA") {
			if v.Closed {
				continue
			}
			if why != "" {
				w.s.Submit("U0ADA", v.ID, map[string]map[string]any{"reason": {"reason": map[string]any{"type": "plain_text_input", "value": why}}})
				n.find(at, "Denied by ada: "+why)
				break
			}
			if i == 1 && v.ID != w.s.Views("U0ADA")[0].ID {
				w.s.CloseView("U0ADA", v.ID)
			}
		}
		n.find(at, "The tool says")
	}
	told := false
	for _, r := range n.llm.Requests() {
		told = told || strings.Contains(r.Whole(), "too late in the day")
	}
	if !told || n.ran() != nil {
		t.Errorf("the model was told: %v; it ran %q", told, n.ran())
	}
}

// In a thread whoever has called it there is answered; what others write is
// context for the next question, and mute keeps it quiet until unmute.
func TestSlackCallers(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, frail, setup{})
	n.start()
	at := w.mention("ada", "hello")
	n.find(at, "You said: hello")
	w.reply("bob", at, "I had porridge")
	eventually(t, "it arrives", func() bool { return w.s.Unacked() == 0 })
	w.reply("ada", at, "and I eggs")
	n.find(at, "I had porridge", "and I eggs") // the model repeats what it was shown
	if c := n.count(at); c != 2 {
		t.Errorf("%d answers to two questions: %q", c, w.posts(at))
	}
	w.mentionIn("bob", at, "now me")
	n.find(at, "now me")
	w.reply("bob", at, "mute")
	eventually(t, "it says that it is quiet", func() bool { return n.count(at, "mention") > 0 })
	w.reply("ada", at, "a word among us")
	w.mentionIn("ada", at, "still there?")
	n.find(at, "still there?")
	if c := n.count(at, "a word among us"); c > 1 || c != n.count(at, "a word among us", "still there?") {
		t.Errorf("it answers although it is muted: %q", w.posts(at))
	}
	w.reply("ada", at, "unmute")
	n.find(at, "I follow this thread again")
	w.reply("ada", at, "back again")
	n.find(at, "back again")
}

// connects are the methods that connect and look for what was missed, whenever.
var connects = []string{"apps.connections.open", "auth.test", "users.conversations", "conversations.history", "conversations.replies", "reactions.get"}

// A turn makes at most three Slack calls without tools, and at most five with one, beside
// the words of the sign of work: these change with the work. A turn without tools is one
// message.
func TestSlackCallsOfATurn(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	slow := func(r fakellm.Request) fakellm.Reply {
		at := w.s.Calls("agents.sessions.setStatus")
		deadline := time.After(patience)
		for len(at)%2 == 0 && !strings.Contains(r.Last().Text(), "42") { // the first call of a turn lasts until it is shown
			select {
			case <-deadline:
				return frail(r)
			case <-time.After(10 * time.Millisecond):
				at = w.s.Calls("agents.sessions.setStatus")
			}
		}
		return frail(r)
	}
	n := newService(t, w, slow, setup{})
	n.start()
	n.find(w.dm("bob", "hello"), "You said")
	for question, most := range map[string]int{"hello": 3, "look it up": 5} {
		eventually(t, "it is at rest", func() bool { return len(w.s.Processing()) == 0 })
		before, began := w.calls(), time.Now()
		ch := w.s.DM("U0BOB")
		ts := w.s.Say("U0BOB", ch, question)
		at := place{ch, ts, ts}
		eventually(t, "it answers", func() bool { return n.count(at, "You said")+n.count(at, "The tool says") > 0 })
		eventually(t, "it is at rest again", func() bool { return w.s.Session(ch, ts) == "active" })
		var made []string
		for _, c := range w.s.Calls("")[before:] {
			earlier := c.Method == "agents.sessions.setStatus" && c.Args["thread_ts"] != ts
			if !earlier && c.Method != "assistant.threads.setStatus" && !slices.Contains(connects, c.Method) {
				made = append(made, c.Method)
			}
		}
		if most += redrawn(began); len(made) > most {
			t.Errorf("%s: %d calls, want at most %d: %q", question, len(made), most, made)
		}
		if c := n.count(at); question == "hello" && c != 1 {
			t.Errorf("%s: %d messages", question, c)
		}
	}
}

// A question is answered from what the asker sees in Slack, and from a skill. The token by
// which Slack lets nod search is in no log, store or prompt.
func TestSlackSearchAndSkill(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	w.extra = ", search: true"
	w.s.Say("U0BOB", "C0OPS", "the release waits for noon")
	n := newService(t, w, func(r fakellm.Request) fakellm.Reply {
		switch last := r.Last(); {
		case last.Role != "tool":
			return fakellm.Reply{Calls: []fakellm.Call{{Name: "team_search", Args: `{"query":"release"}`}, {Name: "skill", Args: `{"name":"release"}`}}}
		default:
			return fakellm.Reply{Text: "Found: " + r.Whole()}
		}
	}, setup{extra: "skills: shelf\nlog: {level: debug}"})
	dir := filepath.Dir(n.file)
	skill := filepath.Join(dir, "shelf", "release", "SKILL.md")
	if err := errors.Join(os.MkdirAll(filepath.Dir(skill), 0o755), os.WriteFile(skill, []byte("---\nname: release\ndescription: How we release.\n---\nNever on a Friday.\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(n.file, config.LoadOptions{Getenv: func(name string) (string, bool) { v, ok := w.env()[name]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	if err := acceptSkills(cfg, io.Discard); err != nil {
		t.Fatal(err)
	}
	n.start()
	at := n.w.mention("ada", "when is the release?")
	n.find(at, "Never on a Friday.")
	n.find(at, "bob in ops: the release waits for noon")
	n.stop()
	files, err := filepath.Glob(filepath.Join(dir, "nod.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	kept := n.logs.String()
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		kept += string(raw)
	}
	for _, r := range n.llm.Requests() {
		kept += r.Whole()
	}
	if strings.Contains(kept, "12345.98765") || !strings.Contains(kept, "waits for noon") {
		t.Error("the token is kept, or nothing is")
	}
}
