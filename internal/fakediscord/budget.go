package fakediscord

import (
	"cmp"
	"time"
)

// allowance is how many sessions may be begun, and how long it is said to hold.
type allowance struct {
	left   int
	resets time.Duration // 0: a day
}

// AllowIdentifies leaves the bot so many sessions to begin, until a test allows more. resets
// is when it is told to ask again. Whoever begins one more loses the token, and all
// sessions.
func (s *Server) AllowIdentifies(n int, resets time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessionsLeft = allowance{n, resets}
}

// startLimit is the bot's remaining budget of sessions.
func (s *Server) startLimit() object {
	resets := cmp.Or(s.sessionsLeft.resets, 24*time.Hour)
	return object{
		"total": identifiesADay, "remaining": s.sessionsLeft.left, "reset_after": resets.Milliseconds(), "max_concurrency": 1,
	}
}

// overdrawn counts a session that is to begin. When it is one too many the token is
// reset: https://discord.com/developers/docs/events/gateway#session-start-limit-object
func (s *Server) overdrawn() bool {
	if s.sessionsLeft.left--; s.sessionsLeft.left >= 0 {
		return false
	}
	s.sessionsLeft = allowance{left: identifiesADay}
	s.options.Token = "token " + s.newID()
	for _, c := range s.connections {
		c.push(frame{close: 4004, text: "Authentication failed."})
	}
	clear(s.sessions)
	s.sessionOrder = nil
	return true
}

// IgnoreIdentifies answers nobody who begins a session, while heartbeats are
// acknowledged, until it is called with false: then all are answered.
func (s *Server) IgnoreIdentifies(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.identifySilent = on
	if on {
		return
	}
	waiting := s.identifyWaiting
	s.identifyWaiting = nil
	for _, begin := range waiting {
		begin()
	}
	s.change()
}
