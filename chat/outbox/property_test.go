package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	"pgregory.net/rapid"
)

// plan is a call as the property test draws it.
type plan struct {
	call    Call
	at      time.Duration // when it is asked for
	latency time.Duration
	refuse  int           // how often it is refused at first
	closes  string        // what a refusal closes
	giveUp  time.Duration // 0: never
}

// event is an attempt at a call.
type event struct {
	plan     int
	from, to time.Time
	refused  bool
}

func drawPlans(t *rapid.T) []plan {
	names := []string{"a", "b", "c", "d"}
	ms := func(most int, label string) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(t, label)) * time.Millisecond
	}
	plans := make([]plan, rapid.IntRange(1, 40).Draw(t, "calls"))
	for i := range plans {
		p := plan{
			call: Call{
				Priority: Priority(rapid.IntRange(0, 3).Draw(t, "priority")),
				Buckets:  rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID).Draw(t, "buckets"),
				Group:    rapid.SampledFrom([]string{"", "g", "h"}).Draw(t, "group"),
				Key:      rapid.SampledFrom([]string{"", "", "k", "l"}).Draw(t, "key"),
				Float:    rapid.Bool().Draw(t, "float"),
			},
			at:      ms(5000, "at"),
			latency: ms(2000, "latency"),
			refuse:  rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "refuse"),
			closes:  rapid.SampledFrom([]string{"", Everything, "a", "b"}).Draw(t, "closes"),
		}
		if rapid.IntRange(0, 5).Draw(t, "gives up") == 0 {
			p.giveUp = time.Millisecond + ms(3000, "give up")
		}
		plans[i] = p
	}
	slices.SortFunc(plans, func(a, b plan) int { return int(a.at - b.at) })
	for i := range plans { // so that it is known which was asked for first
		plans[i].at += time.Duration(i) * time.Microsecond
	}
	return plans
}

// history is what came of the plans.
type history struct {
	mu     sync.Mutex
	events []event
	errs   []error
	odd    string // what is wrong with the outbox at the end
}

func (h *history) run(i int, p *plan) func(context.Context) error {
	return func(context.Context) error {
		from := time.Now()
		pass(p.latency)
		h.mu.Lock()
		defer h.mu.Unlock()
		refused := p.refuse > 0
		h.events = append(h.events, event{i, from, time.Now(), refused})
		if refused {
			p.refuse--
			return &RetryAfter{Bucket: p.closes, After: 700 * time.Millisecond}
		}
		return nil
	}
}

func play(t *testing.T, plans []plan, budget func(string) Budget) *history {
	h := &history{errs: make([]error, len(plans))}
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{Budget: budget, Floating: 2})
		running(t, o)
		var wg sync.WaitGroup
		for i := range plans {
			p := plans[i]
			wg.Go(func() {
				pass(p.at)
				ctx := t.Context()
				if p.giveUp > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, p.giveUp)
					defer cancel()
				}
				p.call.Run = h.run(i, &p)
				h.errs[i] = o.Do(ctx, p.call)
			})
		}
		wg.Wait()
		pass(time.Hour)
		synctest.Wait()
		refs := 0
		for _, b := range o.buckets {
			refs += b.refs + b.running
		}
		if n := len(o.queues) + len(o.waiting) + o.floating + refs; n != 0 {
			h.odd = fmt.Sprintf("left over: %d queues, %d calls, %d floating, %d references", len(o.queues), len(o.waiting), o.floating, refs)
		}
	})
	return h
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		budgets := map[string]Budget{}
		for _, name := range []string{"a", "b", "c", Everything} {
			budgets[name] = Budget{
				Rate:  rate.Limit(rapid.Float64Range(0.3, 20).Draw(rt, "rate of "+name)),
				Burst: rapid.IntRange(1, 5).Draw(rt, "burst of "+name),
			}
		}
		plans := drawPlans(rt)
		h := play(t, slices.Clone(plans), func(name string) Budget { return budgets[name] })
		if h.odd != "" {
			rt.Fatal(h.odd)
		}
		h.checkOnce(rt, plans)
		h.checkBudgets(rt, plans, budgets)
		h.checkOrder(rt, plans)
	})
}

// checkOnce: no call is lost or made twice, and a call reported as not made was not
// made.
func (h *history) checkOnce(t *rapid.T, plans []plan) {
	done := make([]int, len(plans))
	last := map[string]int{} // the newest call of each key
	for _, e := range h.events {
		if !e.refused {
			done[e.plan]++
		}
	}
	for i, p := range plans {
		if p.call.Key != "" {
			last[p.call.Key] = i
		}
	}
	for i, p := range plans {
		switch {
		case done[i] > 1:
			t.Fatalf("call %d was done %d times", i, done[i])
		case p.call.Float:
			if (p.call.Key == "" || last[p.call.Key] == i) && done[i] == 0 {
				t.Fatalf("floating call %d was lost", i)
			}
		case (h.errs[i] == nil) != (done[i] == 1):
			t.Fatalf("call %d was done %d times and returned %v", i, done[i], h.errs[i])
		case h.errs[i] != nil && !errors.Is(h.errs[i], ErrNotMade):
			t.Fatalf("call %d returned %v", i, h.errs[i])
		case h.errs[i] != nil && p.giveUp == 0:
			t.Fatalf("call %d was not made: %v", i, h.errs[i])
		}
	}
}

// checkBudgets: between any two calls of a bucket there were no more than its
// burst and what its rate gives meanwhile.
func (h *history) checkBudgets(t *rapid.T, plans []plan, budgets map[string]Budget) {
	for name, b := range budgets {
		var at []time.Time
		for _, e := range h.events {
			if name == Everything || slices.Contains(plans[e.plan].call.Buckets, name) {
				at = append(at, e.from)
			}
		}
		slices.SortFunc(at, time.Time.Compare)
		for i := range at {
			for j := i; j < len(at); j++ {
				allowed := float64(b.Burst) + float64(b.Rate)*at[j].Sub(at[i]).Seconds() + 1e-6
				if n := j - i + 1; float64(n) > allowed {
					t.Fatalf("%d calls of %s within %v; %v allows %.3f", n, name, at[j].Sub(at[i]), b, allowed)
				}
			}
		}
	}
}

// checkOrder: calls of one key, and non-floating calls of one group, were made in
// order.
func (h *history) checkOrder(t *rapid.T, plans []plan) {
	events := slices.Clone(h.events)
	slices.SortStableFunc(events, func(a, b event) int { return a.from.Compare(b.from) })
	last := map[string]event{}
	for _, e := range events {
		call := plans[e.plan].call
		queues := []string{}
		if call.Key != "" {
			queues = append(queues, "key "+call.Key)
		}
		if call.Group != "" && !call.Float {
			queues = append(queues, "group "+call.Group)
		}
		for _, q := range queues {
			before, ok := last[q]
			if ok && (before.plan > e.plan || e.from.Before(before.to)) {
				t.Fatalf("%s: call %d (at %v) was made beside or after call %d", q, e.plan, e.from, before.plan)
			}
			last[q] = e
		}
	}
}
