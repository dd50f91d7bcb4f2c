// Package transfer copies a store into an empty one, of the same kind or another. It
// knows stores only as lists of records.
//
// A note marks both stores, so that no service takes up a half copy or goes on with the
// old one. A copy that was interrupted begins again, over what is there.
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

// Run copies and verifies. An error that came in the middle leaves a half copy; the
// same call completes it.
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
	var records []memory.Record
	size := 0
	for r, err := range c.From.Records(ctx) {
		if err != nil {
			return err
		}
		if c.skips(r) {
			continue
		}
		records = append(records, r)
		if size += bytesOf(r); size < mostBytes && len(records) < mostRecords {
			continue
		}
		if err := c.To.Restore(ctx, records); err != nil {
			return err
		}
		records, size = nil, 0
	}
	return c.To.Restore(ctx, records)
}

func bytesOf(r memory.Record) int {
	n := len(r.Key) + len(r.Value) + len(r.Text)
	if r.State != nil {
		for _, e := range slices.Concat(r.State.Log, r.State.Inbox) {
			n += len(e.Raw)
		}
	}
	return n
}

func (c Copy) skips(r memory.Record) bool {
	return r.Kind == memory.RecordNote && (r.Key == NoteMark || c.Skip != nil && c.Skip(r.Key))
}

// sum is a number of records, and a digest in which their order does not count.
type sum struct {
	n      int
	digest uint64
}

// lasting are the kinds that don't expire, so that both stores have the same.
var lasting = []string{
	memory.RecordThread, memory.RecordFile, memory.RecordHead, memory.RecordAudit, memory.RecordPerson, memory.RecordNote,
}

func (c Copy) sum(ctx context.Context, s memory.Portable) (map[string]sum, error) {
	out := map[string]sum{}
	count := func(kind string, n int, digest uint64) {
		if n > 0 {
			out[kind] = sum{out[kind].n + n, out[kind].digest + digest}
		}
	}
	for r, err := range s.Records(ctx) {
		if err != nil {
			return nil, err
		}
		if c.skips(r) || !slices.Contains(lasting, r.Kind) {
			continue
		}
		r.N, r.Until = 0, 0 // a place that each store counts in its own way
		if len(r.Text) == 0 {
			r.Text = nil
		}
		if t := r.State; t != nil {
			for i := range t.Inbox {
				t.Inbox[i].N = 0 // likewise
			}
			count("log", len(t.Log), 0)
			count("inbox", len(t.Inbox), 0)
			count("pending", len(t.Pending), 0)
		}
		raw, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		digest := sha256.Sum256(raw)
		count(r.Kind, 1, binary.BigEndian.Uint64(digest[:]))
	}
	return out, nil
}
