// Package transfer copies a store into an empty one, of the same kind or another. It
// knows stores only as lists of records.
//
// A note marks both stores, so that no service takes up a half copy or goes on with the
// old one. A copy that was interrupted goes on behind the last thread that is complete.
package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nod/memory"
)

// NoteMark is the note that says of a store that it is a half copy, or was copied.
const NoteMark = "copy of a store"

// noteAt holds the last complete thread of a half copy.
const noteAt = "copy of a store, as far as"

// Copy is one copy of a store.
type Copy struct {
	From, To         memory.Portable
	FromName, ToName string                 // as people read them, without passwords
	Skip             func(note string) bool // notes that stay behind
}

// Mark gives the mark of a store; "" if it has none.
func Mark(ctx context.Context, notes memory.Notes) (string, error) {
	raw, err := notes.Noted(ctx, NoteMark)
	return string(raw), err
}

// Counts are the numbers of copied records, by kind.
type Counts map[string]int

// String lists the counts, in the order of the kinds' names.
func (c Counts) String() string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, fmt.Sprintf("%d %s", c[kind], kind))
	}
	return strings.Join(parts, ", ")
}

// Run copies and verifies. An error that came in the middle leaves a half copy, with
// which the same call goes on.
func (c Copy) Run(ctx context.Context) (Counts, error) {
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	if err := c.copyAll(ctx); err != nil {
		return nil, err
	}
	from, err := c.sum(ctx, c.From)
	if err != nil {
		return nil, err
	}
	to, err := c.sum(ctx, c.To)
	if err != nil {
		return nil, err
	}
	counts := Counts{}
	for kind, s := range from {
		counts[kind] = s.n
		if to[kind] != s {
			return nil, fmt.Errorf("the copy differs from the store: %d of kind %s in %s, %d in %s: empty the copy and begin again",
				s.n, kind, c.FromName, to[kind].n, c.ToName)
		}
	}
	return counts, errors.Join(
		c.From.Note(ctx, NoteMark, []byte("copied to "+c.ToName)),
		c.To.Note(ctx, noteAt, nil),
		c.To.Note(ctx, NoteMark, nil),
	)
}

// begin checks both stores and marks the copy.
func (c Copy) begin(ctx context.Context) error {
	for _, s := range []struct {
		store memory.Portable
		name  string
	}{{c.From, c.FromName}, {c.To, c.ToName}} {
		running, err := s.store.Running(ctx)
		if err != nil {
			return err
		}
		if running {
			return fmt.Errorf("a service runs on %s: stop it first", s.name)
		}
	}
	from, err := Mark(ctx, c.From)
	if err != nil {
		return err
	}
	to, err := Mark(ctx, c.To)
	if err != nil {
		return err
	}
	mark := "copying from " + c.FromName
	switch {
	case from != "" && from != "copied to "+c.ToName:
		return fmt.Errorf("%s is marked %q: copy a whole store that is in use", c.FromName, from)
	case to == mark:
		return nil
	case to != "":
		return fmt.Errorf("%s is marked %q: empty it first", c.ToName, to)
	}
	for r, err := range c.To.Records(ctx) {
		if err != nil {
			return err
		}
		if r.Kind != memory.RecordFloor {
			return fmt.Errorf("%s is not empty: name a new store", c.ToName)
		}
	}
	return c.To.Note(ctx, NoteMark, []byte(mark))
}

// Limits of one call of Restore.
const (
	mostRecords = 100
	mostBytes   = 8 << 20
)

func (c Copy) copyAll(ctx context.Context) error {
	raw, err := c.To.Noted(ctx, noteAt)
	if err != nil {
		return err
	}
	b := batch{Copy: c, skipTo: string(raw)}
	for r, err := range c.From.Records(ctx) {
		if err == nil && !c.skips(r) {
			err = b.add(ctx, r)
		}
		if err != nil {
			return err
		}
	}
	return b.flush(ctx)
}

func (c Copy) skips(r memory.Record) bool {
	return r.Kind == memory.RecordNote && (r.Key == NoteMark || r.Key == noteAt || c.Skip != nil && c.Skip(r.Key))
}

// batch gathers whole threads, and then other records.
type batch struct {
	Copy
	skipTo  string // the last thread that is complete; empty: nothing to skip
	records []memory.Record
	bytes   int
	thread  string // of the last record
}

func (b *batch) add(ctx context.Context, r memory.Record) error {
	whole := r.Kind == memory.RecordThread || r.Kind == memory.RecordFile || r.Thread == ""
	if whole && (b.bytes > mostBytes || len(b.records) > mostRecords) {
		if err := b.flush(ctx); err != nil {
			return err
		}
	}
	if b.skipTo != "" {
		if whole && b.thread == b.skipTo {
			b.skipTo = ""
		} else {
			b.thread = r.Thread
			return nil
		}
	}
	b.thread = r.Thread
	b.records = append(b.records, r)
	b.bytes += len(r.Value) + len(r.Text) + len(r.Key)
	return nil
}

// flush writes the batch, and notes how far the copy is.
func (b *batch) flush(ctx context.Context) error {
	if len(b.records) == 0 {
		return nil
	}
	if err := b.To.Restore(ctx, b.records); err != nil {
		return err
	}
	at := ""
	for _, r := range b.records {
		if r.Kind == memory.RecordThread {
			at = r.Thread
		}
	}
	b.records, b.bytes = nil, 0
	if at == "" {
		return nil
	}
	return b.To.Note(ctx, noteAt, []byte(at))
}

// sum is a number of records, and a digest in which their order does not count.
type sum struct {
	n      int
	digest uint64
}

// lasting are the kinds that don't expire, so that both stores have the same.
var lasting = []string{
	memory.RecordThread, memory.RecordLog, memory.RecordInbox, memory.RecordPending, memory.RecordFile,
	memory.RecordHead, memory.RecordAudit, memory.RecordPerson, memory.RecordNote,
}

func (c Copy) sum(ctx context.Context, s memory.Portable) (map[string]sum, error) {
	out := map[string]sum{}
	for r, err := range s.Records(ctx) {
		if err != nil {
			return nil, err
		}
		if c.skips(r) || !slices.Contains(lasting, r.Kind) {
			continue
		}
		r.Until = 0
		switch r.Kind {
		case memory.RecordThread, memory.RecordInbox, memory.RecordAudit:
			r.N = 0 // a place that each store counts in its own way
		}
		if len(r.Text) == 0 {
			r.Text = nil
		}
		raw, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		digest := sha256.Sum256(raw)
		was := out[r.Kind]
		out[r.Kind] = sum{was.n + 1, was.digest + binary.BigEndian.Uint64(digest[:])}
	}
	return out, nil
}
