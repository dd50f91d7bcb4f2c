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
	"fmt"
	"iter"
	"slices"
	"sync"

	"nod/chat"
)

// Heard says how far each thread was heard when a gap began. That has to be
// noted then: once the bot is connected again, newer events move the threads'
// watermarks past the gap and would hide it.
type Heard struct {
	list func(context.Context) iter.Seq2[chat.Watermark, error]

	mu    sync.Mutex
	marks []chat.Watermark
	known bool
	again bool // there was a gap since the look began
}

// NewHeard makes a Heard that asks list how far threads are heard now.
func NewHeard(list func(context.Context) iter.Seq2[chat.Watermark, error]) *Heard {
	return &Heard{list: list}
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
	marks, err := h.now(ctx)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.known {
		h.marks, h.known = marks, true
	}
	return nil
}

// UpTo begins a look. It gives what was noted, and how far threads are heard
// now that were not known then: they may have a gap of their own by now. The
// thread that was heard of last comes first.
func (h *Heard) UpTo(ctx context.Context) ([]chat.Watermark, error) {
	h.mu.Lock()
	h.again = false
	noted, known := h.marks, h.known
	h.mu.Unlock()
	now, err := h.now(ctx)
	if err != nil || !known {
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

// now asks how far threads are heard, the latest first.
func (h *Heard) now(ctx context.Context) ([]chat.Watermark, error) {
	var marks []chat.Watermark
	for m, err := range h.list(ctx) {
		if err != nil {
			return nil, fmt.Errorf("list threads: %w", err)
		}
		marks = append(marks, m)
	}
	slices.SortStableFunc(marks, func(x, y chat.Watermark) int { return y.Sent.Compare(x.Sent) })
	return marks, nil
}
