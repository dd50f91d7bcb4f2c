package discord

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/adapters/discord/commands"
	"nod/chat"
	"nod/front"
	"nod/internal/fakediscord"
)

// alerts are what other apps post: with no text, or little, and what they say in a
// frame of its own.
var alerts = map[string]fakediscord.With{
	"frame": {Hook: "monitor", Embeds: []any{map[string]any{
		"type": "rich", "title": "disk full", "description": "of `db1`", "url": "https://monitor.example.com/1",
		"author": map[string]any{"name": "prod"}, "fields": []any{map[string]any{"name": "Free", "value": "0 B"}},
		"footer": map[string]any{"text": "rule 4"},
	}, "odd"}},
	"card": {Hook: "monitor", Cards: []any{map[string]any{"type": 17, "components": []any{
		map[string]any{"type": 10, "content": "prod\ndisk full\nhttps://monitor.example.com/1"},
		map[string]any{
			"type": 9, "components": []any{map[string]any{"type": 10, "content": "of `db1`\nFree: 0 B\nrule 4"}},
			"accessory": map[string]any{"type": 2, "style": 5, "label": "Runbook", "url": "https://wiki.example.com/17"},
		},
	}}}},
}

// The embed of an alert is read in all three ways to ask about it: a forward, an
// answer, and the command on it.
func TestAlerts(t *testing.T) {
	t.Parallel()
	const text = "prod\ndisk full\nhttps://monitor.example.com/1\nof `db1`\nFree: 0 B\nrule 4"
	for kind, alert := range alerts {
		says := text
		if kind == "card" {
			says += "\nRunbook (https://wiki.example.com/17)"
		}
		for way, ask := range map[string]func(o *office, id string){
			"forwarded": func(o *office, id string) {
				o.fake.Say(o.ada, o.fake.DM(o.ada), "why?", fakediscord.With{Forward: id})
			},
			"answered": func(o *office, id string) {
				o.fake.Say(o.ada, o.general, o.mention()+" why?", fakediscord.With{ReplyTo: id})
			},
			"a forward of it answered": func(o *office, id string) {
				of := o.fake.Say(o.bob, o.general, "", fakediscord.With{Forward: id})
				o.fake.Say(o.ada, o.general, o.mention()+" why?", fakediscord.With{ReplyTo: of})
			},
			"in its thread": func(o *office, id string) {
				o.fake.Say(o.ada, o.fake.OpenThread(o.ada, o.general, id, "load"), o.mention()+" why?")
			},
			"by the command": func(o *office, id string) {
				menu := o.fake.Menu(o.ada, id, commands.AskAbout)
				o.wait(func(s *fakediscord.Server) bool { return s.Interactions()[0].Form != "" })
				o.fake.Fill(menu, "why?")
			},
		} {
			t.Run(kind+" "+way, func(t *testing.T) {
				t.Parallel()
				o := open(t, fakediscord.Options{Privileged: fakediscord.IntentMessageContent}, func(o *Options) {
					o.Commands, o.Follow = true, front.FollowCallers
				})
				o.wait(func(s *fakediscord.Server) bool { return len(s.Commands()) == len(commands.List) })
				ask(o, o.fake.Say(o.bob, o.general, "", alert))
				o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
				m := o.in.Messages[0]
				if !strings.HasPrefix(m.Text, "why?") || m.From.ID != chat.UserID(o.ada) {
					t.Errorf("%s says %q", m.From.ID, m.Text)
				}
				if n := len(m.Quoted); n == 0 || m.Quoted[n-1].Text != says {
					t.Errorf("it quotes %+v", m.Quoted)
				}
			})
		}
	}
}

