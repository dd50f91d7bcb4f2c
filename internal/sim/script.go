package sim

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"nod/chat/vocabulary"
	"nod/memory"
)

// action is one thing that somebody does, or that goes wrong, at a time. A script
// is a list of them; what follows is up to nod and to the seed.
type action struct {
	at     time.Duration
	kind   kind
	who    string
	thread int
	slot   int    // of a process
	about  string // a question, such as q7, or an item of one, such as q7.2
	text   string
	d      time.Duration // for how long, or how much later
	n      int
}

type kind string

// Actions of people.
const (
	says    kind = "says"
	edits   kind = "edits"
	deletes kind = "deletes"
	halts   kind = "halts"
	octagon kind = "stops with 🛑"
	votes   kind = "votes" // d after the card for the item stands
	unvotes kind = "takes back"
	follows kind = "goes on" // d after the answer to a question stands
	regrets kind = "regrets" // d after an item was approved: says stop
	twice   kind = "says as two events"
	alarms  kind = "alerts" // how, in who: as the keeper of the alert's log puts it
)

// Faults.
const (
	crashes   kind = "crash"     // a process, now, or at its n-th call from now
	starts    kind = "start"     // of a process that there is not
	drains    kind = "drain"     // SIGTERM
	pauses    kind = "pause"     // SIGSTOP, for d, now or at its n-th call from now
	parts     kind = "partition" // a process does not reach the store, for d
	away      kind = "store away"
	refuses   kind = "store takes no writes"
	flaky     kind = "store is flaky"     // some answers are lost
	forgets   kind = "store loses writes" // of the last d
	jumps     kind = "store clock jumps"
	silence   kind = "platform away"
	mumbles   kind = "platform is flaky"
	slows     kind = "platform is slow" // posts wait in the outbox for up to d
	forgetful kind = "platform repeats" // and mixes up what it delivers
	poison    kind = "entry that can't be read"
	reconf    kind = "tools are defined anew"
	tampers   kind = "arguments of a call that asks are changed in the store"
	strands   kind = "partition of the process"          // that runs an item, d after it began, for n seconds, and a flaky store at its end
	unwrites  kind = "store loses an approval's effects" // what is written from d after an item was approved, for n milliseconds
)

// follows says whether it is not done at a time, but once something else is.
func (k kind) follows() bool {
	return slices.Contains([]kind{votes, unvotes, follows, regrets, strands, unwrites}, k)
}

var (
	team    = []string{"ada", "ben", "cid", "dan"}
	emojis  = []string{"✅", "❌", "👍", "👎"}
	seconds = func(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }
)

// scene is what an episode is played on.
type scene struct {
	seed      uint64
	processes int
	alone     bool // the store serves one process at a time
	nonce     bool // the platform tells repeats by itself, instead of being looked through
	lenient   bool // see server
	threads   int
	budget    int
	length    time.Duration
	faults    float64 // how much goes wrong, from 0 to 1
	without   rule    // that is not looked at
}

// write makes the scene and the script of a seed.
func write(seed uint64) (scene, []action) {
	w := writer{rnd: rand.New(rand.NewPCG(seed, 7))}
	w.scene = scene{
		seed: seed, processes: 1 + w.rnd.IntN(3), nonce: w.rnd.IntN(2) == 0, threads: 1 + w.rnd.IntN(8),
		length: seconds(60 + w.rnd.Float64()*540), faults: w.rnd.Float64(),
	}
	if w.rnd.IntN(4) == 0 {
		w.alone, w.processes = true, 1
	}
	w.lenient = w.rnd.IntN(2) == 0
	if w.rnd.IntN(3) == 0 {
		w.budget = 1500
	}
	if w.rnd.IntN(5) == 0 {
		w.faults = 0
	}
	w.people()
	w.trouble()
	w.second()
	w.plans()
	w.alerts()
	w.tasks()
	slices.SortStableFunc(w.out, func(a, b action) int { return int(a.at - b.at) })
	return w.scene, w.out
}

type writer struct {
	scene
	rnd *rand.Rand
	out []action
	n   int // questions
}

func (w *writer) chance(p float64) bool { return w.rnd.Float64() < p }
func (w *writer) who() string           { return team[w.rnd.IntN(len(team))] }
func (w *writer) time() time.Duration   { return time.Duration(w.rnd.Float64() * float64(w.length)) }

