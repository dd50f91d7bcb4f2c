package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"nod/agent/run"
	"nod/chat"
	"nod/memory"
)

const platform = "sim"

// world is one episode: processes over a store, a platform with people, and what
// goes wrong.
type world struct {
	*loop
	scene
	script  []action
	srv     *server
	board   *board
	check   *checker
	nodes   []*node // by slot; nil where none runs
	born    int
	threads []chat.ThreadID
	asked   map[string]chat.MessageRef
	events  []*event
	said    int
	sent    int
	trace   io.Writer // nil: nobody reads it
	calm    bool      // nothing goes wrong any more
	version int       // of the definition of the tools

	editions map[*card]int // of the tool for which a card asks
	tasks    map[string]*job
	had      map[action]bool // what follows on an approval, and did

	// Faults that are active now.
	down, stubborn int     // the store does not answer, takes no writes
	loss           float64 // of answers of the store
	silent         bool    // the platform is away
	forgets        bool    // the store will lose what is written now
	mumble         float64 // failures of the platform
	slow           time.Duration
	repeats        float64
}

// node is a process with a nod in it.
type node struct {
	w       *world
	p       *process
	slot    int
	store   *handle
	inbox   run.Inbox
	stop    context.CancelFunc
	version int // of its tools
	cut     int // partitions from the store that hold
	leaving bool
	died    time.Time
	gone    bool // it ended in peace
	cutOff  bool // but could not reach the store lately: what it still knew may be lost
}

var background = context.Background()

func newWorld(sc scene, script []action, trace io.Writer) *world {
	w := &world{
		loop: newLoop(sc.seed), scene: sc, script: script, trace: trace, asked: map[string]chat.MessageRef{},
		nodes: make([]*node, sc.processes), repeats: 0.05,
		editions: map[*card]int{}, tasks: map[string]*job{}, had: map[action]bool{},
	}
	for i := range sc.threads {
		w.threads = append(w.threads, chat.ThreadID{Platform: platform, Channel: fmt.Sprintf("c%d", i%2), Root: fmt.Sprintf("t%d", i)})
	}
	w.srv = newServer(virtual{w.loop})
	w.srv.alone, w.srv.lenient = sc.alone, sc.lenient
	w.check = newChecker(w)
	w.srv.hear, w.srv.look = w.check.appended, w.check.looked
	w.board = newBoard(w)
	return w
}

// virtual is the ground of a simulated server.
type virtual struct{ l *loop }

func (v virtual) now() time.Time                  { return v.l.now() }
func (v virtual) later(d time.Duration, f func()) { v.l.after(d, nil, f) }
func (v virtual) word() string                    { return strconv.FormatUint(v.l.rnd.Uint64(), 36) }
func (v virtual) fraction() float64               { return v.l.rnd.Float64() }
func (w *world) logf(format string, args ...any) {
	if w.trace != nil {
		_, _ = fmt.Fprintf(w.trace, "%10.4f %s\n", w.since.Seconds(), fmt.Sprintf(format, args...))
	}
}

// start begins a process in a slot.
func (w *world) start(slot int) {
	if w.nodes[slot] != nil {
		return
	}
	w.born++
	n := &node{w: w, slot: slot, version: w.version}
	n.p = &process{l: w.loop, name: fmt.Sprintf("p%d.%d", slot, w.born)}
	n.p.failed = func(why string) { w.check.fail(rulePanic, "%s: %s", n.p.name, why) }
	n.store = w.srv.open(n.p.name, &link{n})
	w.nodes[slot] = n
	w.check.nodes[n.p.name] = n
	ctx, stop := context.WithCancel(background)
	n.stop = stop
	r := newRunner(n)
	n.inbox = run.Inbox{Store: n.store, Emoji: means, Agent: r.Agent}
	w.logf("start %s", n.p.name)
	n.p.Go(func() {
		if err := r.Run(ctx); err != nil {
			w.check.fail(rulePanic, "%s: run: %v", n.p.name, err)
		}
		_ = n.store.Close()
		n.gone = true
		n.cutOff = !n.reaches() || w.stubborn > 0 || w.loss > 0 || n.store.sick > 0 && w.now().Sub(n.store.heard) < 2*time.Minute
		w.logf("%s is gone", n.p.name)
		if w.nodes[slot] == n {
			w.nodes[slot] = nil
		}
	})
	n.health()
}

