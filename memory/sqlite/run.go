package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nod/chat"
	"nod/memory"
	"nod/memory/recent"
)

// Next implements memory.Store. It puts an unreadable thread aside and goes on with
// others.
func (s *Store) Next(ctx context.Context, platforms ...string) (*memory.Run, error) {
	for {
		h, err := s.queue.waitForThread(ctx, platforms)
		if err != nil {
			return nil, err
		}
		run, err := s.claim(h)
		switch {
		case err != nil:
			longest := longestAside
			if isFileError(err) {
				longest = longestUnread
			}
			if s.queue.putAside(h, longest) == 1 {
				s.log.Error("thread is unreadable and put aside", "thread", h.thread, "error", err)
			}
		case run == nil:
			s.queue.release(h, ifMailed) // nothing to do, but something may have arrived since
		default:
			s.queue.clearFailures(h)
			return run, nil
		}
	}
}

// claim reads a held thread; nil if nothing woke it.
func (s *Store) claim(h *held) (*memory.Run, error) {
	now := s.now()
	l, known, kept, err := s.remembered(h)
	if err != nil || !l.found || !l.wakes(now) {
		return nil, err
	}
	thread, err := chat.ParseThreadID(h.thread)
	if err != nil {
		return nil, err
	}
	h.id, h.seq, h.woken = l.id, l.seq, l.since(now)
	first := h.seq + 1 + s.seenBefore(h, l.inbox)
	h.placeInbox(l.inbox)
	if l.due(now) {
		if err := h.placeDue(now); err != nil {
			return nil, err
		}
	}
	return &memory.Run{
		Thread: thread, Token: randomWord(), Log: append(append(known, entries(l.log)...), entries(h.seen)...), Claimed: first,
		Now: fromMillis(millis(now)), Waited: max(0, now.Sub(fromMillis(h.woken))), Bell: h.bell, Kept: kept, Held: h,
	}, nil
}

// seenBefore counts the inbox entries that an earlier run may have acted on, in this
// process or in an earlier one.
func (s *Store) seenBefore(h *held, inbox []row) (n uint64) {
	if len(inbox) == 0 {
		return 0
	}
	handed := s.queue.noteHanded(h.thread, int64(inbox[len(inbox)-1].seq))
	for _, r := range inbox {
		if int64(r.seq) > handed && r.entry > s.given.Load() {
			break
		}
		n++
	}
	return n
}

// remembered loads a thread, or only its new part if this process remembers the rest.
func (s *Store) remembered(h *held) (_ loaded, known []memory.Entry, kept any, err error) {
	at := s.recent.Take(h.thread)
	known, kept = at.Entries, at.Kept
	last := memory.LastSeq(known)
	l, err := s.load(background, h.thread, last, true)
	if err != nil || last == 0 {
		return l, nil, nil, err
	}
	if l.seq < last || len(l.log) > 0 && l.log[0].seq != last+1 { // another file than before
		l, err = s.load(background, h.thread, 0, true)
		return l, nil, nil, err
	}
	if current := memory.Since(known, l.base); len(current) != len(known) {
		return l, current, nil, nil
	}
	return l, known, kept, nil
}

// wakes says whether a run has something to do.
func (l loaded) wakes(now time.Time) bool { return l.woken > 0 || l.due(now) }

func (l loaded) due(now time.Time) bool { return l.wakeAt > 0 && l.wakeAt <= millis(now) }

// since gives the time since when the thread waits for a run.
func (l loaded) since(now time.Time) int64 {
	switch {
	case l.woken > 0:
		return l.woken
	case l.due(now):
		return l.wakeAt
	}
	return millis(now)
}

// placeInbox numbers the inbox entries behind the log. The file gets these places with
// the first commit.
func (h *held) placeInbox(inbox []row) {
	for _, r := range inbox {
		h.n = int64(r.seq)
		r.seq = h.seq + uint64(len(h.seen)) + 1
		h.seen = append(h.seen, r)
	}
}

// placeDue adds a Due behind them, for a deadline that has passed.
func (h *held) placeDue(now time.Time) error {
	l, err := newLetter(memory.Due{}, now)
	if err != nil {
		return err
	}
	h.seen = append(h.seen, row{seq: h.seq + uint64(len(h.seen)) + 1, at: l.at, kind: l.kind, raw: l.raw})
	return nil
}

// Commit implements memory.Store.
func (s *Store) Commit(ctx context.Context, run *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	t, err := s.commit(ctx, "commit", run, nil, bodies)
	if err != nil {
		return nil, err
	}
	return entries(t.arrived), nil
}

// Finish implements memory.Store.
func (s *Store) Finish(ctx context.Context, run *memory.Run, wakeAt time.Time, bodies ...memory.Body) (more bool, err error) {
	t, err := s.commit(ctx, "finish", run, &wakeAt, bodies)
	return err == nil && !t.released, err
}

// commit is one transaction. With wakeAt it releases the thread, unless something arrived.
func (s *Store) commit(ctx context.Context, what string, run *memory.Run, wakeAt *time.Time, bodies []memory.Body) (*turn, error) {
	h := of(run)
	now := s.now()
	own := make([]row, len(bodies))
	for i, b := range bodies {
		l, err := newLetter(b, now)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		own[i] = row{seq: h.seq + uint64(len(h.seen)+i) + 1, at: l.at, kind: l.kind, raw: l.raw, body: b}
	}
	var t *turn
	err := s.do(ctx, what, func(w *writer) {
		if !s.queue.holds(h) {
			w.fail(memory.ErrFenced)
			return
		}
		t = &turn{writer: w, thread: run.Thread, id: h.id, now: now}
		if t.commit(h, own); wakeAt != nil && len(t.arrived) == 0 {
			t.release(*wakeAt)
		}
	}, func() {
		if t.erased {
			s.purge.request()
			s.clean()
		}
		h.seq, h.seen, h.n = t.seq, nil, 0 // the file's log holds everything seen
		s.queue.clearHanded(h.thread)
		run.Log = append(append(run.Log, entries(own)...), entries(t.arrived)...)
		if t.released {
			s.recent.Put(recent.Log{Thread: h.thread, Entries: run.Log, Kept: run.Kept})
			s.queue.release(h, never)
			s.queue.noteDeadline(*wakeAt)
		}
	})
	if errors.Is(err, memory.ErrFenced) {
		err = memory.ErrFenced
	}
	return t, err
}

// Handoff implements memory.Store. The file still says woken, and the thread goes to
// the end of the queue.
func (s *Store) Handoff(_ context.Context, run *memory.Run) error {
	if !s.queue.release(of(run), always) {
		return memory.ErrFenced
	}
	return nil
}
