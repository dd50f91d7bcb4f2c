package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nod/internal/crash"
	"nod/internal/fakeslack"
	"nod/internal/volatile"
)

// The power of the store's disk is cut again and again while people ask, approve and
// deny, and a flush fails before each cut. Each message has one answer in the end; an
// approved call ran at most once, and no other call ran.
func TestPowerCuts(t *testing.T) {
	t.Parallel()
	cuts := 4
	if crash.Long() {
		cuts = 200
	}
	seed := rand.Uint64()
	if s := os.Getenv("NOD_SEED"); s != "" { // of a run that failed
		_, _ = fmt.Sscan(s, &seed)
	}
	t.Logf("NOD_SEED=%d", seed)
	c := &cutter{rng: rand.New(rand.NewPCG(seed, 0)), verdicts: map[string]string{}, voted: map[place]bool{}}
	c.disk = volatile.Mount(t, rand.New(rand.NewPCG(seed, 1)))
	c.w = newSlackWorld(t, fakeslack.Options{NoLimits: true})
	for i := range 12 { // the program posts once a second in a channel
		c.channels = append(c.channels, fmt.Sprintf("C0CUT%d", i))
		c.w.s.AddChannel(fakeslack.Channel{ID: c.channels[i], Name: fmt.Sprint("cut-", i), Members: []string{"U0ADA", fakeslack.BotUser}})
	}
	c.n = newService(t, c.w, frail, setup{
		store: "sqlite:" + filepath.Join(c.disk.Dir, "nod.db"),
		extra: fmt.Sprintf("audit: {key: %q}", filepath.Join(c.disk.Dir, "nod.key")),
	})
	t.Cleanup(func() {
		for _, q := range c.open {
			t.Logf("%s has no answer: %q", q.name, c.w.posts(q.at))
		}
	})
	for range cuts {
		c.cut()
	}
	p := c.n.spawn()
	defer p.kill()
	c.n.ready()
	within(t, 3*patience, "each message has an answer", c.settled)
	p.kill()
	c.check()
	t.Logf("%d cuts, %d failed flushes, %d messages, %d calls ran", cuts, c.disk.Failed(), len(c.asked), len(c.n.ran()))
}

// cutter cuts the power of a service's disk.
type cutter struct {
	n        *service
	w        *slackWorld
	channels []string
	disk     *volatile.Disk
	rng      *rand.Rand
	asked    []question
	open     []question        // those without an answer
	verdicts map[string]string // by the argument of the call: the emoji that its card gets
	voted    map[place]bool    // cards
}

// question is a message that asks for a call; its argument names it.
type question struct {
	name string
	at   place
}

// cut plays some messages and cuts the power in the middle of them, after some calls
// of the platform's API. A flush fails on the way there.
func (c *cutter) cut() {
	p := c.n.spawn()
	defer p.kill()
	c.n.ready()
	for len(c.open) < 6 { // a person may have some approvals waiting, not all of them
		c.ask()
	}
	c.wait(c.rng.IntN(30))
	failed := c.disk.Failed()
	c.disk.FailFlush(c.rng.IntN(2) == 0)
	c.ask()
	within(c.n.t, 3*patience, "a flush fails", func() bool { return c.disk.Failed() > failed })
	c.wait(c.rng.IntN(30))
	p.kill()
	c.disk.Cut(volatile.AnyLoss(c.rng))
}

// wait waits until the program made some calls, or has nothing to do.
func (c *cutter) wait(calls int) {
	calls += c.w.calls()
	within(c.n.t, 3*patience, "the program gets on", func() bool { return c.settled() || c.w.calls() >= calls })
}

// ask asks for a call, and chooses the vote on it.
func (c *cutter) ask() {
	q := question{name: fmt.Sprintf("k%d", len(c.asked))}
	c.verdicts[q.name] = "✅"
	if c.rng.IntN(4) == 0 {
		c.verdicts[q.name] = "❌"
	}
	channel := c.channels[c.rng.IntN(len(c.channels))]
	ts := c.w.s.Say("U0ADA", channel, fakeslack.Mention+" deploy "+q.name+" now")
	q.at = place{channel, ts, ts}
	c.asked, c.open = append(c.asked, q), append(c.open, q)
}

// settled votes on cards, and says whether each message has an answer.
func (c *cutter) settled() bool {
	c.open = slices.DeleteFunc(c.open, func(q question) bool { return c.n.count(q.at, "The tool says") > 0 })
	for _, q := range c.open {
		for _, p := range c.w.posts(q.at) {
			if !c.voted[p.place] && holds(p.text, []string{"pprove", q.args()}) {
				c.voted[p.place] = true
				c.w.react("ada", p.place, c.verdicts[q.name])
			}
		}
	}
	return len(c.open) == 0
}

func (q question) args() string { return fmt.Sprintf(`{"env":%q}`, q.name) }

// check finds messages without their one answer, and calls that should not have run.
func (c *cutter) check() {
	for _, q := range c.asked {
		if n := c.n.count(q.at, "The tool says"); n != 1 {
			c.n.t.Errorf("%s has %d answers: %q", q.name, n, c.w.posts(q.at))
		}
	}
	ran := map[string]bool{}
	for _, line := range c.n.ran() {
		name := strings.TrimPrefix(line, "deployed ")
		if ran[name] {
			c.n.t.Errorf("%s ran twice", name)
		}
		if ran[name] = true; c.verdicts[name] != "✅" {
			c.n.t.Errorf("%s ran unapproved", name)
		}
	}
}
