package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/policy"
	"nod/agent/run"
	"nod/chat"
	"nod/internal/script"
	"nod/llm"
	"nod/memory"
)

// life is that of a process: at a boundary it ends, and from then on nothing that it
// does reaches the store, the platform or anything else.
type life struct {
	at    int64
	count atomic.Int64
	dead  atomic.Bool
}

var errDead = errors.New("this process is dead")

func (l *life) boundary() error {
	if l.count.Add(1) == l.at {
		l.dead.Store(true)
	}
	if l.dead.Load() {
		return errDead
	}
	return nil
}

// both does something between two boundaries.
func (l *life) both(do func() error) error {
	if err := l.boundary(); err != nil {
		return err
	}
	return errors.Join(do(), l.boundary())
}

// mortal is the store as such a process has it.
type mortal struct {
	memory.Full
	*life
}

// Ping implements memory.Store.
func (m mortal) Ping(ctx context.Context) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Full.Ping(ctx)
}

// Put implements memory.Store.
func (m mortal) Put(ctx context.Context, t chat.ThreadID, b memory.Body, ids ...string) (fresh bool, err error) {
	err = m.both(func() error { fresh, err = m.Full.Put(ctx, t, b, ids...); return err })
	return fresh, err
}

// Commit implements memory.Store.
func (m mortal) Commit(ctx context.Context, r *memory.Run, bodies ...memory.Body) (arrived []memory.Entry, err error) {
	err = m.both(func() error { arrived, err = m.Full.Commit(ctx, r, bodies...); return err })
	return arrived, err
}

// Finish implements memory.Store.
func (m mortal) Finish(ctx context.Context, r *memory.Run, at time.Time, bodies ...memory.Body) (more bool, err error) {
	err = m.both(func() error { more, err = m.Full.Finish(ctx, r, at, bodies...); return err })
	return more, err
}

// Swap implements memory.Notes.
func (m mortal) Swap(ctx context.Context, name string, old, value []byte) (done bool, err error) {
	err = m.both(func() error { done, err = m.Full.Swap(ctx, name, old, value); return err })
	return done, err
}

// Refer implements memory.Referrer.
func (m mortal) Refer(ctx context.Context, ref chat.MessageRef, t chat.ThreadID) error {
	return m.both(func() error { return m.Full.(memory.Referrer).Refer(ctx, ref, t) })
}

// reached is the platform as such a process reaches it.
type reached struct {
	*script.Board
	*life
}

// Post implements run.Drawer.
func (r reached) Post(ctx context.Context, t chat.ThreadID, p chat.Post, look bool) (ref chat.MessageRef, err error) {
	err = r.both(func() error { ref, err = r.Board.Post(ctx, t, p, look); return err })
	return ref, err
}

// Copy implements run.Platform.
func (r reached) Copy(ctx context.Context, place string, p chat.Post, look bool) (at chat.ThreadID, ref chat.MessageRef, err error) {
	err = r.both(func() error { at, ref, err = r.Board.Copy(ctx, place, p, look); return err })
	return at, ref, err
}

// Edit implements run.Drawer.
func (r reached) Edit(ctx context.Context, t chat.ThreadID, ref chat.MessageRef, p chat.Post) error {
	return r.both(func() error { return r.Board.Edit(ctx, t, ref, p) })
}

// Deciders implements run.Platform.
func (r reached) Deciders(ctx context.Context, t chat.ThreadID, rules []string, most int) (who []chat.User, unknown []string, err error) {
	err = r.both(func() error { who, unknown, err = r.Board.Deciders(ctx, t, rules, most); return err })
	return who, unknown, err
}

// handy are tools of such a process: they count, and a preview says what is asked.
type handy struct {
	*life
	ran *int
}

// Call implements run.Toolbox.
func (h handy) Call(context.Context, chat.Desk, llm.Call) (llm.Result, error) {
	err := h.both(func() error { *h.ran++; return nil })
	return llm.Result{Text: "deployed"}, err
}

