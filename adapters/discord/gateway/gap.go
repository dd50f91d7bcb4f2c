package gateway

import (
	"slices"
	"time"
)

// apart is by how much the clocks of two processes and of Discord differ at the most,
// with the time until a process notices a lost connection.
const apart = 5 * time.Minute

// gap is whether the bot missed something that no look has found yet. It ends once every
// shard has a session and a look found everything.
type gap struct {
	begun int       // sessions since the last look that found everything
	since time.Time // before that nothing was missed; zero: nobody knows
	heir  bool      // a process before this one did not come to the end of its look
}

// Ready says whether every shard has a session.
func (g *Gateway) Ready() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ready()
}

func (g *Gateway) ready() bool {
	return len(g.shards) > 0 && !slices.ContainsFunc(g.shards, func(s *shard) bool { return !s.live })
}

// Inherit takes over a shard from the bookmark of the process before.
func (g *Gateway) Inherit(b Bookmark) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := b.At
	if b.Unlooked {
		g.heir, at = true, b.Since
	}
	g.missedFrom(at)
}

// missedFrom notes that something may have been missed from a time on. The lock is held.
func (g *Gateway) missedFrom(at time.Time) {
	if !at.IsZero() && (g.since.IsZero() || at.Before(g.since)) {
		g.since = at
	}
}

// Look begins a look. It gives the number of sessions that the look is for: none while
// Discord has not told of all guilds.
func (g *Gateway) Look() (sessions int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.ContainsFunc(g.shards, func(s *shard) bool { return len(s.guilds) > 0 }) {
		return 0
	}
	return g.begun
}

// Looked ends a look that found everything.
func (g *Gateway) Looked(sessions int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.begun -= sessions
	g.settle()
}

func (g *Gateway) settle() {
	if !g.ready() || g.begun > 0 {
		return
	}
	g.settled()
	g.since, g.heir = time.Time{}, false
}

// Owe notes in a bookmark that a look has not come to its end.
func (g *Gateway) Owe(b *Bookmark) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if b.Unlooked = g.begun > 0; b.Unlooked {
		b.Since = g.since
	}
}

// Before is the time from which an unfinished look of an earlier process may have left
// messages unfound; zero: there is none, or the time is not known.
func (g *Gateway) Before() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.heir || g.since.IsZero() {
		return time.Time{}
	}
	return g.since.Add(-apart)
}
