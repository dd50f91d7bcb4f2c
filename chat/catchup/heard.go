// Package catchup finds the events of a gap: a platform does not deliver events to a
// bot that was not connected. It compares the platform's present state with the
// entries in the store, and puts the difference as if it had just come. [Heard] knows
// each thread's last message when the gap began. [Votes] compares the reactions on an
// approval with those that count. [Looks] says when to look.
//
// The store deduplicates events by their ids, so a look too many does no harm. The
// package knows no platform: the adapter reads histories and mints ids.
package catchup

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"nod/chat"
)

// Heard knows the last message of each thread when a gap began. It must be noted then:
// after the reconnection newer events move the watermarks past the gap, and would hide
// it.
type Heard struct {
	list     Watermarks
	platform string
	back     time.Duration
	now      func() time.Time
	listing  chan struct{} // has room for one: listing all threads takes a while where there are very many

	mu    sync.Mutex
	marks []chat.Watermark
	known bool
	noted time.Time // when the listing of marks began
	again bool      // there was a gap since the look began
}

// LookBack is how far a look goes back: as long as event ids are known. KnownFor is a
// time within which they surely are. An older message may have been answered, and must
// not be put again.
const (
	LookBack = 72 * time.Hour
	KnownFor = LookBack - time.Hour
)

// mostHeard limits the threads with a known position, the latest ones. A look treats
// the others as new threads.
const mostHeard = 20_000

// apart is how far the clock of the store and this one may be from each other.
const apart = 5 * time.Minute

// Watermarks lists the latest threads of a platform that were touched since a time,
// with their last message, at most most.
type Watermarks = func(ctx context.Context, platform string, since time.Time, most int) iter.Seq2[chat.Watermark, error]

// NewHeard makes a Heard that asks list, and looks so far back.
func NewHeard(list Watermarks, platform string, back time.Duration, now func() time.Time) *Heard {
	return &Heard{list: list, platform: platform, back: back, now: now, listing: make(chan struct{}, 1)}
}

// Note notes the positions of all threads at the beginning of a gap. If an earlier gap
// is still open, its note stays, since it goes further back. If the store does not
// answer, the look itself asks it.
func (h *Heard) Note(ctx context.Context) error {
	h.mu.Lock()
	h.again = true
	known := h.known
	h.mu.Unlock()
	if known {
		return nil
	}
	_, err := h.listAll(ctx)
	return err
}

// listAll lists the positions of all threads, and notes the list. Callers meanwhile wait for
// it, as long as their own context allows, and list themselves where it failed.
func (h *Heard) listAll(ctx context.Context) ([]chat.Watermark, error) {
	select {
	case h.listing <- struct{}{}:
		defer func() { <-h.listing }()
	case <-ctx.Done():
		return nil, fmt.Errorf("list threads: %w", ctx.Err())
	}
	at := h.now()
	h.mu.Lock()
	marks, known := h.marks, h.known
	h.mu.Unlock()
	if known {
		return marks, nil
	}
	marks, err := h.since(ctx, at.Add(-h.back))
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.known {
		h.marks, h.known, h.noted = marks, true, at
	}
	return h.marks, nil
}

// UpTo begins a look. It gives the noted positions, and the present positions of
// threads that were unknown then: they may have a gap of their own by now. (If not all
// were noted, it gives no others: a later message may hide their gap.) The latest
// thread comes first. Without a note, UpTo notes its findings, so that a failed look,
// and a new gap meanwhile, continue from there.
func (h *Heard) UpTo(ctx context.Context) ([]chat.Watermark, error) {
	h.mu.Lock()
	h.again = false
	noted, known, since := h.marks, h.known, h.noted.Add(-apart)
	h.mu.Unlock()
	if !known {
		marks, err := h.listAll(ctx)
		return slices.Clone(marks), err
	}
	if len(noted) >= mostHeard {
		return slices.Clone(noted), nil
	}
	now, err := h.since(ctx, since) // unknown threads were touched since
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

// Close ends a complete look: the note is dropped, unless another gap began meanwhile.
func (h *Heard) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.again {
		h.marks, h.known = nil, false
	}
}

// Forget drops the note: there was no gap after all.
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
func (h *Heard) since(ctx context.Context, then time.Time) (marks []chat.Watermark, err error) {
	for m, err := range h.list(ctx, h.platform, then, mostHeard) {
		if err != nil {
			return nil, fmt.Errorf("list threads: %w", err)
		}
		marks = append(marks, m)
	}
	slices.SortStableFunc(marks, func(x, y chat.Watermark) int { return y.Sent.Compare(x.Sent) })
	return marks, nil
}
