package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nod/memory"
)

// Next implements [memory.Store].
func (s *Store) Next(ctx context.Context, platforms ...string) (*memory.Run, error) {
	f, err := s.feedOf(platforms)
	if err != nil {
		return nil, fmt.Errorf("claim thread: %w", err)
	}
	for {
		o, err := s.waitForOffer(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("claim thread: %w", err)
		}
		run, err := s.claim(ctx, o)
		switch {
		case err == nil && run != nil:
			return run, nil
		case err != nil && isDamaged(err):
			// It concerns this thread only. The sweeper tries again.
			s.log.Error("redis: a thread can't be claimed", "thread", o.thread, "error", err)
		case err != nil:
			return nil, fmt.Errorf("claim thread: %w", err)
		}
	}
}

// claim claims an offered thread; nil if it is not ready any more. After an error
// nobody knows whether it was claimed: it is given back.
func (s *Store) claim(ctx context.Context, o offer) (*memory.Run, error) {
	o.token = s.words.next()
	run, err := s.claimAs(ctx, o)
	if err != nil && !isDamaged(err) {
		s.feeds.addDoubtful(o)
	}
	return run, err
}

func (s *Store) claimAs(ctx context.Context, o offer) (*memory.Run, error) {
	known := s.take(o.thread)
	for {
		args := []any{o.thread, o.id, s.words.self, s.lease.Milliseconds(), dueEntry, o.token, memory.LastSeq(known.log)}
		for _, head := range known.past.heads() {
			args = append(args, head)
		}
		asked := s.moment()
		r := newReply(s.run(ctx, claimScript, o.shard, args...))
		if r.err != nil || len(r.rest) == 0 {
			return nil, r.err
		}
		if r.int() == 0 {
			return s.claimed(o, known, r, asked)
		}
		// The server lost the end of the log that is cached here.
		done, err := s.restore(ctx, known, r.text(), "")
		if err = cmp.Or(r.err, err); err != nil {
			return nil, err
		}
		if !done { // another process went on just now
			known = &remembered{thread: o.thread}
		}
	}
}

// claimed reads the answer to a claim that succeeded; asked is when it was sent.
func (s *Store) claimed(o offer, known *remembered, r *reply, asked moment) (*memory.Run, error) {
	last := uint64(r.int())
	base, first := uint64(r.int()), uint64(r.int())
	waited := time.Duration(r.int()) * time.Millisecond
	now, head, given := r.int(), r.text(), uint64(r.int())
	raw, inbox := r.strings(), r.strings()
	thread, err := parseThread(o.thread)
	if err = cmp.Or(r.err, err); err != nil {
		return nil, err
	}
	h := &held{chain: known.chain, shard: o.shard, thread: o.thread, id: thread, ready: o.id, token: o.token, bell: &memory.Bell{}}
	h.hears(s, now)
	log := decodeEntries(raw, first)
	var kept any
	if len(known.log) > 0 && first == memory.LastSeq(known.log)+1 && known.past.last().head == head {
		current := memory.Since(known.log, base)
		if len(current) == len(known.log) {
			kept = known.kept
		}
		log = append(current, log...)
		h.past = known.past
	} else {
		h.past.begin(head, last)
	}
	h.past.add(o.token, last, nil)
	log = append(log, h.numberInbox(inbox)...)
	if !s.held.add(h) {
		return nil, errClosed
	}
	return &memory.Run{
		Thread: thread, Token: o.token, Log: log, Claimed: last + 1 + given,
		Now: timeOf(now), Waited: max(waited, 0), Bell: h.bell, Doubt: s.doubts(o.shard, asked), Kept: kept, Held: h,
	}, nil
}

// Commit implements [memory.Store].
func (s *Store) Commit(ctx context.Context, run *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	arrived, _, err := s.commitAfter(ctx, run, "commit", bodies)
	return arrived, memory.Doing("commit", err)
}

