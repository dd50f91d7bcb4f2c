package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"nod/chat"
	"nod/chat/outbox"
)

// Slack does not deliver what happened while no socket was open. So after each
// gap the threads that the bot is in are read from where they were heard up
// to, and the reactions on approvals that wait are looked at.

// gap is a reason to look for what was missed.
type gap struct {
	after   time.Duration // not at once, as what failed now would fail again
	overlap time.Duration // look so much further back than what was heard
}

const (
	lookBack    = 72 * time.Hour // as long as event ids are known
	mostThreads = 500            // are read after a gap, the newest first
	mostDMs     = 100
	mostPages   = 5
	pageSize    = 200
	unputBack   = 15 * time.Minute // an event that was not put may be so much older than one that was
)

// heard says how far each thread was heard when the last socket closed: once
// one is open again, newer events would hide the gap.
type heard struct {
	mu    *sync.Mutex
	marks []chat.Watermark
	known bool
}

func newHeard() heard { return heard{mu: &sync.Mutex{}} }

// remember notes how far all threads were heard, unless that was noted for a
// gap that is still there. Where the store doesn't answer, the look itself asks.
func (a *Adapter) remember(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.o.AckTimeout)
	defer cancel()
	a.heard.mu.Lock()
	defer a.heard.mu.Unlock()
	if a.heard.known {
		return
	}
	marks, err := a.marks(ctx)
	if err != nil {
		a.log.Warn("note how far threads were heard", "error", err)
		return
	}
	a.heard.marks, a.heard.known = marks, true
}

// upTo gives what remember noted, or how far the threads are heard now.
func (a *Adapter) upTo(ctx context.Context) ([]chat.Watermark, error) {
	a.heard.mu.Lock()
	defer a.heard.mu.Unlock()
	now, err := a.marks(ctx)
	if err != nil || !a.heard.known {
		return now, err
	}
	// A thread that was not known then may have a gap of its own by now.
	out := slices.Clone(a.heard.marks)
	for _, m := range now {
		if !slices.ContainsFunc(a.heard.marks, func(o chat.Watermark) bool { return o.Thread == m.Thread }) {
			out = append(out, m)
		}
	}
	return out, nil
}

func (a *Adapter) forgetMarks() {
	a.heard.mu.Lock()
	defer a.heard.mu.Unlock()
	a.heard.marks, a.heard.known = nil, false
}

// marks lists how far threads are heard, the latest first.
func (a *Adapter) marks(ctx context.Context) ([]chat.Watermark, error) {
	var marks []chat.Watermark
	for m, err := range a.o.Inbox.Watermarks(ctx, Platform, a.o.Now().Add(-lookBack)) {
		if err != nil {
			return nil, fmt.Errorf("list threads: %w", err)
		}
		marks = append(marks, m)
	}
	slices.SortFunc(marks, func(x, y chat.Watermark) int { return y.Sent.Compare(x.Sent) })
	return marks, nil
}

// gaps are the reasons for a look that has not begun.
type gaps struct {
	mu      *sync.Mutex
	now     bool
	later   bool
	after   time.Duration
	overlap time.Duration
	wake    chan struct{}
}

func newGaps() gaps { return gaps{mu: &sync.Mutex{}, wake: make(chan struct{}, 1)} }

// missed asks for a look at what was missed. It doesn't wait for it.
func (a *Adapter) missed(g gap) {
	if g.after == 0 {
		a.live.begin()
	}
	s := &a.gaps
	s.mu.Lock()
	s.now = s.now || g.after == 0
	s.later = s.later || g.after > 0
	s.after, s.overlap = max(s.after, g.after), max(s.overlap, g.overlap)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take gives the reasons that came since, as one.
func (s *gaps) take() (now, later bool, g gap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, later, g = s.now, s.later, gap{s.after, s.overlap}
	s.now, s.later, s.after, s.overlap = false, false, 0, 0
	return now, later, g
}

// catchUp looks for what was missed whenever there is a gap, until ctx is done.
// A look that fails is made again.
func (a *Adapter) catchUp(ctx context.Context) {
	var due <-chan time.Time
	overlap := time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.gaps.wake:
			now, later, g := a.gaps.take()
			overlap = max(overlap, g.overlap)
			if later && due == nil {
				due = time.After(g.after)
			}
			if !now {
				continue
			}
		case <-due:
			due = nil
		}
		if err := a.backfill(ctx, overlap); err == nil {
			overlap = 0
		} else if ctx.Err() == nil {
			a.log.Warn("look for what was missed", "error", err)
			a.missed(gap{after: a.retry, overlap: overlap})
		}
	}
}