var means = map[string]bool{"✅": true, "❌": true, "👍": true, "👎": true, "🛑": true, "🔄": true}

func (w *world) crash(n *node) {
	if n == nil || n.p.dead || n.gone {
		return
	}
	w.logf("crash %s", n.p.name)
	n.died = w.now()
	n.p.kill()
	n.health()
	if w.nodes[n.slot] == n {
		w.nodes[n.slot] = nil
	}
}

// drain is SIGTERM.
func (w *world) drain(n *node) {
	if n == nil || n.leaving {
		return
	}
	n.leaving = true
	w.soon(n.p, func() { n.stop(); n.p.poll() })
}

// reaches says whether a process and the store hear each other.
func (n *node) reaches() bool { return n.cut == 0 && n.w.down == 0 }

// health has the store notice whether it hears the process.
func (n *node) health() {
	if n.p.dead || n.p.paused || !n.reaches() {
		n.store.ail()
	} else {
		n.store.recover()
	}
}

func (w *world) healths() {
	for _, n := range w.nodes {
		if n != nil {
			n.health()
		}
	}
}

// takeIn is what an adapter does with an event.
func (n *node) takeIn(e *event) (err error) {
	switch what := e.what.(type) {
	case chat.Message:
		_, err = n.inbox.Message(background, e.thread, what, e.id, "msg/"+what.Ref.ID)
	case *memory.Message:
		_, err = n.store.Put(background, e.thread, *what, e.id)
	case chat.Reaction:
		_, err = n.inbox.Reaction(background, what, e.id)
	case edited:
		_, err = n.inbox.Edited(background, what.ref, what.text, e.id)
	case deleted:
		_, err = n.inbox.Deleted(background, what.ref, e.id)
	case chat.User:
		_, err = n.inbox.Halt(background, e.thread, what, e.id)
	}
	return err
}

// trouble has something go wrong.
func (w *world) trouble(a action) {
	if w.calm {
		return
	}
	n := w.nodes[a.slot]
	switch a.kind {
	case crashes:
		if n == nil {
			return
		}
		if a.n == 0 {
			w.crash(n)
			return
		}
		n.p.fuse, n.p.blow = a.n, func() { w.crash(n) }
	case starts:
		w.start(a.slot)
	case drains:
		w.drain(n)
	case pauses:
		if n == nil || a.n == 0 {
			w.pause(n, a.d)
			return
		}
		n.p.fuse, n.p.blow = a.n, func() { w.pause(n, a.d) }
	case parts:
		w.part(n, a.d)
	case reconf:
		w.version++
	case poison:
		w.poison(w.threads[a.n])
	case tampers:
		w.tamper(w.threads[a.n])
	case forgets:
		w.forget(a.d)
	case jumps:
		w.srv.offset += a.d
		w.check.jumped()
	default:
		w.spell(a)
	}
}

func (w *world) pause(n *node, d time.Duration) {
	if n == nil || n.p.paused || n.p.dead || w.calm {
		return
	}
	n.p.pause()
	n.health()
	w.after(d, nil, func() {
		w.logf("%s goes on", n.p.name)
		n.p.cont()
		n.health()
	})
}

func (w *world) part(n *node, d time.Duration) {
	if n == nil {
		return
	}
	n.cut++
	n.health()
	w.after(d, nil, func() { n.cut--; n.health() })
}

// spell is something that goes wrong for a while.
func (w *world) spell(a action) {
	var over func()
	switch a.kind {
	case away:
		w.down++
		w.healths()
		over = func() { w.down--; w.healths() }
	case refuses:
		w.stubborn++
		over = func() { w.stubborn-- }
	case flaky:
		w.loss = 0.25
		over = func() { w.loss = 0 }
	case silence:
		w.silent = true
		over = func() { w.silent = false }
	case mumbles:
		w.mumble = 0.3
		over = func() { w.mumble = 0 }
	case slows:
		w.slow = a.d
		over = func() { w.slow = 0 }
	case forgetful:
		w.repeats = 0.7
		over = func() { w.repeats = 0.05 }
	default:
		panic("sim: no such action: " + a.kind)
	}
	w.after(a.d, nil, over)
}

