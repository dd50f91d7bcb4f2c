package mcp

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// server is one server, and the connection to it, which run keeps up.
type server struct {
	Server
	pace    pace
	limit   limit
	log     *slog.Logger
	dir     string
	version string
	web     *web // nil for a child
	fault   *fault
	calls   calls

	closing chan struct{} // closed when the program ends
	wake    chan struct{} // somebody wants a connection now
	relist  chan struct{} // the server says that its tools changed
	late    chan struct{} // gets a value when it comes after the start

	mu       sync.Mutex
	accepted bool // the pins are an operator's
	pins     []Definition
	missed   bool  // it was not there at the start, so it is pinned when it comes
	live     *live // nil while there is no connection
	lost     error // why not
	stderr   string
	failures int // attempts that brought no connection
	changed  bell
	told     map[string]string
	idly     string // the patterns of which it was told that they fit nothing
	old      bool   // only of run: shake hands as before 2026-07-28
}

// live is a connection that works.
type live struct {
	session *sdk.ClientSession
	tools   []Definition // those that are wanted
	offered int          // how many there are
	idle    []string     // patterns that fit none of them
}

// run connects, and connects again, until ctx is done.
func (s *server) run(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; failures++ {
		begun := time.Now()
		err := s.serve(ctx)
		if ctx.Err() != nil {
			s.drop(errClosing)
			return
		}
		if time.Since(begun) >= s.pace.steady {
			failures = 0
		}
		s.drop(err)
		s.log.Warn("an mcp server is not connected", "server", s.Name, "error", err)
		s.rest(ctx, failures)
	}
}

// rest waits before the next attempt, the longer the more have failed. A call
// that needs the server cuts it short, but never the shortest wait.
func (s *server) rest(ctx context.Context, failures int) {
	long := min(s.pace.least<<min(failures, 20), s.pace.most)
	select {
	case <-ctx.Done():
		return
	case <-time.After(s.pace.least/2 + rand.N(s.pace.least/2)):
	}
	select {
	case <-ctx.Done():
	case <-s.wake:
	case <-time.After(long/2 + rand.N(long/2+1)):
	}
}

// serve makes one connection and holds it until it ends. The error is in our own
// words.
func (s *server) serve(ctx context.Context) error {
	begun := time.Now()
	l, err := s.dial(ctx)
	if err != nil {
		return err
	}
	if _, err := s.list(ctx, l.session, nil); err != nil {
		err = l.cause(err, begun)
		l.end()
		return err
	}
	s.log.Info("an mcp server is connected", "server", s.Name)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = l.session.Wait()
	}()
	defer func() {
		l.end()
		<-ended
	}()
	for {
		select {
		case <-ctx.Done():
			return errClosing
		case <-ended:
			return l.cause(errEnded, begun)
		case <-s.relist:
			if _, err := s.list(ctx, l.session, nil); err != nil {
				err = l.cause(err, begun)
				s.drop(err) // no call begins while those that run come to their end
				return err
			}
		}
	}
}

// The most that a server may list.
const (
	mostPages = 100
	mostTools = 1000
)

// list asks for the tools, and makes the session the one that is used. A call
// that lists them anew gives the connection that it has, and changes nothing
// where that is the present one no more.
func (s *server) list(ctx context.Context, session *sdk.ClientSession, only *live) (*live, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.pace.attempt, errSlow)
	defer cancel()
	var found []Definition
	params := &sdk.ListToolsParams{}
	for page := 0; ; page++ {
		if page == mostPages || len(found) > mostTools {
			return nil, ours("it lists more than %d tools, or in more than %d pages", mostTools, mostPages)
		}
		r, err := session.ListTools(ctx, params)
		if err != nil {
			return nil, err
		}
		for _, t := range r.Tools {
			d, err := defined(t)
			if err != nil {
				return nil, ours("its list of tools can't be read")
			}
			if _, twice := byName(found, d.Name); twice {
				return nil, ours("it lists two tools of one name")
			}
			found = append(found, d)
		}
		if r.NextCursor == "" {
			break
		}
		params = &sdk.ListToolsParams{Cursor: r.NextCursor}
	}
	l := &live{session: session, tools: s.wanted(found), offered: len(found), idle: s.idle(found)}
	s.use(l, only)
	return l, nil
}

// use makes a connection the one that calls go through.
func (s *server) use(l, only *live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if only != nil && s.live != only {
		return
	}
	s.live, s.lost = l, nil
	if s.missed {
		s.missed = false
		s.found()
		nudge(s.late)
	}
	s.changed.ring()
	s.tell()
}

// drop says that there is no connection.
func (s *server) drop(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		s.failures++
	}
	s.live, s.lost = nil, err
	s.changed.ring()
}

// nudge leaves word in a channel that has room for one.
func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// settled waits until the first attempt has ended, well or not.
func (s *server) settled(ctx context.Context) {
	s.mu.Lock()
	known, changed := s.live != nil || s.failures > 0, s.changed
	s.mu.Unlock()
	if known {
		return
	}
	select {
	case <-changed:
	case <-ctx.Done():
	}
}

// pin fixes the tools of a server of which nobody accepted any.
func (s *server) pin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.accepted:
	case s.live == nil:
		s.missed = true
		s.log.Warn("an mcp server has no tools until it comes: it was not there at the start, and bot check --accept-mcp has not accepted any", "server", s.Name)
	default:
		s.found()
	}
	s.told = map[string]string{}
	s.tell()
}

// found pins the tools to the server's present ones. The caller holds the lock.
func (s *server) found() {
	s.pins = s.live.tools
	s.log.Warn("tools of an mcp server are used as they were found, and what they say of themselves counts as content from outside; to hold them to what was looked at, run bot check --accept-mcp", "server", s.Name, "tools", len(s.pins))
}

// tell logs, once, which tools are off now, and which patterns fit none. The caller holds the lock. Nothing
// is told before the tools are pinned.
func (s *server) tell() {
	if s.told == nil || s.live == nil {
		return
	}
	if idle := strings.Join(s.live.idle, ", "); idle != s.idly {
		s.idly = idle
		s.log.Warn("patterns for an mcp server fit none of its tools, and so mean nothing", "server", s.Name, "patterns", idle)
	}
	for _, t := range s.compare() {
		if s.told[t.Name] == t.Why {
			continue
		}
		s.told[t.Name] = t.Why
		if t.Why != "" {
			s.log.Warn("a tool of an mcp server is off", "server", s.Name, "tool", t.Name, "reason", t.Why)
		}
	}
}

// usable are the pinned tools, but for those that the server does not offer as they
// are pinned.
func (s *server) usable() []Definition {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		return s.pins
	}
	return slices.DeleteFunc(slices.Clone(s.pins), func(d Definition) bool { return differs(d, s.live.tools) != "" })
}