// Finish implements [memory.Store].
func (s *Store) Finish(ctx context.Context, run *memory.Run, wakeAt time.Time, bodies ...memory.Body) (more bool, err error) {
	deadline := millisOf(wakeAt)
	_, released, err := s.commitAfter(ctx, run, "finish", bodies, deadline, s.keep.Milliseconds())
	if err != nil {
		return false, fmt.Errorf("finish: %w", err)
	}
	if released == 0 {
		return true, nil
	}
	h, _ := run.Held.(*held)
	s.held.end(h)
	s.remember(remembered{thread: h.thread, shard: h.shard, log: run.Log, kept: run.Kept, past: h.past, chain: h.chain})
	if deadline == 0 && s.keep > 0 {
		deadline = released + s.keep.Milliseconds()
	}
	s.deadlines.note(h.shard, deadline)
	return false, nil
}

// move is the name of the store's own commit.
const move = "move"

// settle repeats the store's own commit if its outcome is unknown. New inbox entries
// wait: the run's own entries come first.
func (s *Store) settle(ctx context.Context, h *held) error {
	if h.doubt.what != move {
		return nil
	}
	if _, _, _, err := s.commit(ctx, h, move, nil); err != nil {
		return err
	}
	h.inbox, h.seen = nil, nil
	return nil
}

// commitAfter commits for the run; released is as in commit.
func (s *Store) commitAfter(ctx context.Context, run *memory.Run, what string, bodies []memory.Body, rest ...any) (all []memory.Entry, released int64, err error) {
	h, err := s.heldBy(run)
	if err != nil {
		return nil, 0, err
	}
	if err := s.settle(ctx, h); err != nil {
		return nil, 0, err
	}
	own, arrived, released, err := s.commit(ctx, h, what, bodies, rest...)
	if err != nil {
		return nil, 0, err
	}
	run.Log = append(append(run.Log, own...), arrived...)
	all = slices.Clone(arrived)
	// The run has seen the arrived entries, so another commit moves them to the log,
	// with their effects. If that fails, the run's next call does it.
	for len(arrived) > 0 && err == nil {
		_, arrived, _, err = s.commit(ctx, h, move, nil)
		run.Log, all = append(run.Log, arrived...), append(all, arrived...)
	}
	return all, released, nil
}

// commit moves the seen inbox entries to the log, appends the bodies, and fetches new
// inbox entries. With rest (see lua/commit.lua) it releases the thread if nothing
// arrived, and says when.
func (s *Store) commit(ctx context.Context, h *held, what string, bodies []memory.Body, rest ...any) (own, arrived []memory.Entry, released int64, err error) {
	c, err := h.change(bodies)
	if err != nil {
		return nil, nil, 0, err
	}
	number := h.callNumber(s.words, what, c.entries)
	r, err := s.compare(ctx, h, c, func(audit []string) (any, error) {
		send, me := s.run, ""
		if c.durable {
			send, me = s.runDurably, s.words.self
		}
		return send(ctx, commitScript, h.shard, append(c.args(s, me, h.token, h.past.last().head, number, audit), rest...)...)
	})
	if err != nil {
		return nil, nil, 0, err
	}
	last, at, now := uint64(r.int()), r.int(), r.int()
	inbox := r.strings()
	released = r.int()
	if r.err != nil {
		return nil, nil, 0, r.err
	}
	h.hears(s, now)
	if at != c.when.UnixMilli() { // an earlier attempt succeeded, and its answer was lost
		if _, h.chain, err = c.linkAudit(c.behind, timeOf(at)); err != nil {
			return nil, nil, 0, err
		}
	}
	for i, b := range bodies {
		seq := last - uint64(len(bodies)) + uint64(i) + 1
		own = append(own, memory.Entry{Seq: seq, At: timeOf(at), Body: b})
	}
	h.settleDoubt(c.withTimes(at))
	if c.erase { // the cache forgets it too
		h.past.begin(h.past.last().head, last)
	}
	return own, h.numberInbox(inbox), released, nil
}