// Preview implements run.Previewer.
func (h handy) Preview(_ context.Context, _ chat.Desk, c llm.Call) (p chat.Preview, err error) {
	err = h.both(func() error { p.Text = "would do " + c.Args; return nil })
	return p, err
}

// once is a model that calls for what it is asked, and answers when that is done.
type once struct{}

// Complete implements llm.Model.
func (once) Complete(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	if last := r.Messages[len(r.Messages)-1]; last.Role == llm.ToolRole {
		text, _, _ := strings.Cut(last.Text, ":")
		return llm.Response{Text: "done, " + text, Finish: "stop"}, nil
	}
	return llm.Response{Calls: []llm.Call{{ID: "1", Name: "act", Args: `{"n":1}`}}, Finish: "tool_calls"}, nil
}

// A process that is killed at any boundary of an approval with a preview, which
// stands in a channel and in direct conversations, is changed, reminds and lets more
// people decide: each card and each reminder is posted once, each clock strikes once,
// the first decision is the decision in every place, and what is approved runs at
// most once. So it is when people call the tool themselves, and when the next
// process is a Runner over the store that stayed open.
func TestKilledAtEveryBoundaryOfReach(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"go", `run act {"n":1}`} {
		for _, open := range []bool{false, true} {
			t.Run(fmt.Sprintf("%.3s open %v", said, open), func(t *testing.T) {
				t.Parallel()
				killedWalk(t, said, open, func(string) script.OpenStore { return openFile })
			})
		}
	}
}

// So it is on Redis.
func TestKilledAtEveryBoundaryOfReachOnRedis(t *testing.T) {
	t.Parallel()
	stores := openRedis(t)
	t.Run("model", func(t *testing.T) {
		t.Parallel()
		killedWalk(t, "go", false, stores)
	})
	t.Run("by hand", func(t *testing.T) {
		t.Parallel()
		killedWalk(t, `run act {"n":1}`, true, stores)
	})
}

// killedWalk plays it, each time in another store.
func killedWalk(t *testing.T, said string, open bool, stores func(name string) script.OpenStore) {
	t.Helper()
	everyBoundary(t, 59, func(n int64) (boundaries int64) { return killedAt(t, said, open, n, stores(fmt.Sprint(t.Name(), n))) })
}

// killedAt plays it, and gives its boundaries.
func killedAt(t *testing.T, said string, open bool, n int64, store script.OpenStore) (boundaries int64) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		k := newKilled(t, store, dir, open, n)
		k.begin()
		k.goes(time.Minute, func() error { return k.say(said) })
		k.goes(time.Minute, func() error { return k.say(`edit {"n":2}`) })
		k.goes(30*time.Minute, nil) // by then it has reminded, and more may decide
		vote := func(who, place, emoji string) func() error {
			return func() error {
				card, ok := k.board.FindIn(place, "act")
				if !ok {
					return fmt.Errorf("no card in %s", place)
				}
				_, err := k.inbox.Reaction(t.Context(), chat.Reaction{On: card, By: chat.User{ID: chat.UserID(who), Name: who}, Emoji: emoji}, who)
				return err
			}
		}
		k.goes(0, vote("cid", "user:cid", "✅"))
		k.goes(10*time.Minute, vote("bob", "channel:ops", "❌"))
		boundaries = k.life.count.Load()
		k.end()
		k.check(n)
	})
	return boundaries
}

// killed is a process that is killed, and whatever goes on after it.
type killed struct {
	*world
	life *life
	dir  string
	from script.OpenStore
	open bool // the store stays open
	ran  int
	full memory.Full
	does run.Toolbox // nil: handy
}

func newKilled(t *testing.T, store script.OpenStore, dir string, open bool, n int64) *killed {
	act := tool("act", false)
	act.Risk, act.Timeout, act.Preview, act.PreviewRequired = policy.Ask, time.Minute, true, true
	act.Rules.Approvers, act.Rules.Timeout, act.Rules.Remind = []string{"requester", "user:bob"}, time.Hour, 10*time.Minute
	act.Rules.Channels, act.Rules.Direct = []string{"ops"}, true
	act.Rules.Escalate = memory.Escalation{After: 20 * time.Minute, Approvers: []string{"user:cid"}}
	k := &killed{world: newWorld(t, nil, nil, act), life: &life{at: n}, dir: dir, from: store, open: open}
	k.world.t = t
	return k
}

