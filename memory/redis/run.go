package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"nod/chat"
	"nod/memory"
)

// Next implements [memory.Store].
func (s *Store) Next(ctx context.Context, platforms ...string) (*memory.Run, error) {
	f, err := s.feedOf(platforms)
	if err != nil {
		return nil, fmt.Errorf("claim thread: %w", err)
	}
	for {
		o, err := f.take(ctx)
		if err != nil {
			return nil, fmt.Errorf("claim thread: %w", err)
		}
		run, err := s.claim(ctx, o)
		if err != nil {
			s.feeds.doubt(o)
			return nil, fmt.Errorf("claim thread: %w", err)
		}
		if run != nil {
			return run, nil
		}
	}
}

// claim claims an offered thread; nil when there is nothing to claim any more.
func (s *Store) claim(ctx context.Context, o offer) (*memory.Run, error) {
	thread, err := parseThread(o.thread)
	if err != nil {
		return nil, err
	}
	token, known := s.recent.Take(o.thread)
	out, err := s.run(ctx, claimScript, o.shard, o.thread, o.id, s.me, s.lease.Milliseconds(), dueEntry, token, memory.LastSeq(known))
	r := newReply(out, err)
	if r.err != nil || len(r.rest) == 0 {
		return nil, r.err
	}
	h := &held{
		shard: o.shard, thread: o.thread, ready: o.id,
		mail: make(chan struct{}, 1), lost: make(chan struct{}),
	}
	h.token = uint64(r.int())
	before := uint64(r.int())
	h.seq = uint64(r.int())
	base, first := uint64(r.int()), uint64(r.int())
	waited := time.Duration(r.int()) * time.Millisecond
	s.deadlines.tick(o.shard, r.int())
	entries := r.strings()
	if r.err != nil {
		return nil, r.err
	}
	log, err := decodeEntries(entries, first)
	if err != nil {
		return nil, err
	}
	if first == memory.LastSeq(known)+1 {
		log = append(memory.Since(known, base), log...)
	}
	if !s.held.add(h) {
		return nil, errClosed
	}
	return &memory.Run{
		Thread: thread, Token: h.token, Log: log, Claimed: before + 1, Waited: max(waited, 0),
		Mail: h.mail, Lost: h.lost, Held: h,
	}, nil
}

// Commit implements [memory.Store]. After an error the same commit may be
// tried again; it is done once. Another commit then finds the run lost, since
// what its log holds is not known, and so does one that comes after a lease.
func (s *Store) Commit(ctx context.Context, run *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	h, err := s.heldBy(run)
	if err != nil {
		return nil, err
	}
	c, err := newCommit(run.Thread, h.seq, bodies)
	if err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	if h.doubt != nil {
		if !h.doubt.same(c) {
			s.abandon(h)
			return nil, memory.ErrFenced
		}
		c = h.doubt
	} else {
		c.number = strconv.FormatUint(h.token, 36) + "." + h.commits.next()
	}
	h.doubt = c
	h.unsure.Store(true)
	last, at, arrived, err := s.commit(ctx, h, c)
	if err != nil {
		return nil, err
	}
	h.doubt = nil
	h.unsure.Store(false)
	for i, b := range bodies {
		run.Log = append(run.Log, memory.Entry{Seq: c.seq + uint64(i) + 1, At: at, Body: b})
	}
	run.Log = append(run.Log, arrived...)
	h.seq = last
	return arrived, nil
}

// commit sends a commit: last Seq, time of the commit, what arrived.
func (s *Store) commit(ctx context.Context, h *held, c *commitArgs) (uint64, time.Time, []memory.Entry, error) {
	send := s.run
	if c.durable {
		send = s.runDurably
	}
	r := newReply(send(ctx, commitScript, h.shard, c.list(h)...))
	last := r.int()
	if r.err != nil {
		return 0, time.Time{}, nil, fmt.Errorf("commit: %w", r.err)
	}
	if last < 0 {
		s.abandon(h)
		return 0, time.Time{}, nil, memory.ErrFenced
	}
	at := timeOf(r.int())
	s.deadlines.tick(h.shard, r.int())
	list := r.strings()
	if r.err != nil {
		return 0, time.Time{}, nil, fmt.Errorf("commit: %w", r.err)
	}
	arrived, err := decodeEntries(list, uint64(last)-uint64(len(list))+1)
	if err != nil {
		return 0, time.Time{}, nil, fmt.Errorf("commit: %w", err)
	}
	return uint64(last), at, arrived, nil
}