// short is from 0 to max seconds, more often near 0.
func (w *writer) short(max float64) time.Duration {
	f := w.rnd.Float64()
	return seconds(f * f * f * max)
}

func (w *writer) add(a action) { w.out = append(w.out, a) }

// spoken are the words of the table that need no name, and switches of two tools. A `recap`
// is a word or a question, as the thread has one or not.
var spoken = func() (all []string) {
	for _, w := range vocabulary.Table {
		switch {
		case w.Takes == vocabulary.Tool:
			all = append(all, w.Name+" act", w.Name+" deploy")
		case w.Takes == vocabulary.Nothing && w.Name != "" && w.Name != "recap":
			all = append(all, w.Name)
		}
	}
	return all
}()

func (w *writer) people() {
	for range 20 + w.rnd.IntN(60) {
		w.question(w.time(), w.rnd.IntN(w.threads), w.who())
	}
	for range w.rnd.IntN(8) {
		at, thread := w.time(), w.rnd.IntN(w.threads)
		w.add(action{at: at, kind: says, who: w.who(), thread: thread, text: spoken[w.rnd.IntN(len(spoken))]})
	}
	for range w.rnd.IntN(3) {
		w.add(action{at: w.time(), kind: halts, who: w.who(), thread: w.rnd.IntN(w.threads)})
	}
}

// question asks for something, and has people answer what it leads to.
func (w *writer) question(at time.Duration, thread int, who string) {
	w.n++
	q := fmt.Sprintf("q%d", w.n)
	var steps []string
	item := 0
	for range w.rnd.IntN(4) * w.rnd.IntN(2) {
		var calls []string
		for range 1 + w.rnd.IntN(3)*w.rnd.IntN(2) {
			item++
			calls = append(calls, w.call(at, q, item))
		}
		steps = append(steps, strings.Join(calls, " + "))
	}
	last := "say"
	switch x := w.rnd.IntN(60); {
	case x == 0:
		last = "fail"
	case x == 1:
		last = "panic"
	case x == 2:
		last = "unspeakable"
	case x < 10:
		last = fmt.Sprintf("slow %d", 1+w.rnd.IntN(40))
	}
	steps = append(steps, last)
	ask := action{at: at, kind: says, who: who, thread: thread, about: q, text: q + ": " + strings.Join(steps, "; ")}
	if w.chance(0.1) { // as a message, and as a mention
		ask.kind = twice
	}
	w.add(ask)
	if w.chance(0.3) {
		w.n++
		f := fmt.Sprintf("q%d", w.n)
		w.add(action{at: at, kind: follows, who: w.who(), thread: thread, about: q, text: f + ": say", d: w.short(0.02)})
	}
	switch {
	case w.chance(0.1): // steer while it works
		w.question(at+w.short(20), thread, w.who())
	case w.chance(0.05):
		w.add(action{at: at + w.short(10), kind: octagon, who: w.who(), thread: thread, about: q})
	case w.chance(0.05):
		w.add(action{at: at + w.short(20), kind: says, who: w.who(), thread: thread, text: "stop"})
	case w.chance(0.05):
		w.add(action{at: at + w.short(3), kind: edits, who: who, thread: thread, about: q, text: q + ": read 1; say"})
	case w.chance(0.04):
		w.add(action{at: at + w.short(3), kind: deletes, who: who, thread: thread, about: q})
	}
}

// call is one item of a plan.
func (w *writer) call(at time.Duration, q string, item int) string {
	tool := toolNames[w.rnd.IntN(len(toolNames))]
	id := fmt.Sprintf("%s.%d", q, item)
	took := w.rnd.IntN(4)
	if w.chance(0.15) {
		took = w.rnd.IntN(28)
	}
	text := fmt.Sprintf("%s %d", tool, took)
	switch {
	case w.chance(0.05):
		text += "!"
	case w.chance(0.02):
		text += "?"
	case toolSpecs[tool].asks && w.chance(0.03): // its card can't be shown
		text += "#"
	}
	if toolSpecs[tool].asks {
		w.ballot(at, id)
	}
	w.misfortune(at, id, toolSpecs[tool])
	return text
}