// begin starts a process.
func (k *killed) begin() {
	if k.full == nil {
		full, err := k.from(k.t.Context(), k.dir)
		if err != nil {
			k.t.Fatal(err)
		}
		k.full = full
	}
	k.inbox.Store = k.full
	k.inbox.Emoji["❌"] = true
	r := k.runner
	hands := k.life
	if k.open { // the process lives on, and with it what it does
		hands = &life{}
	}
	does := k.does
	if does == nil {
		does = handy{hands, &k.ran}
	}
	k.runner = &run.Runner{
		Store: mortal{k.full, k.life}, Model: once{}, Tools: does, Agent: r.Agent, Grace: r.Grace, Effects: r.Effects,
		Platforms: map[string]run.Platform{"board": reached{k.board, k.life}},
	}
	k.start()
}

// end ends the process.
func (k *killed) end() {
	k.stop()
	if k.open {
		return
	}
	if far, ok := k.full.(onServer); ok && k.life.dead.Load() {
		far.Cut() // it hands on nothing
	}
	if err := k.full.Close(); err != nil {
		k.t.Error(err)
	}
	k.full, k.runner.Effects = nil, nil
}

// goes does something, lets so much time pass, and has another process go on where
// this one was killed.
func (k *killed) goes(d time.Duration, do func() error) {
	if do != nil {
		if err := do(); err != nil {
			k.t.Errorf("boundary %d: %v", k.life.at, err)
		}
	}
	time.Sleep(d)
	synctest.Wait()
	if !k.life.dead.Load() {
		return
	}
	k.end()
	k.life.dead.Store(false)
	k.begin()
	time.Sleep(2 * time.Minute)
	synctest.Wait()
}

// check looks at what people saw.
func (k *killed) check(n int64) {
	if k.open && k.full != nil {
		if err := k.full.Close(); err != nil {
			k.t.Error(err)
		}
	}
	got := "\n" + strings.Join(k.board.Lines(), "\n") + "\n"
	for _, one := range []string{
		"\nask act {", "\nin channel:ops: ask act {", "\nin user:ada: ask act {", "\nin user:bob: ask act {", "\nin user:cid: ask act {",
		"so `user:cid` may decide too",
		"\napproved act by cid", "in channel:ops: approved act by cid", "in user:ada: approved act by cid", "in user:bob: approved act by cid",
		"in user:cid: approved act by cid",
	} {
		if c := strings.Count(got, one); c != 1 {
			k.t.Errorf("boundary %d: %d times %q", n, c, one)
		}
	}
	reminded := map[string]int{}
	for line := range strings.Lines(got) {
		if strings.Contains(line, "It still waits for a decision") {
			place, _, _ := strings.Cut(line, "notice for")
			reminded[place]++
		}
	}
	for place, times := range reminded {
		if times > 1 {
			k.t.Errorf("boundary %d: %d reminders %s", n, times, place)
		}
	}
	if c := k.board.StepsMessages(); c != 1 {
		k.t.Errorf("boundary %d: %d steps messages", n, c)
	}
	ends := strings.Count(got, "\nanswer done") + strings.Count(got, "\nnotice `act`, run by ada: ")
	ends += strings.Count(got, "\nnotice `act`, run by ada, failed.\n") // it was noted that it begins, and then it did not
	if k.ran > 1 || ends != 1 || reminded[""] != 1 || strings.Contains(got, " again\n") || strings.Contains(got, "denied") {
		k.t.Errorf("boundary %d: it ran %d times, with %d ends, and reminders %v", n, k.ran, ends, reminded)
	}
	if k.t.Failed() {
		k.t.Logf("people saw:%s", got)
	}
}
