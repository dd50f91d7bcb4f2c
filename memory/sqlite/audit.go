package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"time"

	"nod/chat"
	"nod/memory"
)

// auditErased adds a tombstone to the chain of an erased thread, if it has one.
func (w *writer) auditErased(thread string, at time.Time) error {
	var seq uint64
	if there, err := w.queryRow("SELECT seq FROM chain WHERE thread = ?", []any{thread}, &seq); err != nil || !there {
		return err
	}
	id, err := chat.ParseThreadID(thread)
	if err != nil {
		return nil //nolint:nilerr // a name that is no thread has no chain
	}
	return w.audit(thread, []memory.AuditLine{memory.Tombstone(id, at)})
}

// audit adds lines to a thread's chain.
func (w *writer) audit(thread string, lines []memory.AuditLine) error {
	if len(lines) == 0 {
		return nil
	}
	var head memory.Head
	if _, err := w.queryRow("SELECT seq, hash FROM chain WHERE thread = ?", []any{thread}, &head.Seq, &head.Hash); err != nil {
		return err
	}
	for _, l := range lines {
		raw, next, err := head.Link(l)
		if err != nil {
			return err
		}
		if err := w.exec("INSERT INTO audit (at, thread, line) VALUES (?, ?, ?)", millis(l.At), thread, raw); err != nil {
			return err
		}
		head = next
	}
	return w.keepHead(thread, head)
}

func (w *writer) keepHead(thread string, h memory.Head) error {
	return w.exec("INSERT INTO chain (thread, seq, hash) VALUES (?1, ?2, ?3) ON CONFLICT (thread) DO UPDATE SET seq = ?2, hash = ?3",
		thread, h.Seq, h.Hash)
}

// keptLine is a line with its place in the file.
type keptLine struct {
	id int64
	memory.KeptLine
}

func (r *reader) lines(ctx context.Context, where string, args ...any) iter.Seq2[keptLine, error] {
	query := "SELECT id, thread, line FROM audit WHERE " + where + " id > ? ORDER BY id"
	return pages(ctx, r.db, query, args, func(rows *sql.Rows) (id int64, l keptLine, err error) {
		err = rows.Scan(&l.id, &l.Thread, &l.Raw)
		return l.id, l, err
	})
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