// backfill looks once. Approvals come first: people wait for them.
func (a *Adapter) backfill(ctx context.Context, overlap time.Duration) error {
	marks, err := a.upTo(ctx)
	err = errors.Join(err, a.reactions(ctx))
	for i, m := range marks {
		if overlap > 0 && !m.Sent.IsZero() {
			marks[i].Last.ID = stamp(m.Sent.Add(-overlap))
		}
	}
	err = errors.Join(err, a.channels(ctx, marks))
	for _, m := range marks[:min(len(marks), mostThreads)] {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if m.Thread.Root != "" {
			err = errors.Join(err, a.replies(ctx, m))
		}
	}
	if err == nil {
		a.forgetMarks()
	}
	return err
}

// replies puts what was written in a thread since it was last heard.
func (a *Adapter) replies(ctx context.Context, m chat.Watermark) error {
	msgs, err := a.web.read(ctx, history{
		method: "conversations.replies", channel: channelOf(m.Thread.Channel), thread: m.Thread.Root,
		oldest: m.Last.ID, priority: outbox.Low,
	})
	if err != nil {
		return missing(err)
	}
	return a.overdue(ctx, channelOf(m.Thread.Channel), msgs)
}

// channels looks for messages that open a thread: in direct conversations any,
// elsewhere those that mention the bot.
func (a *Adapter) channels(ctx context.Context, marks []chat.Watermark) error {
	if len(marks) == 0 {
		return nil // nothing was ever heard here, so nothing was missed
	}
	oldest := map[string]string{}
	for _, m := range slices.Backward(marks) {
		oldest[channelOf(m.Thread.Channel)] = m.Last.ID
	}
	dms, err := a.direct(ctx)
	if err != nil {
		err = missing(err)
	}
	for _, id := range dms {
		if _, ok := oldest[id]; !ok {
			oldest[id] = marks[0].Last.ID
		}
	}
	for channel, since := range oldest {
		msgs, failed := a.web.read(ctx, history{method: "conversations.history", channel: channel, oldest: since, priority: outbox.Low})
		if failed == nil {
			failed = a.overdue(ctx, channel, msgs)
		}
		err = errors.Join(err, missing(failed))
	}
	return err
}

// direct lists the direct conversations of the bot.
func (a *Adapter) direct(ctx context.Context) ([]string, error) {
	var said struct {
		Channels []struct {
			ID string `json:"id"`
		} `json:"channels"`
	}
	args := url.Values{"types": {"im"}, "limit": {strconv.Itoa(mostDMs)}, "exclude_archived": {"true"}}
	err := a.web.call(ctx, request{method: "users.conversations", args: args, priority: outbox.Low, answer: &said})
	var out []string
	for _, c := range said.Channels {
		out = append(out, c.ID)
	}
	return out, err
}

// missing forgives what is not there any more, or not for the bot.
func missing(err error) error {
	if c := code(err); c != "" && (slices.Contains(goneCodes, c) || c == "missing_scope" || c == "method_not_supported_for_channel_type") {
		return nil
	}
	return err
}

// overdue puts messages of a history as if they had just come. They were
// numbered by Slack, so those that came after all are known.
func (a *Adapter) overdue(ctx context.Context, channel string, msgs []event) error {
	slices.SortFunc(msgs, func(x, y event) int { return sentAt(x.TS).Compare(sentAt(y.TS)) })
	for _, ev := range msgs {
		ev.Channel, ev.Type = channel, "message"
		if sentAt(ev.TS).IsZero() {
			continue
		}
		done := make(chan error, 1)
		a.lanes.run(ctx, lane(ev), a.patience(ev)+callTimeout, func(ctx context.Context) {
			done <- a.message(ctx, ev, messageKeys("", ev))
		})
		select {
		case err := <-done:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
