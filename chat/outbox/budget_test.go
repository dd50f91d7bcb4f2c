package outbox

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestAnnounce(t *testing.T) {
	// Each case is what happens to a bucket, second by second, and when a
	// further call may then be made, in seconds after the start; -1: once a
	// call has returned.
	take := func(b *bucket, now time.Time) { b.spend(now) }
	done := func(b *bucket, now time.Time) { b.noteReturn(now, nil) }
	said := func(limit, remaining, reset int) func(*bucket, time.Time) {
		return func(b *bucket, now time.Time) {
			b.announce(now, Announced{limit, remaining, time.Duration(reset) * time.Second})
		}
	}
	refuse := func(after int) func(*bucket, time.Time) {
		return func(b *bucket, now time.Time) { b.close(now, time.Duration(after)*time.Second) }
	}
	type do = func(*bucket, time.Time)
	tests := []struct {
		name string
		do   []do
		want int
	}{
		{"nothing heard, nothing under way", nil, 0},
		{"nothing heard, one under way", []do{take}, -1},
		{"nothing said", []do{take, done}, 2},
		{"some left", []do{take, said(5, 4, 30), done}, 3},
		{"none left", []do{take, said(5, 0, 30), done}, 31},
		{"the last is under way", []do{take, said(5, 1, 30), done, take}, 31},
		{"those under way may not be counted yet", []do{take, done, take, take, said(5, 1, 30)}, 34},
		{"an older answer comes later", []do{take, done, take, take, said(5, 0, 30), done, said(5, 1, 10)}, 34},
		{"a later reset counts", []do{take, said(5, 0, 10), done, said(5, 0, 30)}, 33},
		{"a new window", []do{take, said(5, 0, 1), done}, 3},
		{"a new window, all under way", []do{take, done, take, take, said(2, 0, 1), take}, -1},
		{"a new window, some under way", []do{take, done, take, take, said(3, 0, 1)}, 5},
		{"no limit said", []do{take, said(0, 1, 1), done, take, take}, -1},
		{"refused", []do{take, said(5, 4, 1), refuse(30), done}, 32},
		{"refused, then an answer that says more is left", []do{take, done, take, take, said(5, 4, 10), refuse(30), said(5, 3, 8)}, 35},
	}
	start := time.Unix(1e9, 0)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBucket(Budget{Announced: true})
			now := start
			for _, do := range tt.do {
				do(b, now)
				now = now.Add(time.Second)
			}
			got := -1
			if at, ok := b.ready(now, 1); ok {
				got = int(at.Sub(start) / time.Second)
			}
			if got != tt.want {
				t.Errorf("ready at %d, want %d", got, tt.want)
			}
		})
	}
}

func TestARefusalEndsTheWindow(t *testing.T) {
	now := time.Unix(1e9, 0)
	b := newBucket(Budget{Announced: true})
	b.spend(now)
	b.announce(now, Announced{5, 4, time.Hour})
	b.close(now, time.Minute)
	b.noteReturn(now, errOdd)
	now = now.Add(time.Minute)
	if at, ok := b.ready(now, 1); !ok || at.After(now) {
		t.Fatalf("ready = %v, %v; the platform said when", at, ok)
	}
	b.spend(now)
	if _, ok := b.ready(now, 1); ok {
		t.Error("a second call goes before anything was heard again")
	}
	b.announce(now, Announced{5, 4, time.Hour})
	if at, ok := b.ready(now, 1); !ok || at.After(now) {
		t.Errorf("ready = %v, %v; it said that there is room", at, ok)
	}
}

// A window makes exactly as many calls as are allowed: never one more in any
// span, however long they take to arrive and to be answered, and no fewer in
// the long run.
func TestWindow(t *testing.T) {
	for _, n := range []int{1, 2, 5, 20, 50, 1000} {
		for _, burst := range []int{0, 1, 3, 50} {
			for _, takes := range []time.Duration{0, 300 * time.Millisecond, 2 * time.Second} {
				t.Run(fmt.Sprint(n, burst, takes), func(t *testing.T) {
					const minutes = 5
					b := newBucket(Window(n, time.Minute, burst))
					var arrived, returns []time.Time
					start := time.Unix(1e9, 0)
					for now := start; now.Sub(start) < minutes*time.Minute; now = now.Add(100 * time.Millisecond) {
						for len(returns) > 0 && !returns[0].After(now) {
							b.noteReturn(now, nil)
							returns = returns[1:]
						}
						for {
							at, ok := b.ready(now, 1)
							if !ok || at.After(now) {
								break
							}
							b.spend(now)
							late := takes * time.Duration(len(arrived)%2)
							arrived, returns = append(arrived, now.Add(late)), append(returns, now.Add(takes))
						}
					}
					slices.SortFunc(arrived, time.Time.Compare)
					for i := range arrived {
						if j := i + n; j < len(arrived) && arrived[j].Sub(arrived[i]) < time.Minute {
							t.Fatalf("%d calls within %v", n+1, arrived[j].Sub(arrived[i]))
						}
					}
					if least := n*minutes*9/10 - 1; takes < time.Second && n < 1000 && len(arrived) < least {
						t.Errorf("only %d calls in %d minutes", len(arrived), minutes)
					}
				})
			}
		}
	}
}
