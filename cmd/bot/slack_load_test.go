package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/internal/fakeslack"
)

// Fifty people ask at once, under Slack's published limits at their real pace and
// with its latencies: all are answered, and no call is refused as one too many.
func TestSlackBurst(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as Slack's limits make it")
	}
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		w := newSlackWorld(t, fakeslack.Options{Slow: true})
		var names []string
		for i := range 50 {
			id := fmt.Sprintf("U1%04d", i)
			w.s.AddUser(fakeslack.User{ID: id, Name: id})
			w.users[id] = id
			names = append(names, id)
		}
		n := newService(t, w, frail, setup{store: store})
		n.start()
		at := map[string]place{}
		for i, name := range names {
			at[name] = w.dm(name, []string{"hello", "look it up"}[i%2])
		}
		within(t, 8*patience, "all are answered", func() bool {
			return !slices.ContainsFunc(names, func(name string) bool {
				return n.count(at[name], "You said: hello")+n.count(at[name], "The tool says") == 0
			})
		})
		if c := w.s.RateLimited(); c != 0 {
			t.Errorf("%d calls were refused as too many", c)
		}
		within(t, 4*patience, "no thread looks as if it were at work", func() bool { return len(w.s.Processing()) == 0 })
	})
}

// Fifty threads at once, in one channel or each in its own, under Slack's
// published limits and with its latencies: all are answered or asked, no call is
// one too many, and what asks for an approval overtakes the answers that wait,
// although it was asked for last.
func TestSlackCrowd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as Slack's limits make it")
	}
	t.Parallel()
	for name, rooms := range map[string]int{"one channel": 1, "fifty channels": 50} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSlackWorld(t, fakeslack.Options{Slow: true})
			for i := range rooms {
				w.room(fmt.Sprintf("C3%04d", i))
			}
			n := newService(t, w, frail, setup{})
			n.start()
			began := time.Now()
			var at []place
			for i := range 50 {
				at = append(at, w.in(fmt.Sprintf("C3%04d", i%rooms), []string{"hello", "deploy prod now"}[i/45]))
			}
			within(t, 8*patience, "all are answered or asked", func() bool {
				return !slices.ContainsFunc(at, func(p place) bool { return n.count(p, "You said")+n.count(p, "May approve") == 0 })
			})
			if c := w.s.RateLimited(); c != 0 {
				t.Errorf("%d calls were refused as too many", c)
			}
			var asked, answered []string // timestamps
			for _, p := range at {
				for _, m := range n.w.posts(p) {
					switch {
					case strings.Contains(m.text, "May approve"):
						asked = append(asked, m.message)
					case strings.Contains(m.text, "You said"):
						answered = append(answered, m.message)
					}
				}
			}
			slices.Sort(asked)
			slices.Sort(answered)
			last := asked[len(asked)-1]
			later := len(answered) - index(answered, last)
			t.Logf("all after %v; the last of %d cards before %d of %d answers", time.Since(began).Round(time.Second), len(asked), later, len(answered))
			if rooms == 1 && later < len(answered)/2 {
				t.Errorf("only %d of %d answers had to wait for the last card", later, len(answered))
			}
		})
	}
}

// index is where a text would be in a sorted list.
func index(sorted []string, text string) int {
	i, _ := slices.BinarySearch(sorted, text)
	return i
}
