package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"nod/chat"
	"nod/memory"
)

// auditErased adds a tombstone to the chain of an erased thread, if it has one.
func (w *writer) auditErased(thread string, at time.Time) {
	id, err := chat.ParseThreadID(thread)
	if err != nil {
		return // a name that is no thread has no chain
	}
	l, err := memory.Keys(w.knownKey).Hide(w.direct, memory.Tombstone(id, at))
	if errors.Is(err, memory.ErrNoKey) {
		return
	}
	w.fail(err)
	if err == nil && w.head(l[0].Thread).Seq > 0 {
		w.link(l)
	}
}

// audit adds lines of one thread to its chain.
func (w *writer) audit(lines []memory.AuditLine) {
	hidden, err := memory.Keys(w.key).Hide(w.direct, lines...)
	w.fail(err)
	if err == nil && len(lines) > 0 {
		w.link(hidden)
	}
}

func (w *writer) link(lines []memory.HiddenLine) {
	thread := lines[0].Thread
	head := w.head(thread)
	for _, l := range lines {
		raw, next, err := head.Link(l.AuditLine)
		w.fail(err)
		w.exec("INSERT INTO audit (thread, line, text) VALUES (?, ?, ?)", thread.String(), raw, l.Text)
		head = next
	}
	w.exec("INSERT INTO chain (thread, seq, hash) VALUES (?1, ?2, ?3) ON CONFLICT (thread) DO UPDATE SET seq = ?2, hash = ?3",
		thread.String(), head.Seq, head.Hash)
}

// head gives the end of a chain.
func (w *writer) head(thread chat.ThreadID) (h memory.Head) {
	w.queryRow("SELECT seq, hash FROM chain WHERE thread = ?", []any{thread.String()}, &h.Seq, &h.Hash)
	return h
}

// knownKey gives a person's key; ErrNoKey if there is none.
func (w *writer) knownKey(id string) (key []byte, err error) {
	if !w.queryRow("SELECT key FROM person WHERE id = ?", []any{id}, &key) {
		return nil, cmp.Or(w.err, memory.ErrNoKey)
	}
	return key, nil
}

// key makes a person's key if there is none.
func (w *writer) key(id string) ([]byte, error) {
	key, err := w.knownKey(id)
	if errors.Is(err, memory.ErrNoKey) {
		key = memory.NewKey()
		w.exec("INSERT INTO person (id, key) VALUES (?, ?)", id, key)
	}
	return key, w.err
}

// Unname implements memory.People.
func (s *Store) Unname(ctx context.Context, id string) error {
	return s.do(ctx, "destroy the key of a pseudonym", func(w *writer) { w.exec("DELETE FROM person WHERE id = ?", id) }, s.purge.request)
}

// People implements memory.Auditor.
func (r *reader) People(ctx context.Context) ([]memory.Person, error) {
	return readAll(ctx, r, "SELECT id, key FROM person", nil,
		func(r *sql.Rows) (p memory.Person, err error) { return p, r.Scan(&p.ID, &p.Key) })
}

func (r *reader) lines(ctx context.Context, where string, args ...any) iter.Seq2[memory.KeptLine, error] {
	query := "SELECT id, thread, line, text FROM audit WHERE " + where + " id > ? ORDER BY id"
	return pages(ctx, r, query, args, func(rows *sql.Rows) (id int64, l memory.KeptLine, err error) {
		err = rows.Scan(&id, &l.Thread, &l.Raw, &l.Text)
		l.ID = strconv.FormatInt(id, 10)
		return id, l, err
	})
}

// Audit implements memory.Auditor.
func (r *reader) Audit(ctx context.Context, thread chat.ThreadID) iter.Seq2[memory.AuditLine, error] {
	return memory.Resolved(ctx, r, thread, func(names memory.Names) iter.Seq2[memory.KeptLine, error] {
		if thread == (chat.ThreadID{}) {
			return r.Lines(ctx)
		}
		return r.lines(ctx, "thread IN (?, ?) AND", thread.String(), names.Hidden(thread).String())
	})
}

// Lines implements memory.Auditor.
func (r *reader) Lines(ctx context.Context) iter.Seq2[memory.KeptLine, error] {
	return r.lines(ctx, "")
}

// Newer implements memory.Auditor.
func (r *reader) Newer(ctx context.Context, mark string, each func(memory.KeptLine)) (end string, older bool, err error) {
	end, older = mark, mark != ""
	from, _ := strconv.ParseInt(memory.MarkedID(mark), 10, 64) // 0: from the first line on
	for l, err := range r.lines(ctx, "id >= ? AND", from) {
		if err != nil {
			return mark, false, fmt.Errorf("read the audit log: %w", err)
		}
		if older { // the first line
			if l.Mark() != mark {
				break
			}
			older = false
			continue
		}
		each(l)
		end = l.Mark()
	}
	return end, older, nil
}

// Mark implements memory.Auditor.
func (r *reader) Mark(ctx context.Context) (string, error) {
	var l memory.KeptLine
	found, err := r.readRow(ctx, "SELECT id, line FROM audit ORDER BY id DESC LIMIT 1", nil, &l.ID, &l.Raw)
	if err != nil || !found {
		return "", memory.Doing("read the audit log", err)
	}
	return l.Mark(), nil
}

// Heads implements memory.Auditor.
func (r *reader) Heads(ctx context.Context) (map[string]memory.Head, error) {
	out := map[string]memory.Head{}
	_, err := readAll(ctx, r, "SELECT thread, seq, hash FROM chain", nil, func(r *sql.Rows) (_ struct{}, err error) {
		var name string
		var h memory.Head
		err = r.Scan(&name, &h.Seq, &h.Hash)
		out[name] = h
		return struct{}{}, err
	})
	return out, memory.Doing("read the ends of the audit log", err)
}