// poison has an entry in an inbox that can't be read.
func (w *world) poison(id chat.ThreadID) {
	w.check.poisoned(id)
	w.srv.deliver(w.srv.thread(id), memory.Entry{At: w.srv.clock(), Body: memory.Broken{Raw: []byte("{"), Err: "half an entry"}})
}

// tamper changes a waiting call in the store. Nobody who reads the log from then on may
// run it.
func (w *world) tamper(id chat.ThreadID) {
	t := w.srv.byID[id]
	if t == nil {
		return
	}
	for i, e := range t.log {
		step, ok := e.Body.(memory.Step)
		if !ok {
			continue
		}
		for j, c := range step.Calls {
			k := w.check.ledger(id).calls[c.ID]
			if k == nil || k.card.IsZero() || k.started != nil || len(k.results) > 0 {
				continue
			}
			step.Calls = slices.Clone(step.Calls)
			step.Calls[j].Args = strings.Replace(c.Args, `"s":`, `"s":1`, 1)
			t.log = slices.Clone(t.log)
			t.log[i].Body = step
			w.logf("tampered with %s", c.ID)
		}
	}
}

// forget has the store lose what was written in the last d.
func (w *world) forget(d time.Duration) {
	if w.forgets {
		return
	}
	w.forgets = true
	snap, mark := w.srv.snapshot(), w.check.mark()
	w.after(d, nil, func() {
		w.forgets = false
		w.logf("the store loses %v", d)
		w.srv.restore(snap)
		w.check.restored(mark)
	})
}

// link is how a process reaches the store.
type link struct{ n *node }

var errRefused = errors.New("the store takes no writes")

// ask implements wire.
func (k *link) ask(ctx context.Context, write bool, do func()) error {
	w, n := k.n.w, k.n
	return n.request(ctx, func() error {
		if !n.reaches() {
			return errAway
		}
		if write && w.stubborn > 0 {
			return errRefused
		}
		if w.chance(w.loss / 2) {
			return errAway
		}
		do()
		if w.chance(w.loss / 2) {
			return errAway
		}
		return nil
	})
}

// rest implements wire.
func (k *link) rest(ctx context.Context, begin func(wake func())) { k.n.p.await(ctx, begin) }

// here implements wire.
func (k *link) here(f func()) { f() }

// tell implements wire.
func (k *link) tell(f func()) {
	w := k.n.w
	w.after(w.between(0, 5*time.Millisecond), k.n.p, f)
}

// request runs do on another machine, and waits for its result, or until ctx is done. A
// dead process requests nothing; its earlier requests may still happen. A process that
// has ended has closed its store.
func (n *node) request(ctx context.Context, do func() error) error {
	w := n.w
	if n.p.dead {
		runtime.Goexit()
	}
	if n.gone {
		return memory.ErrFenced
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if n.p.fuse > 0 {
		if n.p.fuse--; n.p.fuse == 0 {
			w.after(w.between(0, 3*time.Millisecond), nil, n.p.blow)
		}
	}
	answered, err := false, error(nil)
	n.p.await(ctx, func(wake func()) {
		w.after(w.between(50*time.Microsecond, 2*time.Millisecond), nil, func() {
			e := do()
			back := w.between(50*time.Microsecond, 2*time.Millisecond)
			if errors.Is(e, errAway) {
				back = w.between(time.Millisecond, time.Second)
			}
			w.after(back, n.p, func() {
				answered, err = true, e
				wake()
			})
		})
	})
	if !answered {
		return ctx.Err()
	}
	return err
}

// edition is the one of the tools of a process.
func (w *world) edition(process string) int {
	if n := w.check.nodes[process]; n != nil {
		return n.version
	}
	return 0
}
