package sqlite

import (
	"bytes"
	"database/sql"
	"slices"
	"time"

	"nod/chat"
	"nod/memory"
)

// turn is what one transaction does to one thread.
type turn struct {
	*writer
	thread chat.ThreadID
	id     int64
	now    time.Time

	seq      uint64 // of the last entry now
	base     uint64 // where the log is to begin, when that changes
	touched  int64
	arrived  []row
	erased   bool
	released bool
}

// commit moves what the run has seen of the inbox into the log, appends its own
// entries, and then moves what came since.
func (t *turn) commit(h *held, own []row) error {
	if err := t.moveSeen(h); err != nil {
		return err
	}
	for _, r := range own {
		entry, err := t.entry(&letter{at: r.at, kind: r.kind, raw: r.raw})
		if err != nil {
			return err
		}
		if err := t.place(r.seq, entry); err != nil {
			return err
		}
	}
	if err := t.apply(append(entries(h.seen), entries(own)...)); err != nil {
		return err
	}
	for {
		n := len(t.arrived)
		if err := t.moveNew(); err != nil {
			return err
		}
		if n == len(t.arrived) {
			break
		}
		// Messages that become known let in what waited for them.
		if err := t.apply(entries(t.arrived[n:])); err != nil {
			return err
		}
	}
	if t.seq == h.seq && t.base == 0 {
		return nil
	}
	if err := t.run("UPDATE thread SET seq = ?2, base = max(base, ?3) WHERE id = ?1", t.id, t.seq, t.base); err != nil {
		return err
	}
	// What has an index is written only when it changes, since that costs pages.
	t.touched = h.touched
	if h.marked && !h.reminded() && millis(t.now)-h.touched < second {
		return nil
	}
	t.touched = millis(t.now)
	return t.run(`UPDATE thread SET touched = ?2, gone = 0, woken = CASE woken WHEN 0 THEN ?3 ELSE woken END,
		wake_at = CASE WHEN ?4 THEN 0 ELSE wake_at END WHERE id = ?1`, t.id, t.touched, h.woken, h.reminded())
}

// second is how exactly it is known when a thread was touched, in milliseconds.
const second = 1000

// release lets go of the thread.
func (t *turn) release(wakeAt time.Time) error {
	t.released = true
	return t.run("UPDATE thread SET woken = 0, wake_at = ?2 WHERE id = ?1", t.id, millis(wakeAt))
}

// reminded says whether what was seen holds a Due.
func (h *held) reminded() bool {
	return len(h.seen) > 0 && h.seen[len(h.seen)-1].entry == 0
}

// moveSeen checks that the log is what the run has seen of it, and makes what the
// run saw in the inbox the end of the log.
func (t *turn) moveSeen(h *held) error {
	if found, err := t.one("SELECT seq FROM thread WHERE id = ?", []any{t.id}, &t.seq); err != nil {
		return err
	} else if !found || t.seq != h.seq {
		return memory.ErrFenced
	}
	if h.n > 0 {
		moved, err := t.change("DELETE FROM inbox WHERE thread = ? AND n <= ?", t.id, h.n)
		if err != nil {
			return err
		}
		if want := len(h.seen); h.reminded() && moved != int64(want-1) || !h.reminded() && moved != int64(want) {
			return memory.ErrFenced
		}
	}
	for _, r := range h.seen {
		entry := r.entry
		if entry == 0 {
			var err error
			if entry, err = t.entry(&letter{at: r.at, kind: r.kind, raw: r.raw}); err != nil {
				return err
			}
		}
		if err := t.place(r.seq, entry); err != nil {
			return err
		}
	}
	return nil
}

// place makes an entry the last one of the log.
func (t *turn) place(seq uint64, entry int64) error {
	t.seq = seq
	return t.run("INSERT INTO log (thread, seq, entry) VALUES (?, ?, ?)", t.id, seq, entry)
}

