package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/internal/fakediscord"
)

// Discord's numbers for refusing a call, by what they mean
// (https://discord.com/developers/docs/topics/opcodes-and-status-codes#json). Those
// that are in none of the first lists are about how something was written, or about
// nothing that matters here.
var (
	deadCodes = []int{40001, 50014} // with status 401
	goneCodes = []int{10003, 10004, 50001, 50007, 50008, 50013, 50083, 50278, 160005}

	otherCodes = []int{
		0,
		10001, 10002, 10005, 10006, 10007, 10009, 10010, 10011, 10012, 10013, 10014, 10015, 10016, 10020, 10021, 10026, 10027, 10028, 10029, 10030, 10031,
		10032, 10033, 10036, 10038, 10049, 10050, 10057, 10059, 10060, 10061, 10062, 10063, 10065, 10066, 10067, 10068, 10069, 10070, 10071, 10087, 10097,
		10124, 10129,
		20001, 20002, 20009, 20012, 20015, 20016, 20018, 20022, 20024, 20028, 20029, 20031, 20035,
		30001, 30002, 30003, 30004, 30005, 30007, 30008, 30010, 30011, 30013, 30015, 30016, 30018, 30019, 30030, 30031, 30032, 30033, 30034, 30035, 30037,
		30038, 30039, 30040, 30042, 30045, 30046, 30047, 30048, 30052, 30056, 30058, 30060, 30061,
		40002, 40003, 40004, 40005, 40006, 40007, 40009, 40012, 40018, 40019, 40032, 40033, 40041, 40043, 40058, 40060, 40061, 40062, 40066, 40067, 40074,
		40094, 40333,
		50002, 50003, 50004, 50006, 50009, 50010, 50011, 50012, 50015, 50016, 50017, 50019, 50020, 50021, 50024, 50025, 50026, 50027, 50028, 50033, 50034,
		50035, 50036, 50039, 50041, 50045, 50046, 50054, 50055, 50057, 50067, 50068, 50070, 50073, 50074, 50080, 50081, 50084, 50085, 50086, 50091, 50095,
		50097, 50101, 50109, 50110, 50123, 50124, 50131, 50132, 50138, 50144, 50145, 50146, 50151, 50159, 50160, 50161, 50162, 50163, 50167, 50173, 50178,
		50192, 50600, 60003, 80004, 90001, 90002, 110000, 110001, 130000, 131000, 131005, 150006, 160002, 160004, 160006, 160007, 160014, 170001, 180000,
		180002, 200000, 200001, 220001, 220003, 240000, 350000, 350001, 400001, 500000, 520000, 520006, 530000, 530006, 530007,
	}
	// elseCodes are those that routes other than posting can give; 160004 says that
	// the thread is there, which is no refusal.
	elseCodes = []int{
		0, 10003, 10004, 10008, 10014, 20012, 20016, 20022, 20028, 20029, 30010, 30033, 30046, 40004, 40005, 40006, 40062, 40333, 50001, 50003, 50005, 50013,
		50021, 50024, 50033, 50035, 50055, 50068, 50083, 50109, 50151, 50162, 60003, 90001, 90002, 110000, 130000, 160002, 160005, 160006, 160007,
		200000, 200001, 240000,
	}
)

const (
	postRoute  = "POST /channels/{channel}/messages"
	patchRoute = "PATCH /channels/{channel}/messages/{message}"
)

// statusOf is the status with which Discord gives a code.
func statusOf(code int) int {
	switch {
	case code/1000 == 10:
		return http.StatusNotFound
	case slices.Contains([]int{20009, 20012, 40007, 40333, 50001, 50007, 50013, 50278}, code):
		return http.StatusForbidden
	}
	return http.StatusBadRequest
}

// quickDiscord is a server without limits, and a bot that knows it.
func quickDiscord(t *testing.T) *discordWorld {
	w := newDiscordWorld(t, fakediscord.Options{NoLimits: true})
	w.extra = ", limits: {global: 10000}"
	return w
}

// in has ada mention the bot in a channel of its own.
func (w *discordWorld) in(channel, text string) place {
	id := w.s.Say(w.users["ada"], channel, w.ping()+text)
	return place{channel, id, id}
}

// around are the bot's posts in a conversation, and in the channel above it.
func (w *discordWorld) around(at place) string {
	var out []string
	for _, p := range append(w.posts(at), w.posts(place{thread: at.channel})...) {
		out = append(out, p.text)
	}
	return strings.Join(out, "\n")
}

// goOn says something more where a conversation goes on: in its thread, or in the
// channel where there is none, or no longer one to write in.
func (w *discordWorld) goOn(at place, text string) {
	channel := at.thread
	if len(w.posts(at)) == 0 {
		channel = at.channel
	}
	w.s.Say(w.users["ada"], channel, w.ping()+text)
}

