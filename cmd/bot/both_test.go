package main

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"nod/internal/fakediscord"
	"nod/internal/fakeslack"
	"nod/internal/redistest"
)

// both is a configuration with two platforms.
type both struct {
	world // the first, for what a service needs of a world
	other world
}

func (b both) config() string { return b.world.config() + "\n" + b.other.config() }

func (b both) env() map[string]string {
	out := maps.Clone(b.world.env())
	maps.Copy(out, b.other.env())
	return out
}

func (b both) faults() []string { return append(b.world.faults(), b.other.faults()...) }

// Two processes that share both platforms through Redis handle each event once,
// and when one of them is killed the other goes on with its threads.
func TestTwoProcessesTwoPlatforms(t *testing.T) {
	t.Parallel()
	slack := newSlackWorld(t, fakeslack.Options{NoLimits: true})
	discord := newDiscordWorld(t, fakediscord.Options{NoLimits: true})
	n := newService(t, both{slack, discord}, frail, setup{store: redistest.Start(t).URL()})
	other := *n
	other.http = freeAddr(t)
	other.file = n.rewrite("second.yaml", n.http, other.http)
	one, two := n.spawn(), other.spawn()
	defer func() { one.kill() }()
	defer func() { two.kill() }()
	n.ready()
	other.ready()

	worlds := []world{slack, discord}
	at := map[world][]place{}
	for i := range 10 {
		for _, w := range worlds {
			at[w] = append(at[w], w.mention("ada", []string{"deploy prod now", fmt.Sprintf("hello %d", i)}[i%2]))
		}
	}
	on := func(w world) *service { return &service{t: t, w: w, file: n.file} }
	asked := map[place]bool{}
	killed := false
	defer func() {
		for w, places := range at {
			for _, p := range places {
				if t.Failed() {
					t.Logf("%v: %q", p, w.posts(p))
				}
			}
		}
	}()
	within(t, 3*patience, "all are answered", func() bool {
		open := 0
		for _, w := range worlds {
			for i, p := range at[w] {
				if i%2 == 0 && !asked[p] {
					asked[p] = on(w).approve(p)
				}
				if on(w).count(p, "The tool says")+on(w).count(p, "You said") == 0 || !on(w).folded(p) {
					open++
				}
			}
		}
		if open < 10 && !killed {
			killed = true
			one.kill()
		}
		return open == 0
	})
	for _, w := range worlds {
		for i, p := range at[w] {
			again := fmt.Sprintf("and again %d", i)
			on(w).find(w.mentionIn("ada", p, again), "You said", again) // a second post would have come by now
			for _, words := range []string{"The tool says", fmt.Sprintf("You said: hello %d", i), "sha256", "1 step ·"} {
				if c := on(w).count(p, words); c > 1 {
					t.Errorf("%d messages with %q: %q", c, words, w.posts(p))
				}
			}
		}
	}
	if ran := n.ran(); len(ran) > 10 {
		t.Errorf("%d deployments of 10: %q", len(ran), slices.Compact(ran))
	}
}
