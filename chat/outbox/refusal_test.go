package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// refusing refuses the first n calls and says what for.
func refusing(n int, refusal RetryAfter, then func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if n > 0 {
			n--
			return fmt.Errorf("call: %w", &refusal)
		}
		return then(ctx)
	}
}

func TestRefused(t *testing.T) {
	const wait = 30 * time.Second
	tests := []struct {
		name             string
		buckets          []string // of the refused call
		closes           string
		other            []string // buckets of another call
		waits, alsoWaits time.Duration
	}{
		{"its bucket", []string{"a"}, "a", []string{"b"}, wait, 0},
		{"a shared bucket", []string{"a", "m"}, "m", []string{"b", "m"}, wait, wait},
		{"everything", []string{"a"}, Everything, []string{"b"}, wait, wait},
		{"all that it names", []string{"a", "m"}, "", []string{"m"}, wait, wait},
		{"nothing named", nil, "", []string{"b"}, wait, wait},
		{"somebody else's bucket", []string{"a"}, "b", []string{"b"}, wait, wait},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var paused time.Duration
				o := New(Options{Hooks: Hooks{Paused: func(_ string, d time.Duration) { paused = d }}})
				p := newPlatform(nil)
				c := &calls{t: t, o: o}
				began := time.Now()
				var waits time.Duration
				c.do(Call{Priority: Low, Buckets: tt.buckets, Run: refusing(1, RetryAfter{Bucket: tt.closes, After: wait}, func(context.Context) error {
					waits = time.Since(began)
					return nil
				})})
				synctest.Wait()
				if err := o.Do(t.Context(), Call{Buckets: tt.other, Run: p.call("", 0)}); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(began); got != tt.alsoWaits {
					t.Errorf("the other call waited %v, want %v", got, tt.alsoWaits)
				}
				c.wg.Wait()
				if waits != tt.waits || paused != wait {
					t.Errorf("the refused call waited %v, want %v; the hook was told %v", waits, tt.waits, paused)
				}
			})
		})
	}
}

func TestRefusedKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{})
		p := newPlatform(nil)
		c := &calls{t: t, o: o}
		c.do(Call{Group: "g", Priority: Answer, Buckets: []string{"a"}, Run: refusing(2, RetryAfter{Bucket: "a", After: time.Second}, p.call("first", 0))})
		synctest.Wait()
		c.do(Call{Group: "g", Priority: Answer, Buckets: []string{"b"}, Run: p.call("second", 0)})
		synctest.Wait()
		c.do(Call{Group: "other", Priority: Approval, Buckets: []string{"a"}, Run: p.call("approval", 0)})
		c.wg.Wait()
		if diff := cmp.Diff([]string{"approval", "first", "second"}, p.order()); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestRefusedTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{Attempts: 3})
		began := time.Now()
		n := 0
		err := o.Do(t.Context(), Call{Buckets: []string{"a"}, Run: func(context.Context) error {
			n++
			return &RetryAfter{Bucket: "a", Err: errOdd} // "again in 0 s"
		}})
		var refused *RetryAfter
		if !errors.As(err, &refused) || !errors.Is(err, errOdd) || n != 3 {
			t.Errorf("Do = %v after %d calls", err, n)
		}
		if time.Since(began) != 2*minPause {
			t.Errorf("3 attempts within %v", time.Since(began))
		}
	})
}

func TestRefusedAndGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := o.Do(ctx, Call{Run: func(context.Context) error { return &RetryAfter{After: time.Hour} }})
		if !errors.Is(err, ErrNotMade) {
			t.Errorf("Do = %v", err)
		}
	})
}

func TestRefusedFloatGivesWayToNewer(t *testing.T) {
	for _, final := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var failed error
			o := New(Options{Hooks: Hooks{Failed: func(_ Priority, err error) { failed = err }}})
			running(t, o)
			p := newPlatform(nil)
			c := &calls{t: t, o: o}
			c.do(Call{Key: "k", Float: true, Run: func(ctx context.Context) error {
				pass(time.Second)
				return refusing(1, RetryAfter{After: time.Minute}, p.call("old", 0))(ctx)
			}})
			synctest.Wait()
			c.do(Call{Key: "k", Float: !final, Run: p.call("new", 0)})
			pass(time.Hour)
			synctest.Wait()
			if diff := cmp.Diff([]string{"new"}, p.order()); diff != "" || failed != nil {
				t.Errorf("failed with %v; calls (-want +got):\n%s", failed, diff)
			}
			c.wg.Wait()
		})
	}
}

func TestAfterARefusalItBeginsSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{Budget: func(b string) Budget {
			if b == "a" {
				return Budget{Rate: 1, Burst: 10}
			}
			return Budget{}
		}})
		o.Pause("a", time.Minute)
		p := newPlatform(map[string]limit{"a": {1, 900 * time.Millisecond}})
		c := &calls{t: t, o: o}
		for range 5 {
			c.do(Call{Buckets: []string{"a"}, Run: p.call("", 0, "a")})
		}
		c.wg.Wait()
		if p.refused != 0 {
			t.Errorf("%d calls came in a burst", p.refused)
		}
	})
}

// windows is a platform that counts in fixed windows which begin with a call,
// and that tells in each answer how much is left.
type windows struct {
	n    int
	span time.Duration
	mute bool

	mu      sync.Mutex
	used    int
	ends    time.Time
	refused int
	most    int // under way at once
	now     int
}

func (w *windows) call(o *Outbox, latency time.Duration) func(context.Context) error {
	return func(context.Context) error {
		w.mu.Lock()
		w.now++
		w.most = max(w.most, w.now)
		w.mu.Unlock()
		pass(latency) // there
		w.mu.Lock()
		now := time.Now()
		if !now.Before(w.ends) {
			w.used, w.ends = 0, now.Add(w.span)
		}
		w.used++
		said := Announced{Limit: w.n, Remaining: max(0, w.n-w.used), Reset: w.ends.Sub(now)}
		refused := w.used > w.n
		if refused {
			w.refused++
		}
		w.mu.Unlock()
		pass(latency) // and back
		w.mu.Lock()
		w.now--
		w.mu.Unlock()
		if !w.mute {
			o.Update("a", said)
		}
		if refused {
			return &RetryAfter{Bucket: "a", After: said.Reset}
		}
		return nil
	}
}

func TestAnnouncedBudgets(t *testing.T) {
	for _, latency := range []time.Duration{0, time.Millisecond, 200 * time.Millisecond, 3 * time.Second} {
		t.Run(latency.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &windows{n: 5, span: 5 * time.Second}
				o := New(Options{Budget: func(b string) Budget { return Budget{Announced: b == "a"} }})
				c := &calls{t: t, o: o}
				began := time.Now()
				for i := range 40 {
					c.do(Call{Buckets: []string{"a"}, Run: w.call(o, latency+time.Duration(i%7)*latency/10)})
					pass(10 * time.Millisecond)
				}
				c.wg.Wait()
				if w.refused != 0 {
					t.Errorf("%d calls refused", w.refused)
				}
				if took := time.Since(began); took > 80*time.Second+20*latency {
					t.Errorf("40 calls took %v", took)
				}
				t.Logf("%v, %d at once", time.Since(began), w.most)
			})
		})
	}
}

func TestNothingAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &windows{n: 1000, span: time.Second, mute: true}
		o := New(Options{Budget: func(b string) Budget { return Budget{Announced: b == "a"} }})
		c := &calls{t: t, o: o}
		for range 50 {
			c.do(Call{Buckets: []string{"a"}, Run: w.call(o, time.Second)})
		}
		pass(1900 * time.Millisecond)
		synctest.Wait()
		w.mu.Lock()
		if w.most != 1 {
			t.Errorf("%d calls before the first had returned, want 1", w.most)
		}
		w.mu.Unlock()
		c.wg.Wait()
		if w.most != 49 {
			t.Errorf("then %d at once, want all", w.most)
		}
	})
}

func TestIdleBucketsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{Budget: once})
		o.options.Budget = func(b string) Budget {
			if b == Everything {
				return Budget{}
			}
			return once(b)
		}
		o.Pause("closed", 24*time.Hour)
		for i := range 10 * minSweep {
			if err := o.Do(t.Context(), Call{Buckets: []string{fmt.Sprint(i)}, Run: func(context.Context) error { return nil }}); err != nil {
				t.Fatal(err)
			}
			pass(time.Second)
		}
		if n := len(o.buckets); n > minSweep || o.buckets["closed"] == nil {
			t.Errorf("%d buckets are kept; the closed one: %v", n, o.buckets["closed"] != nil)
		}
	})
}
