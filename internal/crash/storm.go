package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"nod/chat"
	"nod/memory"
)

// Storm is a load under which processes are killed at random.
type Storm struct {
	Store     string
	Open      Opener
	Processes int
	Threads   int
	Messages  int // a thread
	Incidents int // each of which has as many alerts
	For       time.Duration
	// Stop has processes stand still, for longer than any lease, instead of dying.
	Stop bool
	// Slow is how long the model and side effects take.
	Slow time.Duration
}

// Run sends all messages while it kills, then lets one process finish, and
// checks that nothing was lost or done twice.
func (s Storm) Run(t *testing.T) {
	p := NewPlatform(t)
	p.Approve, p.Slow = true, s.Slow
	var threads []chat.ThreadID
	until := "ended"
	for i := range s.Threads {
		thread := chat.ThreadID{Platform: "board", Channel: fmt.Sprintf("c%d", i%7), Root: fmt.Sprint(i)}
		threads = append(threads, thread)
		until += " " + thread.String()
	}
	for i := range s.Incidents {
		until += " " + incident(fmt.Sprint(i)).String()
	}
	ctx, cancel := context.WithTimeout(t.Context(), s.For)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { s.talk(ctx, p, threads) })
	kills := make([]int, s.Processes)
	for i := range s.Processes {
		hurt := s.killer
		if s.Stop {
			hurt = s.stopper
		}
		all.Go(func() { kills[i] = hurt(ctx, t, p) })
	}
	all.Wait()
	for !t.Failed() && !p.Quiet() {
		live(t, p, s.Store, until, 0)
	}
	live(t, p, s.Store, until, 0)
	store, err := s.Open(t.Context(), s.Store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	Check(t, p, store.(memory.Reader), threads, s.Messages)
	s.alerted(t, p, store.(memory.Reader))
	noted(t, store, threads)
	if s.Stop {
		known(t, store.(memory.Reader), threads)
	}
	total := 0
	for _, n := range kills {
		total += n
	}
	t.Logf("%d threads of %d messages, processes hurt %d times, %d side effects", s.Threads, s.Messages, total, p.Effects())
}

// talk spreads the messages over the storm.
func (s Storm) talk(ctx context.Context, p *Platform, threads []chat.ThreadID) {
	tick := time.NewTicker(s.For * 8 / 10 / time.Duration(s.Messages))
	defer tick.Stop()
	for m := range s.Messages {
		for i, thread := range threads {
			text := "act"
			if (i+m)%3 == 0 {
				text = "deploy"
			}
			if i%5 == 0 && m == 0 {
				p.Say(thread, fmt.Sprintf("m%d-%d", i, m), fmt.Sprintf("remember: fact %d", i))
				continue
			}
			say := p.Say
			if i%2 == 1 { // what these threads ask they have asked later
				say = p.Later
			}
			say(thread, fmt.Sprintf("m%d-%d", i, m), fmt.Sprintf("%s %d", text, m))
		}
		for i := range s.Incidents {
			p.Send(Event{ID: fmt.Sprintf("a%d-%d", i, m), Thread: incident(fmt.Sprint(i)), Alert: true})
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// alerted checks that each incident has one thread with one turn, and counted its alerts.
func (s Storm) alerted(t *testing.T, p *Platform, store memory.Reader) {
	for i := range s.Incidents {
		thread := incident(fmt.Sprint(i))
		log, err := store.Read(t.Context(), thread)
		if err != nil {
			t.Fatal(err)
		}
		as, times := map[memory.AlertAs]int{}, 0
		for _, e := range log {
			if m, ok := e.Body.(memory.Message); ok && m.Alert != nil {
				as[m.Alert.As]++
				times = max(times, m.Alert.Times)
			}
		}
		if as[memory.AlertBegins] != 1 || as[memory.AlertAgain] != s.Messages-1 || times != s.Messages-1 {
			t.Errorf("%s: %v, and came again %d times", thread, as, times)
		}
		if heads, answers := p.Count(thread, "alert/pages/"), p.Count(thread, "answer/"); heads != 1 || answers != 1 {
			t.Errorf("%s: %d posts that begin it, %d answers", thread, heads, answers)
		}
	}
}

// noted checks that each fact stands once, under a number of its own.
func noted(t *testing.T, store memory.Full, threads []chat.ThreadID) {
	facts, numbers := map[string]int{}, map[string]bool{}
	places, err := memory.Books(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range places {
		b, err := memory.ReadBook(t.Context(), store, place)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range b.Facts {
			facts[f.Text]++
			numbers[fmt.Sprint(place, f.Number)] = true
		}
	}
	for i := 0; i < len(threads); i += 5 {
		if text := fmt.Sprint("fact ", i); facts[text] != 1 {
			t.Errorf("%q stands %d times", text, facts[text])
		}
	}
	if len(numbers) != len(facts) {
		t.Errorf("%d facts have %d numbers", len(facts), len(numbers))
	}
}

// killer keeps one process alive, and kills it again and again.
func (s Storm) killer(ctx context.Context, t *testing.T, p *Platform) (kills int) {
	for ctx.Err() == nil {
		life := 200*time.Millisecond + rand.N(700*time.Millisecond)
		short, cancel := context.WithTimeout(ctx, life) // its end is a SIGKILL
		cmd, out, err := start(short, p, s.Store, "", 0)
		if err != nil {
			t.Error(err)
			cancel()
			return kills
		}
		if err := cmd.Wait(); short.Err() == nil {
			t.Errorf("child: %v\n%s", err, out)
		}
		kills++
		cancel()
	}
	return kills
}

// stopper keeps one process alive, and has it stand still again and again, for
// longer than a lease. It lives on when the storm is over: nobody dies in this one.
func (s Storm) stopper(ctx context.Context, t *testing.T, p *Platform) (stops int) {
	cmd, _, err := start(context.WithoutCancel(ctx), p, s.Store, "", 0)
	if err != nil {
		t.Error(err)
		return 0
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	for pause(ctx, 300*time.Millisecond+rand.N(time.Second)) {
		_ = cmd.Process.Signal(syscall.SIGSTOP)
		p.Blink()
		pause(ctx, 1200*time.Millisecond+rand.N(1500*time.Millisecond))
		_ = cmd.Process.Signal(syscall.SIGCONT)
		stops++
	}
	return stops
}

// pause waits, and says whether the storm goes on.
func pause(ctx context.Context, how time.Duration) bool {
	select {
	case <-time.After(how):
		return true
	case <-ctx.Done():
		return false
	}
}

// known checks that no outcome was called unknown: nobody died.
func known(t *testing.T, store memory.Reader, threads []chat.ThreadID) {
	for _, thread := range threads {
		log, err := store.Read(t.Context(), thread)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range log {
			if r, ok := e.Body.(memory.Result); ok && r.State == chat.CallUnknown {
				t.Errorf("%s: the outcome of %s was called unknown", thread, r.Call)
			}
		}
	}
}
