package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"nod/chat"
	"nod/memory"
)

// Format 3 made a chain of the audit log: each line holds the hash of the one
// before it in its thread.

const format3 = `
	CREATE TABLE chain (thread TEXT PRIMARY KEY, seq INTEGER NOT NULL, hash TEXT NOT NULL) WITHOUT ROWID;`

// chained is the first format with chains.
const chained = 3

// toFormat3 writes the lines that there are anew, as chains, in their places.
func toFormat3(m *migration) error {
	if err := m.exec(format3); err != nil {
		return err
	}
	type line struct {
		id     int64
		thread string
		raw    []byte
	}
	heads := map[string]memory.Head{}
	for after, more := int64(0), true; more; {
		lines, err := all(m.w, "SELECT id, thread, line FROM audit WHERE id > ? ORDER BY id LIMIT 500", []any{after},
			func(r *sql.Rows) (l line, err error) { return l, r.Scan(&l.id, &l.thread, &l.raw) })
		if err != nil {
			return err
		}
		more = len(lines) > 0
		for _, l := range lines {
			raw, head := linkFormer(heads[l.thread], l.thread, l.raw)
			if err := m.w.run("UPDATE audit SET line = ? WHERE id = ?", raw, l.id); err != nil {
				return err
			}
			heads[l.thread], after = head, l.id
		}
	}
	for thread, head := range heads {
		if err := m.w.keepHead(thread, head); err != nil {
			return err
		}
	}
	return nil
}

// linkFormer makes a line of a former format part of a chain. One that can't be
// read leaves a line that says so.
func linkFormer(head memory.Head, thread string, line []byte) (raw []byte, next memory.Head) {
	raw, next, err := head.LinkFormer(line, time.Time{})
	if err == nil {
		return raw, next
	}
	id, _ := chat.ParseThreadID(thread)
	raw, next, _ = head.Link(memory.AuditLine{Thread: id, Event: "lost", Reason: "a line of a former format could not be read"})
	return raw, next
}

// entomb says in the chain of a thread, if it has one, that the thread was erased.
func (w *writer) entomb(thread string, at time.Time) error {
	var seq uint64
	if there, err := w.one("SELECT seq FROM chain WHERE thread = ?", []any{thread}, &seq); err != nil || !there {
		return err
	}
	id, err := chat.ParseThreadID(thread)
	if err != nil {
		return nil //nolint:nilerr // what is of no thread has nobody who would look for it
	}
	return w.audit(thread, []memory.AuditLine{memory.Tombstone(id, at)})
}

// audit adds lines to a thread's chain.
func (w *writer) audit(thread string, lines []memory.AuditLine) error {
	if len(lines) == 0 {
		return nil
	}
	var head memory.Head
	if _, err := w.one("SELECT seq, hash FROM chain WHERE thread = ?", []any{thread}, &head.Seq, &head.Hash); err != nil {
		return err
	}
	for _, l := range lines {
		raw, next, err := head.Link(l)
		if err != nil {
			return err
		}
		if err := w.run("INSERT INTO audit (at, thread, line) VALUES (?, ?, ?)", millis(l.At), thread, raw); err != nil {
			return err
		}
		head = next
	}
	return w.keepHead(thread, head)
}

func (w *writer) keepHead(thread string, h memory.Head) error {
	return w.run("INSERT INTO chain (thread, seq, hash) VALUES (?1, ?2, ?3) ON CONFLICT (thread) DO UPDATE SET seq = ?2, hash = ?3",
		thread, h.Seq, h.Hash)
}

// keptLine is a line with its place in the file.
type keptLine struct {
	id int64
	memory.KeptLine
}

func (r *reader) lines(ctx context.Context, where string, args ...any) iter.Seq2[keptLine, error] {
	query := "SELECT id, thread, line FROM audit WHERE " + where + " id > ? ORDER BY id"
	found := pages(ctx, r.db, query, args, func(rows *sql.Rows) (id int64, l keptLine, err error) {
		err = rows.Scan(&l.id, &l.Thread, &l.Raw)
		return l.id, l, err
	})
	if r.format >= chained {
		return found
	}
	// As they will be once the file is brought up to date.
	return func(yield func(keptLine, error) bool) {
		heads := map[string]memory.Head{}
		for l, err := range found {
			if err == nil {
				l.Raw, heads[l.Thread] = linkFormer(heads[l.Thread], l.Thread, l.Raw)
			}
			if !yield(l, err) {
				return
			}
		}
	}
}

// Audit implements memory.Auditor.
func (r *reader) Audit(ctx context.Context, thread chat.ThreadID) iter.Seq2[memory.AuditLine, error] {
	lines := r.lines(ctx, "")
	if thread != (chat.ThreadID{}) {
		lines = r.lines(ctx, "thread = ? AND", thread.String())
	}
	return func(yield func(memory.AuditLine, error) bool) {
		for k, err := range lines {
			var l memory.AuditLine
			if err == nil {
				if l, err = memory.DecodeLine(k.Raw); err != nil {
					err = fmt.Errorf("line %d of the audit log: %w", k.id, err)
				}
			}
			if !yield(l, err) {
				return
			}
		}
	}
}

// Lines implements memory.Auditor.
func (r *reader) Lines(ctx context.Context) iter.Seq2[memory.KeptLine, error] {
	return func(yield func(memory.KeptLine, error) bool) {
		for l, err := range r.lines(ctx, "") {
			if !yield(l.KeptLine, err) {
				return
			}
		}
	}
}

// Heads implements memory.Auditor.
func (r *reader) Heads(ctx context.Context) (map[chat.ThreadID]memory.Head, error) {
	if r.format < chained {
		return nil, errUnchained
	}
	rows, err := r.db.QueryContext(ctx, "SELECT thread, seq, hash FROM chain")
	if err != nil {
		return nil, fmt.Errorf("read the ends of the audit log: %w", err)
	}
	out := map[chat.ThreadID]memory.Head{}
	_, err = gather(rows, func(r *sql.Rows) (_ struct{}, err error) {
		var name string
		var h memory.Head
		if err := r.Scan(&name, &h.Seq, &h.Hash); err != nil {
			return struct{}{}, err
		}
		thread, err := chat.ParseThreadID(name)
		out[thread] = h
		return struct{}{}, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the ends of the audit log: %w", err)
	}
	return out, nil
}

var errUnchained = errors.New("the audit log of this store is of a former format: it becomes a chain when the service starts")
