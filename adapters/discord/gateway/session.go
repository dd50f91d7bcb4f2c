package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"nod/chat/retry"
)

// A session outlives not only its connections but the process too: Discord keeps
// what happens for some minutes after a connection ended, if it was not ended with
// 1000 or 1001. So what it takes to go on with a session is noted in the store,
// and a process that starts soon after another goes on where that one left off.
// Nothing is lost then, not even what no look can find: a first direct message,
// a reaction, an edit.

// Bookmark is what it takes to go on with a session: up to Seq all is put.
type Bookmark struct {
	Session string    `json:"session"`
	Resume  string    `json:"resume"`
	Seq     int64     `json:"seq"`
	Shards  int       `json:"shards"`
	Intents int       `json:"intents"`
	User    string    `json:"user"`
	At      time.Time `json:"at"`      // by the clock of who wrote it
	Beat    int64     `json:"beat"`    // grows as long as somebody has the session
	Closed  bool      `json:"closed"`  // nobody has it any more
	Process string    `json:"process"` // who wrote it
	// Something was missed, and the look for it did not come to its end. Nothing of it is
	// older than Since, by the clock of who wrote it.
	Unlooked bool      `json:"unlooked,omitzero"`
	Since    time.Time `json:"since,omitzero"`
}

const (
	noteTimeout = 5 * time.Second  // for reading or writing a bookmark
	keptFor     = 30 * time.Minute // Discord keeps a session for less; trying costs a moment
	mostTried   = 2                // resumes that Discord answers with no session, before a new one
)

// name is that of a shard's bookmark.
func (s *shard) name() string {
	return fmt.Sprintf("discord session [%d,%d]", s.n, s.of)
}

// recall takes up the session of a process that is gone. One that another process
// has is left alone: its bookmark goes on growing, which is not waited for where that
// process surely ended.
func (s *shard) recall(ctx context.Context) {
	b, err := s.noted(ctx)
	s.g.Inherit(b)
	if err != nil || b.Session == "" || s.g.o.Now().Sub(b.At) > keptFor {
		return
	}
	if !b.Closed && !s.g.o.Ended(b.Process) {
		if retry.Sleep(ctx, 5*s.g.o.Beat/2) != nil {
			return
		}
		again, err := s.noted(ctx)
		if err != nil || again.Beat != b.Beat || again.Session != b.Session {
			return
		}
		b = again
	}
	if b.Shards != s.of || b.Intents != int(Intents(s.g.o.Content())) || b.User != s.g.host.Self() {
		return
	}
	s.taken = b
	s.is(b.Session, b.Resume, b.Seq)
	s.g.o.Logger.Info("going on with the session of the process before", "shard", s.n)
}

func (s *shard) noted(ctx context.Context) (Bookmark, error) {
	var b Bookmark
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	raw, err := s.g.o.Notes.Noted(ctx, s.name())
	if err != nil {
		s.g.o.Logger.Warn("read the note of a session", "shard", s.n, "error", err)
		return b, err
	}
	if len(raw) == 0 || json.Unmarshal(raw, &b) != nil {
		return Bookmark{}, nil // none, or another version's
	}
	return b, nil
}

// bookmarks notes the session from time to time, until ctx is done.
func (s *shard) bookmarks(ctx context.Context) {
	for tick := time.NewTicker(s.g.o.Beat); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-s.begun: // the first note must not wait
		case <-tick.C:
		}
		s.note(ctx, false)
	}
}

func (s *shard) note(ctx context.Context, closed bool) {
	s.g.mu.Lock()
	b := Bookmark{
		Session: s.session, Resume: s.resume, Seq: s.upTo(), Shards: s.of, Intents: int(Intents(s.g.o.Content())),
		User: s.g.host.Self(), At: s.g.o.Now(), Closed: closed, Process: s.g.o.Process,
	}
	ours := s.ours
	s.g.mu.Unlock()
	if !ours {
		return
	}
	s.beats++
	b.Beat = s.beats
	s.g.Owe(&b)
	raw, _ := json.Marshal(b) // it can always be written
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	if err := s.g.o.Notes.Note(ctx, s.name(), raw); err != nil && !errors.Is(err, context.Canceled) {
		s.g.o.Logger.Warn("note a session", "shard", s.n, "error", err)
	}
}

// is begins with a session, or goes on with one, whose first events are put. "" is none.
// The lock is not held.
func (s *shard) is(session, resume string, seq int64) {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	s.session, s.resume, s.seq, s.ours, s.open = session, resume, seq, false, map[int64]int{}
}

// hold keeps upTo before an event until what it returns is called. Events are put side by
// side, and only what is put may be left out by a resume.
func (s *shard) hold(seq int64) (done func()) {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	open := s.open
	open[seq]++
	return func() {
		s.g.mu.Lock()
		defer s.g.mu.Unlock()
		if open[seq]--; open[seq] <= 0 {
			delete(open, seq)
		}
	}
}

// upTo is the number of the last event before which nothing is left to be put. The lock
// is held.
func (s *shard) upTo() int64 {
	up := s.seq
	for seq := range s.open {
		up = min(up, seq-1)
	}
	return up
}

// lostSession says whether a close by Discord ends the session. Not those with
// 1000 and 1001: they end it only when the bot closes with them, and what stands
// before Discord closes so when it starts anew
// (https://discord.com/developers/docs/events/gateway#initiating-a-disconnect).
func lostSession(err error) bool {
	code := closedWith(err)
	return code == 4003 || code == 4007 || code == 4009
}

// resumeFailed says whether Discord answered a resume with something else than
// going on.
func resumeFailed(err error) bool {
	return errors.Is(err, errInvalid) || errors.Is(err, errNotReady) || closedWith(err) >= 4000
}
