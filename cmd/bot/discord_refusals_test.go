package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nod/internal/fakediscord"
	"nod/internal/fakellm"
)

// readCodes are Discord's numbers for refusing to say something, or to do what no
// answer depends on: of each kind that the adapter tells apart some; all of them are
// tried with the adapter alone.
var readCodes = []int{0, 10003, 10008, 20028, 40062, 40333, 50001, 50013, 50035, 50083, 110000, 130000}

const (
	readRoute   = "GET /channels/{channel}/messages"
	typingRoute = "POST /channels/{channel}/typing"
)

// beside is a running service of which calls are refused that answer nobody.
type beside struct {
	*testing.T
	w *discordWorld
	n *service

	slow sync.Map // the faults that a turn waits for, by what is asked
}

// unhurried is frail, but it lasts until the fault strikes that what is asked names.
func (b *beside) unhurried(r fakellm.Request) fakellm.Reply {
	_, name, waits := strings.Cut(r.Last().Text(), "take your time with ")
	if fault, ok := b.slow.Load(name); ok && waits {
		for deadline := time.After(patience); fault.(*fakediscord.Injected).Hits() == 0; {
			select {
			case <-deadline:
				return frail(r)
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	return frail(r)
}

// struck has a route be refused with a code; where channel is empty, anywhere.
func (b *beside) struck(route, channel string, code int) *fakediscord.Injected {
	return b.w.s.Inject(fakediscord.Fault{Route: route, Channel: channel, Status: statusOf(code), Code: code, Message: "In Discord's words"})
}

// over waits until the fault has struck and the turn has ended, and asks once more.
func (b *beside) over(what string, fault *fakediscord.Injected, at place, said ...string) {
	eventually(b, what+": it strikes", func() bool { return fault.Hits() > 0 })
	eventually(b, what+": the turn ends", func() bool {
		text := b.w.around(at)
		return slices.ContainsFunc(append(said, "You said", "The tool says"), func(s string) bool { return strings.Contains(text, s) })
	})
	b.w.goOn(at, "and again")
	eventually(b, what+": the next question is answered", func() bool { return strings.Contains(b.w.around(at), "You said: and again") })
}

// Discord refuses a read once, or a call that only shows something beside a turn, with
// each of its codes. The turn ends with its answer, and the next question is answered.
func TestDiscordEveryRefusalBeside(t *testing.T) {
	t.Parallel()
	b := &beside{T: t, w: quickDiscord(t)}
	role := b.w.s.AddRole(b.w.guild, "ops", 0)
	b.n = newService(t, b.w, b.unhurried, setup{})
	b.n.start()
	eventually(t, "the commands are registered", func() bool { return slices.Contains(b.w.s.Commands(), "ask") })
	ada, bob := b.w.users["ada"], b.w.users["bob"]
	within := func(c string) (thread string) {
		thread = b.w.s.OpenThread(bob, c, "", "between us")
		b.w.s.Say(bob, thread, "before")
		return thread
	}
	scenes := map[string]func(what, c string, code int){
		readRoute: func(what, c string, code int) {
			th := within(c)
			fault := b.struck(readRoute, c, code)
			b.over(what, fault, place{c, th, b.w.s.Say(ada, th, b.w.ping()+"hello")})
		},
		"GET /channels/{channel}": func(what, c string, code int) {
			other := b.w.s.AddChannel(b.w.guild, "other"+c)
			fault := b.struck("GET /channels/{channel}", other, code)
			b.over(what, fault, b.w.in(c, "hello <#"+other+">"))
		},
		"GET /channels/{channel}/messages/{message}": func(what, c string, code int) {
			at := b.w.in(c, "deploy prod now")
			card := b.n.ask(at, `{"env":"prod"}`)
			fault := b.struck("GET /channels/{channel}/messages/{message}", c, code)
			eventually(b, what+": it strikes", func() bool { // once it is noted that the card waits
				if fault.Hits() == 0 {
					b.w.s.ClearReactions(card.message, "")
				}
				return fault.Hits() > 0
			})
			b.w.react("ada", card.place, "✅")
			b.over(what, fault, at)
		},
		typingRoute: func(what, c string, code int) {
			fault := b.struck(typingRoute, c, code)
			b.slow.Store(c, fault)
			b.over(what, fault, b.w.in(c, "take your time with "+c))
		},
		"PUT /channels/{channel}/thread-members/@me": func(what, c string, code int) {
			th := within(c)
			fault := b.struck("PUT /channels/{channel}/thread-members/@me", c, code)
			b.w.s.Slash(ada, th, "ask", map[string]any{"question": "hello"})
			b.over(what, fault, place{channel: c, thread: th})
		},
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, 6)
	var number atomic.Int32
	for route, play := range scenes {
		for _, code := range points(readCodes) {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				play(fmt.Sprintf("%s: %d", route, code), b.w.s.AddChannel(b.w.guild, fmt.Sprint("b", number.Add(1))), code)
			})
		}
	}
	all.Wait()
	for i, code := range points(readCodes) { // which names no channel, so one after the other
		what := fmt.Sprintf("the roles of a server: %d", code)
		b.w.s.SetRoles(b.w.guild, bob, b.w.s.AddRole(b.w.guild, fmt.Sprint("new", i), 0))
		fault := b.struck("GET /guilds/{guild}/roles", "", code)
		b.over(what, fault, b.w.in(b.w.s.AddChannel(b.w.guild, fmt.Sprint("g", i)), "hello <@&"+role+">"))
	}
}

// A close code of the Gateway that no reconnection mends ends the program, with a word
// on the remedy.
func TestDiscordFatalCloses(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{
		4004: "copy discord.token again", 4010: "set discord.shards to auto", 4011: "recommends no more", 4012: "not served any more",
		4013: "the intents are invalid", 4014: "Message Content Intent",
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			w := quickDiscord(t)
			n := newService(t, w, frail, setup{})
			n.start()
			w.s.Connections()[0].Close(code, "No.")
			n.fails(want)
		})
	}
}

