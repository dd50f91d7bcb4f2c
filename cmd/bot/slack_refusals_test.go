package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// verbose is frail, but calls a tool that says much many times, where that is
// asked for: more than a window shows at a time.
func verbose(r fakellm.Request) fakellm.Reply {
	if r.Last().Role != "tool" && strings.HasSuffix(r.Last().Text(), "dump it") {
		var calls []fakellm.Call
		for i := range 12 {
			calls = append(calls, fakellm.Call{Name: "dump", Args: fmt.Sprintf(`{"what":"%d"}`, i)})
		}
		return fakellm.Reply{Calls: calls}
	}
	return frail(r)
}

const dumpTool = `
    - name: dump
      description: Print very much.
      parameters: {type: object, properties: {what: {type: string}}, required: [what]}
      argv: [sh, -c, "yes \"$1\" | head -c 12000", --, "{what}"]
      read_only: true
      risk: auto
`

// The same as TestSlackEveryRefusal for calls that don't say for which channel
// they are, one after the other: what people open, files, user groups.
func TestSlackEveryRefusalBeside(t *testing.T) {
	t.Parallel()
	w := quickSlack(t)
	tr := &ordeal{T: t, w: w}
	tr.n = newService(t, w, verbose, setup{tools: deployTool + dumpTool, extra: `approvals: {approvers: [requester, "group:S012"]}`})
	tr.n.start()
	any := func(string) func(fakeslack.Args) bool { return func(fakeslack.Args) bool { return true } }
	click := func(p post, id string) {
		w.s.Click("U0ADA", fakeslack.Action{Channel: p.channel, TS: p.message, ActionID: id})
	}
	window := func() *fakeslack.View {
		for _, v := range w.s.Views("U0ADA") {
			if v.Type == "modal" && !v.Closed {
				return &v
			}
		}
		return nil
	}
	scenes := map[string]func(c string) place{
		"files.getUploadURLExternal": func(c string) place { return w.in(c, "write the report") },
		"files.info": func(c string) place {
			ts := w.s.Write(fakeslack.Line{User: "U0ADA", Channel: c, Text: fakeslack.Mention + " hello", Files: []fakeslack.Upload{{Name: c + ".txt", Data: []byte("x"), Later: true}}})
			return place{c, ts, ts}
		},
		"usergroups.users.list": func(c string) place {
			at := w.in(c, "deploy prod now")
			w.react("bob", tr.n.ask(at, `{"env":"prod"}`).place, "✅")
			eventually(t, "bob's vote is judged", func() bool { return len(w.told("bob", at)) > 0 || tr.n.count(at, "Approved by") > 0 })
			tr.approve(at)
			return at
		},
		"views.open": func(c string) place {
			at := w.in(c, "look it up")
			click(tr.n.find(at, "1 step ·"), "nod_steps")
			return at
		},
		"views.update": func(c string) place {
			at := w.in(c, "dump it")
			click(tr.n.find(at, "1 step ·"), "nod_steps")
			eventually(t, "the steps are opened", func() bool { return window() != nil })
			w.s.Click("U0ADA", fakeslack.Action{View: window().ID, ActionID: "nod_older"})
			w.s.CloseView("U0ADA", window().ID)
			return at
		},
		"views.publish": func(c string) place { w.s.OpenHome("U0ADA", "home"); return w.in(c, "hello") },
		"users.conversations": func(c string) place {
			at := w.in(c, "deploy prod now")
			before := len(w.s.Calls("users.conversations"))
			eventually(t, "it is known that an approval waits", func() bool {
				w.s.OpenHome("U0ADA", "home")
				return len(w.s.Calls("users.conversations")) > before
			})
			tr.approve(at)
			return at
		},
	}
	for method, play := range scenes {
		tr.each(method, func(word, channel string) { tr.word(method, word, channel, scene{play: play, strikes: any}) })
	}
}

// If Slack does not open a direct conversation, the thread says so, for each of Slack's
// words, and the approval is given there. A passing refusal is tried again.
func TestSlackEveryRefusalOfADirectMessage(t *testing.T) {
	t.Parallel()
	w := quickSlack(t)
	tr := &ordeal{T: t, w: w}
	tr.n = newService(t, w, frail, setup{extra: `approvals: {approvers: [requester], notify: [dm]}`})
	tr.n.start()
	const method = "conversations.open"
	tr.each(method, func(word, channel string) {
		fine := func() (n int) {
			for _, c := range w.s.Calls(method) {
				if c.Error == "" {
					n++
				}
			}
			return n
		}
		before, fault := fine(), w.s.Fail(fakeslack.Fault{Method: method, Error: word})
		at := w.in(channel, "deploy prod now")
		ask := tr.n.ask(at, `{"env":"prod"}`)
		eventually(t, word+": it strikes, and is said", func() bool {
			return fault.Hits() > 0 && (tr.n.count(at, "Slack refused my answer ("+word+")") > 0 || fine() > before)
		})
		w.react("ada", ask.place, "✅")
		tr.n.find(at, "The tool says")
	})
}

