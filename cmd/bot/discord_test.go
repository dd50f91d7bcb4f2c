package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nod/internal/fakediscord"
	"nod/internal/fakellm"
)

// The rules of every platform hold on Discord.
func TestDiscordConversations(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T) world { return newDiscordWorld(t, fakediscord.Options{}) })
}

// A process that starts soon after another, stopped or killed while people write, goes
// on with its session: what they wrote meanwhile is answered, also where nobody could
// look for it, such as a first direct message. When the session is over, what was
// written is looked for: in direct messages, threads and channels.
func TestDiscordRestart(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"stopped": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		for _, over := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, the session is over: %t", name, over), func(t *testing.T) {
				t.Parallel()
				w := newDiscordWorld(t, fakediscord.Options{NoLimits: true})
				n := newService(t, w, frail, setup{})
				p := n.spawn()
				defer func() { p.kill() }()
				n.ready()
				n.find(w.dm("ada", "hello"), "You said: hello")
				talk := w.mention("ada", "hello")
				n.find(talk, "You said: hello")
				var texts []string
				last := map[string]string{} // what was said last in each conversation
				places := map[string]place{}
				write := func(when string) {
					for text, at := range map[string]place{
						"direct " + when:  w.dm("ada", "direct "+when),
						"thread " + when:  w.mentionIn("bob", talk, "thread "+when),
						"channel " + when: w.mention("eve", "channel "+when),
					} {
						texts, last[at.thread], places[at.thread] = append(texts, text), text, at
					}
				}
				write("before")
				_ = p.cmd.Process.Signal(signal)
				write("at the end")
				_ = p.cmd.Wait()
				write("meanwhile")
				if over {
					w.s.ForgetSessions()
				} else {
					texts = append(texts, "a first message of bob", "a first message of eve")
					w.dm("bob", "a first message of bob")
					w.dm("eve", "a first message of eve")
				}
				p = n.spawn()
				n.ready()
				write("afterwards")
				for _, text := range texts {
					eventually(t, "the model is asked: "+text, func() bool {
						return slices.ContainsFunc(n.llm.Requests(), func(r fakellm.Request) bool { return strings.Contains(r.Whole(), text) })
					})
				}
				for conversation, text := range last {
					n.find(places[conversation], "You said:", text)
				}
				if got := w.s.Gateway(); over == (got.Resumes > 0) {
					t.Errorf("%+v", got)
				}
			})
		}
	}
}

// The way to call the bot depends on the file and the app. So the bot says it once
// below the first answer in a thread, and in its help.
func TestDiscordSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	for follow, want := range map[string]string{"mentions": "mention me:", "callers": "need not mention me again", "thread": "nobody has to mention me"} {
		t.Run(follow, func(t *testing.T) {
			t.Parallel()
			w := newDiscordWorld(t, fakediscord.Options{NoLimits: true, Privileged: fakediscord.IntentMessageContent})
			w.extra = ", follow: " + follow
			n := newService(t, w, frail, setup{})
			n.start()
			at := w.mention("ada", "hello")
			n.find(at, "You said: hello", want)
			n.find(w.mentionIn("ada", at, "and again"), "You said: and again")
			help := n.find(w.mentionIn("ada", at, "help"), "I answer questions and use tools")
			if says := map[string]string{"mentions": "only messages that mention me", "callers": "needs no new mention", "thread": "nobody has to mention me"}[follow]; !strings.Contains(help.text, says) {
				t.Errorf("help says %q", help.text)
			}
			if got := n.count(at, want); got != 1 && follow != "thread" || n.count(at, "To go on") != 1 {
				t.Errorf("%d posts say how to go on", got)
			}
		})
	}
}

// Commands complete the names of tools and files, in time, and complete none in a
// conversation without any.
func TestDiscordCompletes(t *testing.T) {
	t.Parallel()
	w := newDiscordWorld(t, fakediscord.Options{NoLimits: true})
	n := newService(t, w, frail, setup{})
	n.start()
	eventually(t, "the commands are registered", func() bool { return slices.Contains(w.s.Commands(), "drop") })
	at := w.mention("ada", "the report, please")
	n.find(at, "The tool says: the output is the file")
	for _, tt := range []struct {
		channel, command, option, text string
		want                           []string
	}{
		{at.thread, "drop", "name", "", []string{"report-output.txt"}},
		{at.thread, "drop", "name", "OUTPUT", []string{"report-output.txt"}},
		{at.thread, "drop", "name", "other", nil},
		{w.channel, "drop", "name", "", nil},
		{at.thread, "tools", "name", "lo", []string{"clock", "deploy", "look"}},
	} {
		id := w.s.Type(w.users["ada"], tt.channel, tt.command, tt.option, tt.text)
		asked := func() fakediscord.Interaction {
			all := w.s.Interactions()
			return all[slices.IndexFunc(all, func(i fakediscord.Interaction) bool { return i.ID == id })]
		}
		eventually(t, "it is answered", func() bool { return !asked().Acked.IsZero() })
		got := asked().Choices
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("/%s %q: %q, want %q", tt.command, tt.text, got, tt.want)
		}
	}
}