// commitArgs is one commit, as the script wants it.
type commitArgs struct {
	seq     uint64 // last Seq before it
	number  string
	durable bool // a replica has to have it too
	base    uint64
	erase   bool
	entries []string
	refs    []string
	asks    []string // call, message, call, message, …
	settled []string
	audit   []string
}

func newCommit(thread chat.ThreadID, seq uint64, bodies []memory.Body) (*commitArgs, error) {
	c := &commitArgs{seq: seq}
	entries := make([]memory.Entry, 0, len(bodies))
	for i, b := range bodies {
		raw, err := encode(b)
		if err != nil {
			return nil, err
		}
		c.entries = append(c.entries, raw)
		entries = append(entries, memory.Entry{Seq: seq + uint64(i) + 1, Body: b})
		if _, ok := b.(memory.Started); ok {
			c.durable = true
		}
	}
	f := memory.EffectsOf(thread, entries)
	c.base, c.erase, c.settled = f.Base, f.Erase, f.Settled
	for _, ref := range f.Refs {
		// A message elsewhere could not be found from a reaction anyway.
		if ref.Platform == thread.Platform && ref.Channel == thread.Channel {
			c.refs = append(c.refs, ref.String())
		}
	}
	for _, a := range f.Ask {
		c.asks = append(c.asks, a.Call, a.Ref.String())
	}
	for _, l := range f.Audit {
		raw, err := encodeAudit(l)
		if err != nil {
			return nil, err
		}
		c.audit = append(c.audit, raw)
	}
	return c, nil
}

func (c *commitArgs) list(h *held) []any {
	erase := "0"
	if c.erase {
		erase = "1"
	}
	args := []any{h.thread, h.token, c.seq, c.number, c.base, erase}
	for _, list := range [][]string{c.entries, c.refs, c.asks, c.settled, c.audit} {
		args = append(args, len(list))
		for _, v := range list {
			args = append(args, v)
		}
	}
	return args
}

// same says whether two commits would write the same.
func (c *commitArgs) same(d *commitArgs) bool {
	return c.seq == d.seq && slices.Equal(c.entries, d.entries)
}

// Finish implements [memory.Store]. After an error the run is given up, and
// the thread is claimed anew as soon as the server answers.
func (s *Store) Finish(ctx context.Context, run *memory.Run, wakeAt time.Time) (bool, error) {
	h, err := s.heldBy(run)
	if err != nil {
		return false, err
	}
	deadline := millisOf(wakeAt)
	r := newReply(s.run(ctx, finishScript, h.shard, h.thread, h.token, deadline, s.keep.Milliseconds()))
	state := r.int()
	now := r.int()
	if r.err != nil {
		s.abandon(h)
		return false, fmt.Errorf("finish: %w", r.err)
	}
	s.deadlines.tick(h.shard, now)
	switch state {
	case -1:
		s.held.lose(h)
		return false, memory.ErrFenced
	case 1:
		return true, nil
	}
	s.held.end(h)
	s.recent.Put(h.thread, h.token, run.Log)
	if deadline == 0 && s.keep > 0 {
		deadline = now + s.keep.Milliseconds()
	}
	s.deadlines.note(h.shard, deadline)
	return false, nil
}

// Handoff implements [memory.Store]. After an error see Finish.
func (s *Store) Handoff(ctx context.Context, run *memory.Run) error {
	h, err := s.heldBy(run)
	if err != nil {
		return err
	}
	out, err := s.run(ctx, handoffScript, h.shard, h.thread, h.token, s.lease.Milliseconds())
	if err != nil {
		s.abandon(h)
		return fmt.Errorf("hand off: %w", err)
	}
	if out == int64(-1) {
		s.held.lose(h)
		return memory.ErrFenced
	}
	s.held.end(h)
	return nil
}

// abandon gives up a run whose log is not what the run thinks. The thread is
// made ready again, now or as soon as the server answers.
func (s *Store) abandon(h *held) {
	s.held.lose(h)
	s.feeds.doubt(offer{shard: h.shard, thread: h.thread, id: h.ready})
}