// fails waits until the program has ended with status 1, and these words in its log.
func (n *service) fails(words ...string) {
	n.t.Helper()
	select {
	case status := <-n.done:
		if status != exitFailed || !holds(n.logs.String(), words) {
			n.t.Errorf("status %d\n%s", status, n.logs)
		}
	case <-time.After(patience):
		n.t.Errorf("it goes on\n%s", n.logs)
	}
	n.cancel()
	n.cancel = nil
}

// Any other close is the end of a connection only: what is said next is answered.
func TestDiscordPassingCloses(t *testing.T) {
	t.Parallel()
	w := quickDiscord(t)
	n := newService(t, w, frail, setup{})
	n.start()
	for _, code := range []int{1000, 1001, 4000, 4003, 4005, 4008, 4009} {
		text := fmt.Sprintf("hello after %d", code)
		eventually(t, "it is connected", func() bool { return len(w.s.Connections()) == 1 })
		w.s.Connections()[0].Close(code, "")
		n.find(w.mention("ada", text), "You said: "+text)
	}
}

// A refused sign-in is tried again, unless Discord refuses the token.
func TestDiscordSignInRefused(t *testing.T) {
	t.Parallel()
	routes := []string{"GET /users/@me", "GET /applications/@me", "GET /gateway/bot", "GET /applications/{app}/commands"}
	for _, code := range []int{0, 20012, 40333, 50001, 130000} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			w := quickDiscord(t)
			n := newService(t, w, frail, setup{})
			var faults []*fakediscord.Injected
			for i, route := range routes {
				if code%len(routes) == i || code == 0 {
					faults = append(faults, w.s.Inject(fakediscord.Fault{Route: route, Status: statusOf(code), Code: code, Message: "In Discord's words"}))
				}
			}
			n.start()
			n.find(w.mention("ada", "hello"), "You said: hello")
			for _, f := range faults {
				eventually(t, "it strikes", func() bool { return f.Hits() > 0 })
			}
		})
	}
	for i, code := range append(deadCodes, 0) {
		t.Run(fmt.Sprint("token ", code), func(t *testing.T) {
			t.Parallel()
			w := quickDiscord(t)
			n := newService(t, w, frail, setup{})
			w.s.Inject(fakediscord.Fault{Route: routes[i], Status: http.StatusUnauthorized, Code: code, Message: "401: Unauthorized"})
			n.launch()
			n.fails("sign in to Discord", "status 401")
		})
	}
}

// Where no session may be begun for now the program waits, says so, and is there as
// soon as one may.
func TestDiscordSessionsUsedUp(t *testing.T) {
	t.Parallel()
	w := quickDiscord(t)
	w.s.AllowIdentifies(0, time.Second)
	token := w.s.Token()
	n := newService(t, w, frail, setup{})
	n.launch()
	eventually(t, "it waits", func() bool { return strings.Contains(n.logs.String(), "no new session today") })
	w.s.AllowIdentifies(1, time.Hour)
	n.ready()
	n.find(w.mention("ada", "hello"), "You said: hello")
	if w.s.Token() != token {
		t.Errorf("the token is %q\n%s", w.s.Token(), n.logs)
	}
}