// misfortune is what goes wrong just as a side effect begins: its process is cut off
// for longer than a lease, or the store loses that it began.
func (w *writer) misfortune(at time.Duration, id string, tool toolSpec) {
	switch {
	case w.faults == 0 || tool.reads:
	case w.chance(0.02):
		w.add(action{at: at, kind: strands, about: id, d: w.short(2), n: 16 + w.rnd.IntN(40)})
	case tool.asks && w.chance(0.01):
		w.add(action{at: at, kind: unwrites, about: id, d: w.short(0.01), n: 100 + w.rnd.IntN(5000)})
	}
}

// ballot says who votes how on the approval of an item.
func (w *writer) ballot(at time.Duration, id string) {
	if w.chance(0.06) {
		return // nobody cares
	}
	yes := w.chance(0.8)
	for _, who := range team {
		if w.chance(0.2) {
			continue
		}
		emoji := emojis[2*w.rnd.IntN(2)]
		if !yes && w.chance(0.5) || w.chance(0.03) {
			emoji = emojis[1+2*w.rnd.IntN(2)]
		}
		d := w.short(30)
		if w.chance(0.1) {
			d = w.short(400)
		}
		w.add(action{at: at, kind: votes, who: who, about: id, text: emoji, d: d})
		if w.chance(0.1) { // and with the other hand
			w.add(action{at: at, kind: votes, who: who, about: id, text: emojis[2*w.rnd.IntN(2)], d: d + w.short(20)})
		}
		if w.chance(0.1) {
			w.add(action{at: at, kind: unvotes, who: who, about: id, text: emoji, d: d + w.short(20)})
		}
	}
}

// second adds consequences: an approver who changes their mind just as the call begins,
// and a store that is not quite back yet when a process reaches it again.
func (w *writer) second() {
	seen := map[string]bool{}
	for _, a := range w.out {
		switch {
		case a.kind == parts || a.kind == pauses:
			if w.chance(0.3) {
				w.add(action{at: max(0, a.at+a.d-w.short(3)), kind: flaky, slot: a.slot, d: seconds(5) + w.short(30)})
			}
			continue
		case a.kind != votes || seen[a.about]:
			continue
		}
		seen[a.about] = true
		if w.chance(0.04) {
			w.add(action{at: a.at, kind: regrets, who: a.who, about: a.about, text: "stop", d: w.short(0.01)})
		}
	}
}

// plans are what people have asked later, and what they want to be reminded of.
func (w *writer) plans() {
	for range w.rnd.IntN(4) {
		w.n++
		text := fmt.Sprintf("in %dm: q%d: say", 1+w.rnd.IntN(5), w.n)
		if w.chance(0.2) {
			text = "remind " + text
		}
		w.add(action{at: w.time(), kind: says, who: w.who(), thread: w.rnd.IntN(w.threads), text: text})
	}
}

// alerts are incidents: one begins a turn at once or was held back, comes again, and is over.
func (w *writer) alerts() {
	for range w.rnd.IntN(3) {
		w.n++
		q := fmt.Sprintf("q%d", w.n)
		a := action{at: w.time(), kind: alarms, thread: w.rnd.IntN(w.threads), about: q, who: string(memory.AlertBegins), text: q + ": " + w.call(0, q, 1) + "; say"}
		if w.chance(0.3) {
			held := a
			held.who = string(memory.AlertHeld)
			w.add(held)
			a.at, a.text = a.at+w.short(60), ""
		}
		w.add(a)
		for n := range w.rnd.IntN(3) {
			w.add(action{at: a.at + w.short(60), kind: alarms, thread: a.thread, about: q, who: string(memory.AlertAgain), n: n + 1})
		}
		if w.chance(0.3) {
			w.add(action{at: a.at + w.short(60), kind: alarms, thread: a.thread, about: q, who: string(memory.AlertResolved)})
		}
	}
}

