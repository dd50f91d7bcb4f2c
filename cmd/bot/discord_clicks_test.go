package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"nod/internal/fakediscord"
)

const (
	callbackRoute = "POST /interactions/{interaction}/{token}/callback"
	originalRoute = "PATCH /webhooks/{app}/{token}/messages/{message}"
	followUpRoute = "POST /webhooks/{app}/{token}"
)

// clickCodes are Discord's numbers for refusing an answer to an interaction.
var clickCodes = []int{
	0, 10003, 10004, 10008, 10015, 10062, 20009, 30033, 40004, 40005, 40006, 40060, 40061, 40062, 40094, 40333, 50001, 50006, 50013, 50027, 50033, 50035,
	50080, 50083, 50109, 50138, 50278, 60003, 90001, 110000, 130000, 131000, 160005, 200000, 200001, 240000, 500000,
}

// asides are what only one person is told in a channel.
func (w *discordWorld) asides(user, channel string) string {
	var out []string
	for _, m := range w.s.Ephemerals(w.users[user]) {
		if m.Channel == channel {
			out = append(out, m.Text())
		}
	}
	return strings.Join(out, "\n")
}

// Discord refuses the answer to a command or a click once, with each of its codes. The
// person still reads the answer or a plain word, if the interaction takes one. The turn
// is not held up, and the next command is answered.
func TestDiscordEveryRefusedClick(t *testing.T) {
	t.Parallel()
	w := quickDiscord(t)
	n := newService(t, w, frail, setup{})
	n.start()
	eventually(t, "the commands are registered", func() bool { return slices.Contains(w.s.Commands(), "memory") })
	ada := w.users["ada"]
	slash := func(name string) func(string, place, place) string {
		return func(_ string, at, _ place) string { return w.s.Slash(ada, at.thread, name, nil) }
	}
	press := func(who string, button int) func(string, place, place) string {
		return func(_ string, _, on place) string {
			return w.s.Click(w.users[who], on.message, w.s.Message(on.message).Buttons()[button])
		}
	}
	scenes := []struct {
		name, route string
		ask         string // what the turn is about
		post        string // in the post that is clicked on
		act         func(channel string, at, on place) string
		want        string // that is said, here or to whoever acted, with or without the refusal
		words       bool   // a refusal is said, where the interaction takes another answer
	}{
		{"steps", callbackRoute, "look it up", "1 step ·", press("ada", 0), "", true},
		{"memory", callbackRoute, "hello", "You said", slash("memory"), "", true},
		{"memory", originalRoute, "hello", "You said", slash("memory"), "", true},
		{"stop", callbackRoute, "hello", "You said", slash("stop"), "", true},
		{"stop", originalRoute, "hello", "You said", slash("stop"), "", true},
		{"approve", callbackRoute, "deploy prod now", "May approve", press("ada", 0), "The tool says", false},
		{"deny", callbackRoute, "deploy prod now", "May approve", press("ada", 1), "Denied by ada", false},
		{"not hers", followUpRoute, "deploy prod now", "May approve", press("bob", 0), "May approve", false},
		{"bad answer", callbackRoute, "hello", "You said", press("ada", 1), "", true},
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, 6)
	number := 0
	for _, s := range scenes {
		for _, code := range points(clickCodes) {
			if number++; s.name == "deny" && code == 40060 {
				continue // another process asks for the reason
			}
			channel := w.s.AddChannel(w.guild, fmt.Sprintf("k%d", number))
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				what := fmt.Sprintf("%s, %s: %d: ", s.name, s.route, code)
				at := w.in(channel, s.ask)
				on := n.find(at, s.post).place
				fault := w.s.Inject(fakediscord.Fault{Route: s.route, Channel: channel, Status: clickStatus(code), Code: code, Message: "In Discord's words"})
				id := s.act(channel, at, on)
				eventually(t, what+"it strikes", func() bool { return fault.Hits() > 0 })
				if s.name == "deny" { // which waits for the reason, if it is asked for
					eventually(t, what+"it is denied", func() bool { return w.answered(id) })
					if w.formed(at) {
						w.s.Fill(id, "")
					}
				}
				eventually(t, what+"it is said", func() bool {
					said := w.asides("ada", at.thread) + w.around(at)
					answers := !s.words || code == 10062 || code == 40060 || strings.Contains(said, "Discord refused my answer") || w.fine(at, s.name)
					return answers && strings.Contains(said, s.want)
				})
				if s.name == "not hers" {
					w.react("ada", on, "✅")
				}
				w.goOn(at, "and again")
				eventually(t, what+"the next question is answered", func() bool { return strings.Contains(w.everywhere(channel), "You said: and again") })
			})
		}
	}
	all.Wait()
}

// fine says whether a command or click in a conversation was answered all the same.
func (w *discordWorld) fine(at place, name string) bool {
	said := w.asides("ada", at.thread) + w.around(at)
	return slices.ContainsFunc(map[string][]string{
		"steps": {"**Action**"}, "memory": {"I see"}, "stop": {"Nothing is running", "Stopping"},
	}[name], func(words string) bool { return strings.Contains(said, words) }) || name == "bad answer" && w.formed(at)
}

// formed says whether a form was shown in a conversation.
func (w *discordWorld) formed(at place) bool {
	return slices.ContainsFunc(w.s.Interactions(), func(i fakediscord.Interaction) bool { return i.Channel == at.thread && i.Form != "" })
}

// clickStatus is the status with which Discord gives a code for an interaction.
func clickStatus(code int) int {
	if code == 50027 {
		return http.StatusUnauthorized
	}
	return statusOf(code)
}