// A bot that is answered says in a frame what is no word of its call, and the preview
// of a link is none of anybody's.
func TestFramedCall(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{Privileged: fakediscord.IntentMessageContent})
	other := o.fake.AddBot("monitor")
	o.run(func(opt *Options) { opt.AllowBots, opt.Follow = []string{other}, front.FollowCallers })
	o.fake.Say(other, o.general, o.mention()+" look", fakediscord.With{Embeds: alerts["frame"].Embeds})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	if m := o.in.Messages[0]; m.Text != "look" || len(m.Quoted) != 1 || !strings.Contains(m.Quoted[0].Text, "disk full") || m.Quoted[0].From.ID != chat.UserID(other) {
		t.Errorf("message %+v", m)
	}
	preview := []any{map[string]any{"type": "rich", "url": "https://example.com/1", "title": "a page"}}
	seen := o.fake.Say(o.bob, o.general, "see example.com", fakediscord.With{Embeds: []any{map[string]any{"type": "rich", "title": "Example"}}})
	link := o.fake.Say(o.bob, o.general, "see https://example.com/1", fakediscord.With{Embeds: preview})
	for n, tt := range []struct {
		say  func()
		want string // what is quoted
	}{
		{func() { o.fake.Say(o.ada, o.fake.DM(o.ada), "and this?", fakediscord.With{Forward: link}) }, "see https://example.com/1"},
		{func() {
			o.fake.Say(o.ada, o.fake.DM(o.ada), "https://example.com/1?", fakediscord.With{Embeds: preview})
		}, ""},
		{func() { o.fake.Say(o.ada, o.general, o.mention()+" and that?", fakediscord.With{ReplyTo: seen}) }, "see example.com"},
	} {
		tt.say()
		o.in.Await(t, func() bool { return len(o.in.Messages) == n+2 })
		quoted := ""
		for _, q := range o.in.Messages[n+1].Quoted {
			quoted += q.Text
		}
		if quoted != tt.want {
			t.Errorf("%d quotes %q, want %q", n, quoted, tt.want)
		}
	}
}

// A bot changes its embed in a thread of ours: the new one is context, once.
func TestFrameChanges(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{Privileged: fakediscord.IntentMessageContent}, func(opt *Options) { opt.Follow = front.FollowCallers })
	frame := func(state string) map[string]any {
		return map[string]any{"type": "rich", "title": "Build 512 " + state}
	}
	root := o.fake.Say(o.ada, o.general, o.mention()+" watch it")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.in.Do(func() {
		o.in.Threads[thread(o.general, root)] = chat.Standing{Known: true, Callers: []chat.UserID{chat.UserID(o.ada)}}
	})
	o.wait(func(s *fakediscord.Server) bool { return len(s.Threads(o.general)) == 1 })
	said := o.fake.Say(o.fake.AddBot("ci"), root, "", fakediscord.With{Embeds: []any{frame("runs")}})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	for _, state := range []string{"runs", "failed", "failed"} {
		o.fake.Reframe(said, frame(state))
	}
	o.fake.Say(o.ada, root, o.mention()+" and?")
	o.in.Await(t, func() bool { return o.in.Messages[len(o.in.Messages)-1].Text == "and?" })
	var quoted []string
	for _, m := range o.in.Messages {
		for _, q := range m.Quoted {
			quoted = append(quoted, fmt.Sprint(m.Aside, m.Outside, " ", q.Text))
		}
	}
	if diff := cmp.Diff([]string{"true true Build 512 runs", "true true Build 512 failed"}, quoted); diff != "" {
		t.Errorf("quoted (-want +got):\n%s", diff)
	}
}

// A forwarded message brings its files along also where it is asked about by the command.
func TestAskAboutForward(t *testing.T) {
	o := commanded(t)
	log := o.fake.Say(o.cleo, o.general, "the log", fakediscord.With{Files: []fakediscord.File{{Name: "log.txt", Data: []byte("beta")}}})
	id := o.fake.Menu(o.bob, o.fake.Say(o.cleo, o.general, "", fakediscord.With{Forward: log}), commands.AskAbout)
	o.wait(func(s *fakediscord.Server) bool { return s.Interactions()[0].Form != "" })
	o.fake.Fill(id, "what is it?")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	if m := o.in.Messages[0]; len(m.Files) != 1 || len(m.Quoted) != 1 || m.Quoted[0].Text != "the log" {
		t.Errorf("message %+v", m)
	}
}
