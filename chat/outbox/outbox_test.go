package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
)

// once is a budget of one call a second.
func once(string) Budget { return Budget{Rate: 1, Burst: 1} }

func TestBusyWorkspace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := map[string]limit{"post": {300, time.Minute}, "update": {50, time.Minute}}
		for i := range 50 {
			limits[fmt.Sprint("post ", i)] = limit{2, 2 * time.Second}
		}
		p := newPlatform(limits)
		o := New(Options{Budget: func(b string) Budget {
			l, ok := limits[b]
			if !ok {
				return Budget{}
			}
			return Window(l.n, l.span, 5)
		}})
		running(t, o)
		c := &calls{t: t, o: o}
		for i := range 50 {
			channel, key, ms := fmt.Sprint("post ", i), fmt.Sprint(i), 80*time.Millisecond
			c.wg.Go(func() {
				do := func(call Call) {
					if err := o.Do(t.Context(), call); err != nil {
						t.Errorf("Do = %v", err)
					}
				}
				do(Call{Priority: Steps, Buckets: []string{"post", channel}, Group: key, Key: key, Run: p.call("first steps", ms, "post", channel)})
				for range 20 {
					pass(500 * time.Millisecond)
					do(Call{Priority: Steps, Buckets: []string{"update"}, Key: key, Float: true, Run: p.call("steps", ms, "update")})
				}
				do(Call{Priority: Answer, Buckets: []string{"post", channel}, Group: key, Run: p.call("answer", ms, "post", channel)})
				do(Call{Priority: Steps, Buckets: []string{"update"}, Key: key, Run: p.call("last steps", ms, "update")})
			})
		}
		began := time.Now()
		c.wg.Wait()
		count := map[string]int{}
		for _, what := range p.order() {
			count[what]++
		}
		if p.refused != 0 || count["answer"] != 50 || count["last steps"] != 50 || count["first steps"] != 50 {
			t.Errorf("%d calls refused; made %v; want none, and 50 of each", p.refused, count)
		}
		if count["steps"] == 0 || count["steps"] > 200 {
			t.Errorf("%d edits of steps were made of 1000, want some and few", count["steps"])
		}
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

func TestOrder(t *testing.T) {
	// Each call is made a millisecond after the one before, while the first
	// still uses the budget up.
	tests := []struct {
		name  string
		calls []Call
		want  []string
	}{
		{"important first", []Call{{Priority: Low}, {Priority: Steps}, {Priority: Answer}, {Priority: Approval}, {Priority: Answer}, {Priority: Approval}}, []string{"0", "3", "5", "2", "4", "1"}},
		{"a group keeps its order and lends priority", []Call{{}, {Priority: Answer}, {Priority: Steps, Group: "a"}, {Priority: Answer, Group: "a"}, {Priority: Approval, Group: "a"}}, []string{"0", "2", "3", "4", "1"}},
		{"lent through another queue", []Call{{}, {Priority: Answer}, {Priority: Low, Group: "a"}, {Priority: Low, Group: "a", Key: "k"}, {Priority: Approval, Key: "k"}}, []string{"0", "2", "3", "4", "1"}},
		{"groups apart", []Call{{}, {Priority: Steps, Group: "a"}, {Priority: Answer, Group: "b"}}, []string{"0", "2", "1"}},
		{"floating last", []Call{{}, {Priority: Steps, Float: true, Key: "k"}, {Priority: Low}}, []string{"0", "2", "1"}},
		{"newest of a key", []Call{{}, {Priority: Steps, Float: true, Key: "k"}, {Priority: Steps, Float: true, Key: "other"}, {Priority: Steps, Float: true, Key: "k"}}, []string{"0", "3", "2"}},
		{"a final one drops the floating", []Call{{}, {Priority: Steps, Float: true, Key: "k"}, {Priority: Steps, Key: "k"}}, []string{"0", "2"}},
		{"floating after a final one", []Call{{}, {Priority: Low, Key: "k"}, {Priority: Steps, Float: true, Key: "k"}, {Priority: Steps, Float: true, Key: "k"}}, []string{"0", "1", "3"}},
		{"no key, nothing replaced", []Call{{}, {Priority: Steps, Float: true}, {Priority: Steps, Float: true}}, []string{"0", "1", "2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := New(Options{Budget: func(name string) Budget {
					if name == Everything {
						return once(name)
					}
					return Budget{}
				}})
				running(t, o)
				p := newPlatform(nil)
				c := &calls{t: t, o: o}
				for i, call := range tt.calls {
					call.Run = p.call(fmt.Sprint(i), 0)
					c.do(call)
					pass(time.Millisecond)
				}
				pass(time.Minute)
				if diff := cmp.Diff(tt.want, p.order()); diff != "" {
					t.Errorf("order of calls (-want +got):\n%s", diff)
				}
				c.wg.Wait()
			})
		})
	}
}

func TestBucketsDoNotBlockEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{Budget: func(b string) Budget {
			if b == "slow" {
				return Budget{Rate: 0.1, Burst: 1}
			}
			return Budget{Rate: 100, Burst: 100}
		}})
		p := newPlatform(nil)
		c := &calls{t: t, o: o}
		for range 3 {
			c.do(Call{Buckets: []string{"post", "slow"}, Run: p.call("slow", 0)})
		}
		synctest.Wait()
		began := time.Now()
		if err := o.Do(t.Context(), Call{Priority: Low, Buckets: []string{"post", "quick"}, Run: p.call("quick", 0)}); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the call to another channel waited %v", waited)
		}
		c.wg.Wait()
		if took := time.Since(began); took < 19*time.Second || took > 21*time.Second {
			t.Errorf("three calls took %v, want 20s", took)
		}
	})
}

func TestFloatingLeaveTheLastOfABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{Budget: func(b string) Budget {
			if b == "update" {
				return Budget{Rate: 0.1, Burst: 3}
			}
			return Budget{}
		}})
		running(t, o)
		p := newPlatform(nil)
		for i := range 5 {
			call := Call{Priority: Steps, Buckets: []string{"update"}, Key: fmt.Sprint(i), Float: true, Run: p.call("steps", 0)}
			if err := o.Do(t.Context(), call); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		began := time.Now()
		if err := o.Do(t.Context(), Call{Buckets: []string{"update"}, Run: p.call("approved", 0)}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"steps", "steps", "approved"}, p.order()); diff != "" || time.Since(began) != 0 {
			t.Errorf("after %v (-want +got):\n%s", time.Since(began), diff)
		}
		pass(time.Hour)
		if got := len(p.order()); got != 6 {
			t.Errorf("%d calls made in the end, want 6", got)
		}
	})
}

func TestNothingStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{Budget: func(string) Budget { return Budget{Rate: 1, Burst: 2} }})
		running(t, o)
		p := newPlatform(nil)
		c := &calls{t: t, o: o}
		began := time.Now()
		var mu sync.Mutex
		made := map[string]time.Duration{}
		note := func(what string) func(context.Context) error {
			return func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				made[what] = time.Since(began)
				return nil
			}
		}
		for range 3 {
			c.do(Call{Priority: Approval, Run: p.call("approval", 0)})
		}
		for range 30 * 60 { // the budget is used up by approvals alone
			c.do(Call{Priority: Approval, Run: p.call("approval", 0)})
			if time.Since(began) == 0 {
				pass(time.Millisecond)
				c.do(Call{Priority: Low, Run: note("low")})
				c.do(Call{Priority: Steps, Float: true, Key: "k", Run: note("steps")})
			}
			pass(time.Second)
		}
		c.wg.Wait()
		mu.Lock()
		defer mu.Unlock()
		want := map[string]time.Duration{"low": 10 * time.Minute, "steps": 15 * time.Minute}
		for what, at := range want {
			if got := made[what]; got < at || got > at+5*time.Second {
				t.Errorf("%s was made after %v, want %v", what, got, at)
			}
		}
	})
}

func TestWokenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{})
		c := &calls{t: t, o: o}
		began := time.Now()
		for i := 10; i > 0; i-- {
			bucket, want := fmt.Sprint(i), time.Duration(i)*time.Second
			o.Pause(bucket, want)
			o.Pause(bucket, time.Second) // a shorter pause doesn't end a longer one
			c.do(Call{Buckets: []string{bucket}, Run: func(context.Context) error {
				if got := time.Since(began); got != want {
					t.Errorf("bucket %s was used after %v", bucket, got)
				}
				return nil
			}})
		}
		c.wg.Wait()
	})
}

func TestBucketNamedTwiceCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{Budget: func(string) Budget { return Budget{Rate: 1, Burst: 2} }})
		began := time.Now()
		for range 2 {
			if err := o.Do(t.Context(), Call{Buckets: []string{"a", Everything, "a"}, Run: nothing}); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("two calls took %v", waited)
		}
	})
}

func TestFewFloatAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{Floating: 3})
		running(t, o)
		var now, most atomic.Int32
		for i := range 20 {
			err := o.Do(t.Context(), Call{Float: true, Key: fmt.Sprint(i), Run: func(context.Context) error {
				most.Store(max(most.Load(), now.Add(1)))
				pass(time.Second)
				now.Add(-1)
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Minute)
		if n := most.Load(); n != 3 {
			t.Errorf("%d at a time, want 3", n)
		}
	})
}

func TestStaleEditNeverLandsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{})
		running(t, o)
		var shown int
		edit := func(version int) func(context.Context) error {
			return func(context.Context) error {
				pass(time.Duration(10-version) * time.Second) // older ones are slower
				shown = version
				return nil
			}
		}
		for v := range 5 {
			if err := o.Do(t.Context(), Call{Priority: Steps, Key: "k", Float: true, Run: edit(v)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.Do(t.Context(), Call{Priority: Steps, Key: "k", Run: edit(9)}); err != nil {
			t.Fatal(err)
		}
		if shown != 9 {
			t.Errorf("version %d is shown, want 9", shown)
		}
	})
}