// tasks are questions that lead to calls which go on at their server, and what comes between.
func (w *writer) tasks() {
	for range w.rnd.IntN(3) {
		w.n++
		at, thread, q := w.time(), w.rnd.IntN(w.threads), fmt.Sprintf("q%d", w.n)
		text := fmt.Sprintf("%s: build %d", q, w.rnd.IntN(120))
		if w.chance(0.3) {
			text += fmt.Sprintf(" + build %d", w.rnd.IntN(30))
		}
		w.add(action{at: at, kind: says, who: w.who(), thread: thread, about: q, text: text + "; say"})
		if w.chance(0.3) {
			w.add(action{at: at + w.short(60), kind: says, who: w.who(), thread: thread, text: []string{"stop", "forget"}[w.rnd.IntN(2)]})
		}
		if w.faults > 0 && w.chance(0.5) {
			w.fault(at+w.short(60), w.rnd.IntN(w.processes))
		}
		if w.faults > 0 && w.chance(0.1) {
			w.add(action{at: at, kind: strands, about: q + ".1", d: w.short(2), n: 16 + w.rnd.IntN(40)})
		}
	}
}

// trouble is what goes wrong.
func (w *writer) trouble() {
	if w.faults == 0 {
		return
	}
	for range 1 + w.rnd.IntN(1+int(w.faults*14)) {
		w.fault(w.time(), w.rnd.IntN(w.processes))
	}
}

func (w *writer) fault(at time.Duration, slot int) {
	a := action{at: at, slot: slot, d: w.short(90)}
	switch x := w.rnd.IntN(35); {
	case x > 31:
		a.kind, a.d = forgets, w.short(8)
	case x < 6:
		a.kind, a.n, a.d = crashes, w.rnd.IntN(12), 0
		w.add(a)
		a = action{at: at + w.short(60), kind: starts, slot: slot}
	case x < 8:
		a.kind, a.d = drains, 0
		w.add(a)
		a = action{at: at + w.short(60), kind: starts, slot: slot}
	case x < 12:
		a.kind = pauses
		if w.chance(0.6) { // in the middle of something, and for longer than a lease
			a.n, a.d = 1+w.rnd.IntN(12), seconds(5+w.rnd.Float64()*60)
		}
	case x < 14:
		a.kind = parts
	case x < 16:
		a.kind, a.d = away, w.short(40)
	case x < 17:
		a.kind, a.d = refuses, w.short(40)
	case x < 20:
		a.kind = flaky
	case x < 21:
		a.kind, a.d = forgets, w.short(5)
	case x < 22:
		a.kind = jumps
		a.d = w.short(600)
		if w.chance(0.5) {
			a.d = -a.d
		}
	case x < 23:
		a.kind = silence
	case x < 25:
		a.kind = mumbles
	case x < 27:
		a.kind = slows
	case x < 28:
		a.kind, a.n = poison, w.rnd.IntN(w.threads)
	case x < 29:
		a.kind, a.d = reconf, 0
	case x < 31:
		a.kind, a.n, a.d = tampers, w.rnd.IntN(w.threads), 0
	default:
		a.kind = forgetful
	}
	w.add(a)
}

// String is the action as a line of a conversation.
func (a action) String() string {
	var b bytes.Buffer
	switch a.kind {
	case says, twice, edits, deletes, halts, octagon:
		fmt.Fprintf(&b, "-- %s %s in t%d at %v --\n", a.who, a.kind, a.thread, a.at.Round(time.Millisecond))
		if a.about != "" && a.kind != says && a.kind != twice {
			fmt.Fprintf(&b, "%s\n", a.about)
		}
		if a.text != "" {
			fmt.Fprintf(&b, "%s\n", a.text)
		}
	case follows:
		fmt.Fprintf(&b, "-- %s %s in t%d, %v after %s is answered --\n%s\n", a.who, a.kind, a.thread, a.d.Round(time.Microsecond), a.about, a.text)
	case regrets:
		fmt.Fprintf(&b, "-- %s %s %s, %v after it is approved --\n", a.who, a.kind, a.about, a.d.Round(time.Microsecond))
	case strands, unwrites:
		fmt.Fprintf(&b, "-- %s, %v after %s --\nn %d\n", a.kind, a.d.Round(time.Microsecond), a.about, a.n)
	case votes, unvotes:
		fmt.Fprintf(&b, "-- %s %s %s on %s, %v after it stands --\n", a.who, a.kind, a.text, a.about, a.d.Round(time.Millisecond))
	default:
		fmt.Fprintf(&b, "-- %s at %v --\nprocess %d, for %v, n %d\n", a.kind, a.at.Round(time.Millisecond), a.slot, a.d.Round(time.Millisecond), a.n)
	}
	return b.String()
}
