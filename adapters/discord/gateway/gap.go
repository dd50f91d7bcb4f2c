package gateway

import (
	"sync"
	"time"
)

// apart is by how much the clocks of two processes and of Discord differ at the most,
// with the time until a process notices a lost connection.
const apart = 5 * time.Minute

// Gap knows which shards have a session, and whether the bot missed something that no
// look has found yet. It ends once every shard has a session and a look found everything.
type Gap struct {
	settled func() // all was looked for
	mu      sync.Mutex
	live    map[int]bool // shards that have a session
	// Shards whose session began, and which were not told of all guilds yet.
	untold map[int]bool
	shards int
	begun  int       // sessions since the last look that found everything
	since  time.Time // before that nothing was missed; zero: nobody knows
	heir   bool      // a process before this one did not come to the end of its look
}

// Expect begins with so many shards, of which none is connected yet.
func (g *Gap) Expect(shards int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shards, g.live, g.untold = shards, map[int]bool{}, map[int]bool{}
}

// Ready says whether every shard has a session.
func (g *Gap) Ready() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shards > 0 && len(g.live) == g.shards
}

// Inherit takes over a shard from the bookmark of the process before.
func (g *Gap) Inherit(b Bookmark) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := b.At
	if b.Unlooked {
		g.heir, at = true, b.Since
	}
	g.missedFrom(at)
}

// missedFrom notes that something may have been missed from a time on. The lock is held.
func (g *Gap) missedFrom(at time.Time) {
	if !at.IsZero() && (g.since.IsZero() || at.Before(g.since)) {
		g.since = at
	}
}

// leave notes a shard that lost its connection.
func (g *Gap) leave(n int, at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.live, n)
	g.missedFrom(at)
}

// renew notes a shard with a new session. Discord tells it of its guilds one by one.
func (g *Gap) renew(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.live[n], g.untold[n] = true, true
	g.begun++
}

// tell notes that a shard knows its guilds, or does not wait for the others.
func (g *Gap) tell(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.untold, n)
}

// resume notes a shard that goes on with its session.
func (g *Gap) resume(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.live[n] = true
	g.settle()
}

// Look begins a look. It gives the number of sessions that the look is for: none while
// Discord has not told of all guilds.
func (g *Gap) Look() (sessions int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.untold) > 0 {
		return 0
	}
	return g.begun
}

// Looked ends a look that found everything.
func (g *Gap) Looked(sessions int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.begun -= sessions
	g.settle()
}

func (g *Gap) settle() {
	if len(g.live) < g.shards || g.begun > 0 {
		return
	}
	g.settled()
	g.since, g.heir = time.Time{}, false
}

// Owe notes in a bookmark that a look has not come to its end.
func (g *Gap) Owe(b *Bookmark) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if b.Unlooked = g.begun > 0; b.Unlooked {
		b.Since = g.since
	}
}

// Before is the time from which an unfinished look of an earlier process may have left
// messages unfound; zero: there is none, or the time is not known.
func (g *Gap) Before() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.heir || g.since.IsZero() {
		return time.Time{}
	}
	return g.since.Add(-apart)
}
