package run_test

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nod/agent/policy"
	"nod/agent/run"
	"nod/chat"
	"nod/internal/redistest"
	"nod/llm"
	"nod/memory"
	"nod/memory/redis"
)

// wire leads to a server, and can stand still: what is sent then arrives later.
type wire struct {
	net.Listener
	to   string
	gate sync.RWMutex // held while it stands still
	ends sync.WaitGroup
}

func newWire(t *testing.T, to string) *wire {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l, to: to}
	w.ends.Go(func() {
		for {
			here, err := l.Accept()
			if err != nil {
				return
			}
			there, err := new(net.Dialer).DialContext(context.Background(), "tcp", to)
			if err != nil {
				_ = here.Close()
				continue
			}
			w.ends.Go(func() { w.carry(here, there) })
			w.ends.Go(func() { w.carry(there, here) })
		}
	})
	return w
}

func (w *wire) carry(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		w.gate.RLock()
		_, werr := to.Write(buf[:n])
		w.gate.RUnlock()
		if err != nil || werr != nil {
			return
		}
	}
}

// halting is a store whose wire stands still from when a grant is used.
type halting struct {
	memory.Full
	halt func()
	came chan error // what came of that
}

func (h *halting) Commit(ctx context.Context, r *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	if !slices.ContainsFunc(bodies, func(b memory.Body) bool { _, ok := b.(memory.Used); return ok }) {
		return h.Full.Commit(ctx, r, bodies...)
	}
	h.halt()
	arrived, err := h.Full.Commit(ctx, r, bodies...)
	select {
	case h.came <- err:
	default:
	}
	return arrived, err
}

// until waits for what a store comes to hold, which is later than what people see.
func until(t *testing.T, store memory.Full, thread chat.ThreadID, there func([]memory.Entry) bool) {
	t.Helper()
	for t.Context().Err() == nil {
		entries, err := store.Read(t.Context(), thread)
		if err != nil {
			t.Fatal(err)
		}
		if there(entries) {
			return
		}
	}
}

// stands says whether the approval of a call was posted; over, whether a turn ended.
func stands(log []memory.Entry) bool {
	return slices.ContainsFunc(log, func(e memory.Entry) bool {
		p, ok := e.Body.(memory.Posted)
		return ok && strings.HasPrefix(p.Key, memory.AskName(""))
	})
}

func over(log []memory.Entry) bool {
	return slices.ContainsFunc(log, func(e memory.Entry) bool { _, ok := e.Body.(memory.Ended); return ok })
}

// Two processes have the last use of a grant in their hands, since one of them was
// cut off while it took it: the call runs once, in the other one.
func TestLastUseOfTwoProcesses(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	line := newWire(t, srv.Addr())
	t.Cleanup(func() { // after the stores, which were opened later
		_ = line.Close()
		line.ends.Wait()
	})
	open := func(url string) memory.Full {
		store, err := redis.Open(t.Context(), url, redis.Options{Lease: 3 * time.Second, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return store
	}
	halted := make(chan struct{})
	first := &halting{Full: open("redis://" + line.Addr().String()), came: make(chan error, 1)}
	first.halt = sync.OnceFunc(func() { line.gate.Lock(); close(halted) })
	second := open(srv.URL())

	var ran atomic.Int64
	deploy := tool("deploy", false)
	deploy.Risk, deploy.Rules.Grants = policy.Ask, memory.Grants{Most: time.Hour, Uses: 3}
	process := func(store memory.Full) (w *world, asked, answered chan struct{}) {
		asked, answered = make(chan struct{}, 9), make(chan struct{}, 9)
		w = newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) {
			ran.Add(1)
			return llm.Result{Text: "deployed"}, nil
		}, deploy)
		w.runner.Platforms = map[string]run.Platform{"board": &still{posted: func(_ chat.ThreadID, p chat.Post) {
			switch {
			case p.Approval != nil:
				asked <- struct{}{}
			case p.Text != nil && !p.Text.Notice:
				answered <- struct{}{}
			}
		}}}
		return w, asked, answered
	}
	one, asked, answered := process(first)
	one.model.Add("call deploy {}")
	one.model.Add("say one")
	one.model.Add("call deploy {}")
	one.start()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(one.say("go"))
	<-asked
	until(t, second, one.thread, stands) // or nothing waits to be allowed
	must(one.say("allow 1x"))
	<-answered
	until(t, second, one.thread, over) // or it is part of the first turn
	must(one.say("again"))
	<-halted

	two, asked2, answered2 := process(second)
	two.model.Add("say two")
	two.start()
	<-answered2
	line.gate.Unlock()
	if err := <-first.came; err == nil {
		t.Error("the process that was cut off used it, too")
	}
	two.stop()
	one.stop()
	if n := ran.Load(); n != 2 || len(asked)+len(asked2) > 0 {
		t.Errorf("it ran %d times, and %d approvals were asked, want once by approval and once by the grant", n, 1+len(asked)+len(asked2))
	}
}