func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{Budget: once})
		p := newPlatform(nil)
		c := &calls{t: t, o: o}
		c.do(Call{Run: p.call("first", 0)})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		c.wg.Go(func() {
			pass(time.Millisecond)
			if err := o.Do(t.Context(), Call{Group: "g", Run: p.call("behind", 0)}); err != nil {
				t.Errorf("Do = %v", err)
			}
		})
		for i := range 2 { // the second time ctx has ended before, and nothing is in the way
			pass(time.Duration(i) * time.Minute)
			err := o.Do(ctx, Call{Group: "g", Run: p.call("given up", 0)})
			if !errors.Is(err, ErrNotMade) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Do = %v", err)
			}
		}
		c.wg.Wait()
		if diff := cmp.Diff([]string{"first", "behind"}, p.order()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if n := len(o.queues) + len(o.waiting); n != 0 {
			t.Errorf("%d queues are left", n)
		}
	})
}

func TestErrorsAreTheCallers(t *testing.T) {
	n := 0
	err := New(Options{}).Do(t.Context(), Call{Run: func(context.Context) error { n++; return errOdd }})
	if !errors.Is(err, errOdd) || n != 1 {
		t.Errorf("Do = %v after %d calls, want the call's error after one", err, n)
	}
}

func TestPanicHoldsUpNobody(t *testing.T) {
	o := New(Options{})
	func() {
		defer func() { _ = recover() }()
		_ = o.Do(t.Context(), Call{Group: "g", Run: func(context.Context) error { panic("odd") }})
	}()
	if err := o.Do(t.Context(), Call{Group: "g", Run: func(context.Context) error { return nil }}); err != nil {
		t.Fatal(err)
	}
}

func TestRunTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{})
		running(t, o)
		synctest.Wait()
		if err := o.Run(t.Context()); err == nil {
			t.Error("a second Run was let in")
		}
	})
}

func TestStopWaitsForWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := false
		edit := func(ctx context.Context) error {
			<-ctx.Done()
			pass(time.Second)
			ended = true
			return nil
		}
		if err := o.Do(t.Context(), Call{Float: true, Key: "k", Run: edit}); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, cancel)
		if err := o.Run(ctx); err != nil || !ended {
			t.Errorf("Run = %v, the call under way had returned: %v", err, ended)
		}
		if err := o.Do(t.Context(), Call{Run: func(context.Context) error { return nil }}); err != nil {
			t.Errorf("Do after Run has ended = %v", err)
		}
	})
}

func TestDepthAndHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waited := map[Priority]time.Duration{}
		var failed error
		o := New(Options{Budget: once, Hooks: Hooks{
			Waited: func(p Priority, d time.Duration) { waited[p] = d },
			Failed: func(_ Priority, err error) { failed = err },
		}})
		running(t, o)
		p := newPlatform(nil)
		c := &calls{t: t, o: o}
		c.do(Call{Priority: Low, Run: p.call("", 0)})
		synctest.Wait()
		c.do(Call{Priority: Approval, Run: p.call("", 0)})
		c.do(Call{Priority: Answer, Run: p.call("", 0)})
		for range 3 {
			c.do(Call{Priority: Steps, Float: true, Key: "k", Run: func(context.Context) error { return errOdd }})
		}
		synctest.Wait()
		if diff := cmp.Diff(map[string]int{"approval": 1, "answer": 1, "steps": 1, "low": 0}, o.DepthByName()); diff != "" {
			t.Errorf("Depth (-want +got):\n%s", diff)
		}
		c.wg.Wait()
		pass(time.Minute)
		synctest.Wait()
		if diff := cmp.Diff(map[string]int{"approval": 0, "answer": 0, "steps": 0, "low": 0}, o.DepthByName()); diff != "" {
			t.Errorf("Depth at the end (-want +got):\n%s", diff)
		}
		want := map[Priority]time.Duration{Low: 0, Approval: time.Second, Answer: 2 * time.Second, Steps: 3 * time.Second}
		for p, d := range want {
			if got := waited[p]; got < d || got > d+time.Millisecond {
				t.Errorf("priority %d waited %v, want %v", p, got, d)
			}
		}
		if !errors.Is(failed, errOdd) {
			t.Errorf("Failed was told %v", failed)
		}
	})
}

// A call is not made if its thread may have gone to another process during the wait,
// and it holds up no later call.
func TestDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{})
		doubtful := false
		ctx := chat.WithDoubt(t.Context(), func() bool { return doubtful })
		made := 0
		call := Call{Run: func(context.Context) error { made++; return nil }}
		if err := o.Do(ctx, call); err != nil || made != 1 {
			t.Fatalf("without doubt: %v, made %d times", err, made)
		}
		doubtful = true
		if err := o.Do(ctx, call); !errors.Is(err, ErrNotMade) || !errors.Is(err, chat.ErrDoubt) || made != 1 {
			t.Errorf("in doubt: %v, made %d times", err, made)
		}
		if err := o.Do(t.Context(), call); err != nil || made != 2 {
			t.Errorf("somebody else's: %v, made %d times", err, made)
		}
	})
}
