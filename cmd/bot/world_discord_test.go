package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"nod/internal/fakediscord"
)

// discordWorld is a Discord with one guild.
type discordWorld struct {
	s       *fakediscord.Server
	users   map[string]string
	guild   string
	channel string
	ops     string
	extra   string
}

func newDiscordWorld(t testing.TB, o fakediscord.Options) *discordWorld {
	t.Helper()
	if o.Deadline == 0 { // a busy machine is slower than Discord is patient
		o.Deadline = patience
	}
	w := &discordWorld{s: fakediscord.Start(t, o), users: map[string]string{}}
	for _, name := range []string{"ada", "bob", "eve"} {
		w.users[name] = w.s.AddUser(name, "")
	}
	w.guild = w.s.AddGuild("team", w.users["ada"], w.users["bob"], w.users["eve"])
	w.channel = w.s.AddChannel(w.guild, "general")
	w.ops = w.s.AddChannel(w.guild, "ops")
	return w
}

func (w *discordWorld) config() string {
	return fmt.Sprintf("discord: {token: \"${DISCORD_TOKEN}\", api_url: %q%s}", w.s.URL(), w.extra)
}

func (w *discordWorld) env() map[string]string {
	return map[string]string{"DISCORD_TOKEN": w.s.Token()}
}

func (w *discordWorld) ping() string { return "<@" + w.s.Bot() + "> " }

func (w *discordWorld) dm(user, text string) place {
	ch := w.s.DM(w.users[user])
	return place{ch, ch, w.s.Say(w.users[user], ch, text)}
}

// mention writes into the channel; the thread that is made from a message has
// the message's id.
func (w *discordWorld) mention(user, text string) place {
	id := w.s.Say(w.users[user], w.channel, w.ping()+text)
	return place{w.channel, id, id}
}

func (w *discordWorld) attach(user, text, name, content string) place {
	id := w.s.Say(w.users[user], w.channel, w.ping()+text, fakediscord.With{Files: []fakediscord.File{{Name: name, Data: []byte(content)}}})
	return place{w.channel, id, id}
}

func (w *discordWorld) reply(user string, to place, text string) place {
	return place{to.channel, to.thread, w.s.Say(w.users[user], to.thread, text)}
}

func (w *discordWorld) mentionIn(user string, to place, text string) place {
	return w.reply(user, to, w.ping()+text)
}

func (w *discordWorld) edit(_ string, at place, text string) { w.s.Edit(at.message, text) }
func (w *discordWorld) remove(_ string, at place)            { w.s.Delete(at.message) }

func (w *discordWorld) react(user string, at place, emoji string) {
	w.s.React(w.users[user], at.message, emoji)
}

func (w *discordWorld) unreact(user string, at place, emoji string) {
	w.s.Unreact(w.users[user], at.message, emoji)
}

func (w *discordWorld) posts(at place) []post {
	var out []post
	for _, m := range w.s.Posts(at.thread) {
		if m.Reader == "" {
			p := post{place: place{at.channel, at.thread, m.ID}, text: m.Text()}
			for _, f := range m.Files {
				p.text, p.file = p.text+"\n"+f.Name, string(f.Data)
			}
			out = append(out, p)
		}
	}
	return out
}

// open clicks the button of the steps message, and waits for what only this
// reader sees.
func (w *discordWorld) open(user string, steps post) string {
	before := len(w.s.Ephemerals(w.users[user]))
	w.s.Click(w.users[user], steps.message, w.s.Message(steps.message).Buttons()[0])
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.s.WaitFor(ctx, func(s *fakediscord.Server) bool { return len(s.Ephemerals(w.users[user])) > before }); err != nil {
		return err.Error()
	}
	return w.s.Ephemerals(w.users[user])[before].Text()
}

func (w *discordWorld) calls() int { return len(w.s.Calls("")) }

func (w *discordWorld) stall(i int, after bool) (struck func() bool, release func()) {
	before := w.calls()
	w.s.Inject(fakediscord.Fault{Skip: i, After: after, Hang: true})
	return func() bool { return w.calls() > before+i }, func() {}
}

// told is what only the person sees, and remarks that name the person and go
// away again.
func (w *discordWorld) told(user string, at place) []string {
	var out []string
	for _, m := range w.s.Ephemerals(w.users[user]) {
		out = append(out, m.Text())
	}
	for _, m := range w.s.Messages(at.thread) {
		if m.Author == w.s.Bot() && strings.Contains(m.Text(), "<@"+w.users[user]+">") {
			out = append(out, m.Text())
		}
	}
	return out
}

func (w *discordWorld) ballot() []string { return []string{"✅", "❌"} }

func (w *discordWorld) reactions(at place) []string {
	var out []string
	for _, r := range w.s.Reactions(at.message) {
		if r.User == w.s.Bot() {
			out = append(out, r.Emoji.Name)
		}
	}
	slices.Sort(out)
	return out
}

func (w *discordWorld) approver(user string) string { return "user:" + w.users[user] }

func (w *discordWorld) cut() {
	for _, c := range w.s.Connections() {
		c.Cut()
	}
}

func (w *discordWorld) faults() []string {
	out := w.s.Violations()
	if p := w.s.Pings(w.channel); len(p) > 0 {
		out = append(out, fmt.Sprintf("pinged %q", p))
	}
	return out
}