// Discord refuses any call of a turn once, with each of its codes. The turn ends with
// its answer or a plain word, and the next question is answered.
func TestDiscordEveryRefusal(t *testing.T) {
	t.Parallel()
	w := quickDiscord(t)
	n := newService(t, w, frail, setup{})
	n.start()
	says := func(at place, words ...string) func() bool {
		return func() bool {
			text := w.around(at)
			return slices.ContainsFunc(append(words, "Discord refused", "went wrong"), func(word string) bool { return strings.Contains(text, word) })
		}
	}
	hello := func(c string) place { return w.in(c, "hello") }
	deploy := func(c string) place {
		at := w.in(c, "deploy prod now")
		eventually(t, "it asks", says(at, "May approve"))
		if n.approve(at) {
			eventually(t, "the call is over", says(at, "The tool says"))
		}
		return at
	}
	scenes := map[string]struct {
		codes []int
		play  func(channel string) place
	}{
		postRoute: {otherCodes, hello},
		"POST /channels/{channel}/messages/{message}/threads": {elseCodes, hello},
		patchRoute: {elseCodes, deploy},
		"PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me": {elseCodes, deploy},
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, 6)
	number := 0
	for route, scene := range scenes {
		for _, code := range points(scene.codes) {
			number++
			name := fmt.Sprintf("c%d", number)
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				what := fmt.Sprintf("%s: %d: ", route, code)
				channel := w.s.AddChannel(w.guild, name)
				fault := w.s.Inject(fakediscord.Fault{Route: route, Channel: channel, Status: statusOf(code), Code: code, Message: "In Discord's words"})
				at := scene.play(channel)
				eventually(t, what+"the turn ends", says(at, "You said", "The tool says"))
				eventually(t, what+"it strikes", func() bool { return fault.Hits() > 0 })
				w.goOn(at, "and again")
				eventually(t, what+"the next question is answered", func() bool { return strings.Contains(w.everywhere(channel), "You said: and again") })
			})
		}
	}
	all.Wait()
}

// An unusable place is recorded, and nothing is said there. Once it is usable again the
// next question is answered.
func TestDiscordPlaceIsGone(t *testing.T) {
	t.Parallel()
	w := quickDiscord(t)
	n := newService(t, w, frail, setup{})
	n.start()
	var all sync.WaitGroup
	for i, code := range goneCodes {
		channel := w.s.AddChannel(w.guild, fmt.Sprintf("gone%d", i))
		all.Go(func() {
			fault := w.s.Inject(fakediscord.Fault{Route: postRoute, Channel: channel, Status: statusOf(code), Code: code, Message: "In Discord's words", Times: 1000})
			w.in(channel, "hello")
			eventually(t, fmt.Sprintf("%d is recorded", code), func() bool { return strings.Contains(n.logs.String(), fmt.Sprintf("code %d", code)) })
			fault.Cancel()
			w.s.Say(w.users["ada"], channel, w.ping()+"and again")
			eventually(t, fmt.Sprintf("%d: the next question is answered", code), func() bool {
				return strings.Contains(w.everywhere(channel), "You said: and again")
			})
		})
	}
	all.Wait()
}

// everywhere is what the bot said in a channel and its threads.
func (w *discordWorld) everywhere(channel string) string {
	var out []string
	for _, m := range w.s.Messages(channel) {
		out = append(out, w.around(place{channel: channel, thread: m.ID}))
	}
	return strings.Join(out, "\n")
}

// A token that Discord refuses ends the program with status 1 and a line in the
// log, as Discord is its only platform.
func TestDiscordTokenIsDead(t *testing.T) {
	t.Parallel()
	for _, code := range deadCodes {
		w := quickDiscord(t)
		n := newService(t, w, frail, setup{})
		n.start()
		w.s.Inject(fakediscord.Fault{Status: http.StatusUnauthorized, Code: code, Message: "401: Unauthorized", Times: 1000})
		w.mention("ada", "hello")
		select {
		case status := <-n.done:
			if status != exitFailed || !strings.Contains(n.logs.String(), "the token is refused") {
				t.Errorf("%d: status %d\n%s", code, status, n.logs)
			}
		case <-time.After(patience):
			t.Errorf("%d: it goes on", code)
		}
		n.cancel()
		n.cancel = nil
	}
}

// A turn with one tool makes one edit, and one that is approved at most four, two of
// which are the card's: edits are what a busy channel's limit is spent on, and what
// stands for less than half a second nobody reads.
func TestDiscordEditsOfATurn(t *testing.T) {
	t.Parallel()
	w := quickDiscord(t)
	n := newService(t, w, frail, setup{})
	n.start()
	edits := func() int { return len(w.s.Calls(patchRoute)) }
	began := time.Now()
	at := w.mention("ada", "look it up")
	n.find(at, "1 step ·")
	free, slow := edits(), redrawn(began)
	began = time.Now()
	at = w.mention("ada", "deploy prod now")
	card := n.ask(at, `{"env":"prod"}`)
	if first, _, _ := strings.Cut(card.text, "\n"); first != "Approval 1: deploy" {
		t.Errorf("the card begins with %q", first)
	}
	n.w.react("ada", card.place, "✅")
	n.find(at, "1 step ·")
	done := n.find(at, "Approved by ada · done in")
	t.Logf("%d edits with a tool that runs freely, %d with one that is approved", free, edits()-free)
	if free > 1+slow || edits()-free > 4+redrawn(began) || !strings.HasPrefix(done.text, "Approved by ada · done in") {
		t.Errorf("%d edits, then %d; the card is %q", free, edits()-free, done.text)
	}
}
