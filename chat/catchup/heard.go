// Package catchup finds out what happened while nobody listened. A platform
// that delivers events does not deliver those of a time in which the bot was
// not connected. The one idea is that what is there now is compared with what
// was taken in, and the difference is put as if it had just come: [Heard] knows
// up to where every thread was taken in when the gap began, [Votes] compares the
// reactions that stand on an approval with those that count, and [Looks] says
// when to look.
//
// What is put twice is known by its event ids, so a look may always be made once
// more than needed. It knows no platform: how a history is read, and what is an
// id, is for the adapter.
package catchup

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"nod/chat"
)

// Heard says how far each thread was heard when a gap began. That has to be
// noted then: once the bot is connected again, newer events move the threads'
// watermarks past the gap and would hide it.
type Heard struct {
	list     Watermarks
	platform string
	back     time.Duration
	now      func() time.Time
	one      singleflight.Group // listing of all threads, which takes a while where there are very many

	mu    sync.Mutex
	marks []chat.Watermark
	known bool
	noted time.Time // when the listing of marks began
	again bool      // there was a gap since the look began
	most  int       // threads that were listed last
}

// LookBack is how far a look goes back: as long as ids of events are known. KnownFor is
// for how long it is surely known by them what was put: whatever may have been put
// before must not be put again, since it would be answered again.
const (
	LookBack = 72 * time.Hour
	KnownFor = LookBack - time.Hour
)

// mostHeard is of how many threads it is known how far they were heard, of those that
// something was in last. Any other is, for a look, one that was never heard of.
const mostHeard = 20_000

// apart is how far the clock of the store and this one may be from each other.
const apart = 5 * time.Minute

// Watermarks says how far the threads of a platform are heard now in which something was
// since a time, so many at most.
type Watermarks = func(ctx context.Context, platform string, since time.Time, most int) iter.Seq2[chat.Watermark, error]

// NewHeard makes a Heard that asks list, and looks so far back.
func NewHeard(list Watermarks, platform string, back time.Duration, now func() time.Time) *Heard {
	return &Heard{list: list, platform: platform, back: back, now: now}
}

// Note notes at the beginning of a gap how far all threads are heard, unless
// that was noted for an earlier gap that is still open: what was missed then is
// the more. Where the store doesn't answer, the look itself asks it.
func (h *Heard) Note(ctx context.Context) error {
	h.mu.Lock()
	h.again = true
	known := h.known
	h.mu.Unlock()
	if known {
		return nil
	}
	_, err := h.all(ctx)
	return err
}

// all notes how far all threads are heard. Who comes while that is listed waits for
// it, as long as its own context lets it: what was heard a moment before is no later.
// A listing that another gave up is made again.
func (h *Heard) all(ctx context.Context) ([]chat.Watermark, error) {
	for {
		listed := h.one.DoChan("", func() (any, error) { return h.note(ctx) })
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("list threads: %w", ctx.Err())
		case r := <-listed:
			givenUp := errors.Is(r.Err, context.Canceled) || errors.Is(r.Err, context.DeadlineExceeded)
			if givenUp && r.Shared && ctx.Err() == nil {
				continue
			}
			marks, _ := r.Val.([]chat.Watermark)
			return marks, r.Err
		}
	}
}

// note lists all threads, and gives what is noted then.
func (h *Heard) note(ctx context.Context) ([]chat.Watermark, error) {
	at := h.now()
	h.mu.Lock()
	room := h.most
	h.mu.Unlock()
	marks, err := h.since(ctx, at.Add(-h.back), room)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.most = len(marks)
	if !h.known {
		h.marks, h.known, h.noted = marks, true, at
	}
	return h.marks, nil
}

// UpTo begins a look. It gives what was noted, and how far threads are heard
// now that were not known then: they may have a gap of their own by now. (Where not
// all were noted it gives no more: of one of the others something may have come since,
// which would hide its gap.) The thread that was heard of last comes first. Where
// nothing was noted, what it finds is: a look that fails, and a gap that opens
// meanwhile, go on from there.
func (h *Heard) UpTo(ctx context.Context) ([]chat.Watermark, error) {
	h.mu.Lock()
	h.again = false
	noted, known, since := h.marks, h.known, h.noted.Add(-apart)
	h.mu.Unlock()
	if !known {
		marks, err := h.all(ctx)
		return slices.Clone(marks), err
	}
	if len(noted) >= mostHeard {
		return slices.Clone(noted), nil
	}
	now, err := h.since(ctx, since, 0) // what was not known then was touched since
	if err != nil {
		return now, err
	}
	had := make(map[chat.ThreadID]bool, len(noted))
	for _, m := range noted {
		had[m.Thread] = true
	}
	out := slices.Clone(noted)
	for _, m := range now {
		if !had[m.Thread] {
			out = append(out, m)
		}
	}
	return out, nil
}

// Close ends a look that has found everything: what was noted is forgotten,
// unless another gap began meanwhile.
func (h *Heard) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.again {
		h.marks, h.known = nil, false
	}
}

// Forget drops what was noted: there was no gap after all.
func (h *Heard) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.marks, h.known = nil, false
}

// Open says whether there is a gap that was noted and not closed.
func (h *Heard) Open() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known
}

// since asks how far threads are heard that were touched since then, the latest first.
// There will be about as many as room.
func (h *Heard) since(ctx context.Context, then time.Time, room int) ([]chat.Watermark, error) {
	marks := make([]chat.Watermark, 0, room)
	for m, err := range h.list(ctx, h.platform, then, mostHeard) {
		if err != nil {
			return nil, fmt.Errorf("list threads: %w", err)
		}
		marks = append(marks, m)
	}
	slices.SortStableFunc(marks, func(x, y chat.Watermark) int { return y.Sent.Compare(x.Sent) })
	return marks, nil
}