// A refusal while the bot looks for missed events loses no approval: the approval
// counts when it is given.
func TestSlackEveryRefusalAfterAGap(t *testing.T) {
	t.Parallel()
	w := quickSlack(t)
	tr := &ordeal{T: t, w: w, n: newService(t, w, frail, setup{extra: "approvals: {approvers: [anyone]}"})}
	tr.n.start()
	var at []place
	var faults []*fakeslack.Planned
	users := []string{"U0ADA", "U0BOB", "U0EVE"}
	for _, method := range []string{"conversations.history", "conversations.replies", "reactions.get"} {
		tr.each(method, func(word, c string) {
			w.s.Join("U0EVE", c)
			ts := w.s.Say(users[len(at)%3], c, fakeslack.Mention+" deploy prod now")
			at = append(at, place{c, ts, ts})
			tr.n.ask(at[len(at)-1], `{"env":"prod"}`)
			faults = append(faults, w.s.Fail(fakeslack.Fault{Method: method, Error: word, Match: func(a fakeslack.Args) bool { return a["channel"] == c }}))
		})
	}
	w.cut()
	for i, f := range faults {
		eventually(t, fmt.Sprintf("word %d strikes", i), func() bool { return f.Hits() > 0 })
	}
	for _, p := range at {
		tr.approve(p)
		tr.n.find(w.mentionIn("ada", p, "and again"), "You said: and again")
	}
}

// unhurried is frail, but it lasts until it is shown that the bot is at work in
// the channel where it shall take its time.
func unhurried(w *slackWorld) func(fakellm.Request) fakellm.Reply {
	return func(r fakellm.Request) fakellm.Reply {
		_, c, slow := strings.Cut(r.Last().Text(), "take your time in ")
		shown := func(c fakeslack.Call, channel string) bool {
			return strings.HasSuffix(c.Method, ".setStatus") && c.Args["channel_id"] == channel
		}
		for deadline := time.After(patience); slow; {
			select {
			case <-deadline:
				return frail(r)
			case <-time.After(10 * time.Millisecond):
				slow = !slices.ContainsFunc(w.s.Calls(""), func(call fakeslack.Call) bool { return shown(call, c) })
			}
		}
		return frail(r)
	}
}

// That it is at work can't be shown, whatever Slack says: the turn goes on. The
// older status, where there are no sessions, likewise.
func TestSlackEveryRefusalOfASign(t *testing.T) {
	t.Parallel()
	play := func(method, word string) {
		w := quickSlack(t)
		n := newService(t, w, unhurried(w), setup{})
		n.start()
		if method != "agents.sessions.setStatus" {
			w.s.Fail(fakeslack.Fault{Method: "agents.sessions.setStatus", Error: "unknown_method", Times: -1})
		}
		fault := w.s.Fail(fakeslack.Fault{Method: method, Error: word})
		dm := w.s.DM("U0ADA")
		n.find(w.dm("ada", "take your time in "+dm), "You said: take your time")
		eventually(t, method+": "+word+" strikes", func() bool { return fault.Hits() > 0 })
		n.find(w.dm("ada", "hello"), "You said: hello")
		n.stop()
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, 4)
	for _, method := range []string{"agents.sessions.setStatus", "assistant.threads.setStatus"} {
		words := slices.DeleteFunc(documented(t, method), func(word string) bool { return slices.Contains(deadWords, word) })
		for _, word := range points(words) {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				play(method, word)
			})
		}
	}
	all.Wait()
}

// A refused sign-in or socket that no retry mends ends the program, with the word in
// the log. Any other refusal is tried again.
func TestSlackSignInRefused(t *testing.T) {
	t.Parallel()
	final := append([]string{"forbidden_team", "insecure_request", "not_allowed_token_type", "missing_scope"}, deadWords...)
	for _, method := range []string{"auth.test", "apps.connections.open"} {
		for _, word := range slices.Concat(points(documented(t, method)), points(final)) {
			w := quickSlack(t)
			n := newService(t, w, frail, setup{})
			fault := w.s.Fail(fakeslack.Fault{Method: method, Error: word})
			n.launch()
			if !slices.Contains(final, word) {
				n.ready()
				n.find(w.mention("ada", "hello"), "You said: hello")
				n.stop()
				continue
			}
			select {
			case code := <-n.done:
				if code != exitFailed || !strings.Contains(n.logs.String(), word) || fault.Hits() == 0 {
					t.Errorf("%s: %s: status %d\n%s", method, word, code, n.logs)
				}
			case <-time.After(patience):
				t.Errorf("%s: %s: it goes on", method, word)
			}
			n.cancel()
			n.cancel = nil
		}
	}
}