// moveNew takes what is in the inbox into the log.
func (t *turn) moveNew() error {
	rows, err := all(t.writer, "SELECT i.n, i.entry, e.at, e.body FROM inbox i LEFT JOIN entry e ON e.id = i.entry WHERE i.thread = ? ORDER BY i.n",
		[]any{t.id}, func(r *sql.Rows) (e row, err error) {
			var at sql.NullInt64
			err = r.Scan(&e.seq, &e.entry, &at, &e.raw)
			e.at = at.Int64
			return e, err
		})
	if err != nil || len(rows) == 0 {
		return err
	}
	if err := t.run("DELETE FROM inbox WHERE thread = ?", t.id); err != nil {
		return err
	}
	for i := range rows {
		rows[i].seq = t.seq + 1
		if err := t.place(rows[i].seq, rows[i].entry); err != nil {
			return err
		}
	}
	t.arrived = append(t.arrived, rows...)
	return nil
}

// apply changes what entries change beside the log.
func (t *turn) apply(entries []memory.Entry) error {
	f := memory.EffectsOf(t.thread, entries)
	t.base = max(t.base, f.Base)
	if f.Erase {
		if err := t.forget(f.Base); err != nil {
			return err
		}
	}
	for _, ref := range f.Refs {
		if !reachable(t.thread, ref) {
			continue
		}
		if err := t.know(t.id, ref); err != nil {
			return err
		}
	}
	for _, p := range f.Ask {
		if err := t.run("INSERT OR REPLACE INTO pending (thread, call, ref) VALUES (?, ?, ?)", t.id, p.Call, p.Ref.String()); err != nil {
			return err
		}
	}
	for _, call := range f.Settled {
		if err := t.run("DELETE FROM pending WHERE thread = ? AND call = ?", t.id, call); err != nil {
			return err
		}
	}
	return t.audit(t.thread.String(), f.Audit)
}

// forget erases what is before a place, and makes the messages known that are
// still there: those that came after the word to forget.
func (t *turn) forget(before uint64) error {
	if err := t.erase(t.id, before, t.now); err != nil {
		return err
	}
	t.erased = true
	left, err := all(t.writer, "SELECT l.seq, e.body FROM log l JOIN entry e ON e.id = l.entry WHERE l.thread = ? AND l.seq >= ? AND e.kind = 'message'",
		[]any{t.id, before}, func(r *sql.Rows) (e row, err error) { return e, r.Scan(&e.seq, &e.raw) })
	if err != nil {
		return err
	}
	for _, e := range entries(left) {
		if m, ok := e.Body.(memory.Message); ok && reachable(t.thread, m.Ref) {
			if err := t.know(t.id, m.Ref); err != nil {
				return err
			}
		}
	}
	return nil
}

// erase deletes the log before a place, but for what has to stay so that nothing
// happens twice, and everything beside the log.
func (w *writer) erase(thread int64, before uint64, now time.Time) error {
	for _, q := range []struct {
		query string
		args  []any
	}{
		{"DELETE FROM entry WHERE kind <> 'started' AND id IN (SELECT entry FROM log WHERE thread = ? AND seq < ?)", []any{thread, before}},
		{"DELETE FROM log WHERE thread = ? AND seq < ? AND entry NOT IN (SELECT id FROM entry)", []any{thread, before}},
		{"DELETE FROM pending WHERE thread = ?", []any{thread}},
		{"DELETE FROM ref WHERE thread = ?", []any{thread}},
		{"INSERT OR REPLACE INTO remains (thread, before, since) VALUES (?, ?, ?)", []any{thread, before, millis(now)}},
	} {
		if err := w.run(q.query, q.args...); err != nil {
			return err
		}
	}
	return w.eraseFiles(thread)
}

// eraseFiles deletes the files of a thread, but for those of messages that are still
// there.
func (w *writer) eraseFiles(thread int64) error {
	text := func(r *sql.Rows) (raw []byte, err error) { return raw, r.Scan(&raw) }
	names, err := all(w, "SELECT name FROM blob WHERE thread = ?", []any{thread}, text)
	if err != nil || len(names) == 0 {
		return err
	}
	left, err := all(w, `SELECT body FROM entry WHERE kind = 'message' AND id IN
		(SELECT entry FROM log WHERE thread = ?1 UNION ALL SELECT entry FROM inbox WHERE thread = ?1)`, []any{thread}, text)
	if err != nil {
		return err
	}
	for _, name := range names {
		if slices.ContainsFunc(left, func(raw []byte) bool { return bytes.Contains(raw, name) }) {
			continue
		}
		if err := w.run("DELETE FROM blob WHERE thread = ? AND name = ?", thread, string(name)); err != nil {
			return err
		}
	}
	return nil
}