// compare makes a call that is refused if the log's head is not the one that the run
// has seen. If the server has an older head, compare restores the lost entries and
// calls again. It also calls again if the audit lines did not follow the chain.
func (s *Store) compare(ctx context.Context, h *held, c *change, call func(audit []string) (any, error)) (*reply, error) {
	for {
		state, r, err := s.follow(ctx, h, c, call)
		if err != nil || state >= 0 {
			return r, err
		}
		if err := s.catchUp(ctx, h, r.text(), uint64(r.int())); err != nil {
			return nil, err
		}
	}
}

// follow makes a call with audit lines linked to the current chain. It returns the
// answer behind its state.
func (s *Store) follow(ctx context.Context, h *held, c *change, call func(audit []string) (any, error)) (int64, *reply, error) {
	if err := s.hide(ctx, c); err != nil {
		return 0, nil, err
	}
	for range mostRelinks {
		c.behind, c.when = h.chain, s.clock(h)
		audit, next, err := c.linkAudit(c.behind, c.when)
		if err != nil {
			return 0, nil, err
		}
		r := newReply(call(audit))
		state := r.int()
		if r.err != nil {
			return 0, nil, r.err
		}
		if state != elsewhere {
			h.chain = next // after a refusal the next line is linked anew
			return state, r, nil
		}
		now, head := r.int(), r.text()
		if h.chain, err = memory.ParseHead(head); err != nil || r.err != nil {
			return 0, nil, errors.Join(err, r.err)
		}
		h.hears(s, now)
	}
	return 0, nil, errUnlinked
}

// elsewhere is a script's answer if the audit lines don't follow the chain. mostRelinks
// limits the repeated hashing: once because another process went on, and once because
// clocks differ.
const (
	elsewhere   = -2
	mostRelinks = 10
)

var errUnlinked = errors.New("audit lines never follow the chain")

// catchUp restores lost entries behind this head; ErrFenced if another process went on
// instead.
func (s *Store) catchUp(ctx context.Context, h *held, head string, seq uint64) error {
	m := &remembered{thread: h.thread, shard: h.shard, past: h.past, chain: h.chain}
	done, err := s.restore(ctx, m, head, h.token)
	if err != nil || done {
		return err
	}
	if seq < h.past.last().seq {
		s.reportOlder(h.shard, "a thread went on without entries of this process", h.thread)
	}
	s.fence(h)
	return memory.ErrFenced
}

// hears notes the server's clock.
func (h *held) hears(s *Store, now int64) {
	s.deadlines.tick(h.shard, now)
	if at := timeOf(now); at.After(h.serverTime) {
		h.serverTime = at
	}
}

// clock estimates the server's clock; the real one is not earlier.
func (s *Store) clock(h *held) time.Time {
	if now := s.deadlines.clock(h.shard); now.After(h.serverTime) {
		return now
	}
	return h.serverTime
}

// fence ends a run whose log changed. If the thread is still held for it, it becomes
// ready again.
func (s *Store) fence(h *held) {
	s.held.end(h)
	h.lost.Store(true)
	h.bell.Lose()
	s.feeds.addDoubtful(offer{shard: h.shard, thread: h.thread, id: h.ready, token: h.token})
}

// Handoff implements [memory.Store]. After an error the run is given up too: the thread
// becomes ready as soon as the server answers.
func (s *Store) Handoff(ctx context.Context, run *memory.Run) error {
	h, err := s.heldBy(run)
	if err != nil {
		return err
	}
	if err := s.settle(ctx, h); err != nil {
		s.fence(h)
		return fmt.Errorf("hand off: %w", err)
	}
	number := h.callNumber(s.words, "handoff", nil)
	_, err = s.compare(ctx, h, &change{}, func([]string) (any, error) {
		return s.run(ctx, handoffScript, h.shard, h.thread, h.past.last().head, number, s.lease.Milliseconds())
	})
	if err != nil {
		s.fence(h)
		return fmt.Errorf("hand off: %w", err)
	}
	s.held.end(h)
	return nil
}
