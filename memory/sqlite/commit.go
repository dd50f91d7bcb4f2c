package sqlite

import (
	"bytes"
	"database/sql"
	"slices"
	"time"

	"nod/chat"
	"nod/memory"
)

// turn is the change of one thread in one transaction.
type turn struct {
	*writer
	thread chat.ThreadID
	id     int64
	now    time.Time

	seq      uint64 // of the last entry now
	base     uint64 // the log's new beginning; 0: unchanged
	arrived  []row
	erased   bool
	released bool
}

// commit moves the inbox that the run has seen into the log, appends the run's own
// entries, and then moves newer inbox entries.
func (t *turn) commit(h *held, own []row) {
	t.moveSeen(h)
	for _, r := range own {
		t.appendLog(r.seq, t.insertEntry(&letter{at: r.at, kind: r.kind, raw: r.raw}))
	}
	t.apply(append(entries(h.seen), entries(own)...))
	for t.moveNew() { // a message that becomes known lets in the entries that waited for it
	}
	if t.seq == h.seq && t.base == 0 {
		return
	}
	t.exec(`UPDATE thread SET seq = ?2, base = max(base, ?3), touched = ?4, gone = 0, woken = CASE woken WHEN 0 THEN ?5 ELSE woken END,
		wake_at = CASE WHEN ?6 THEN 0 ELSE wake_at END WHERE id = ?1`, t.id, t.seq, t.base, millis(t.now), h.woken, h.sawDue())
}

// release ends the claim.
func (t *turn) release(wakeAt time.Time) {
	t.released = true
	t.exec("UPDATE thread SET woken = 0, wake_at = ?2 WHERE id = ?1", t.id, millis(wakeAt))
}

// sawDue says whether the run was given a Due.
func (h *held) sawDue() bool {
	return len(h.seen) > 0 && h.seen[len(h.seen)-1].entry == 0
}

// moveSeen checks that the log is the one that the run has seen, and appends the inbox
// entries that the run was given.
func (t *turn) moveSeen(h *held) {
	if !t.queryRow("SELECT seq FROM thread WHERE id = ?", []any{t.id}, &t.seq) || t.seq != h.seq {
		t.fail(memory.ErrFenced)
	}
	if h.n > 0 {
		moved := t.exec("DELETE FROM inbox WHERE thread = ? AND n <= ?", t.id, h.n)
		if want := len(h.seen); h.sawDue() && moved != int64(want-1) || !h.sawDue() && moved != int64(want) {
			t.fail(memory.ErrFenced)
		}
	}
	for _, r := range h.seen {
		if r.entry == 0 {
			r.entry = t.insertEntry(&letter{at: r.at, kind: r.kind, raw: r.raw})
		}
		t.appendLog(r.seq, r.entry)
	}
}

func (t *turn) appendLog(seq uint64, entry int64) {
	t.seq = seq
	t.exec("INSERT INTO log (thread, seq, entry) VALUES (?, ?, ?)", t.id, seq, entry)
}

// moveNew moves the inbox into the log, and says whether there was anything in it.
func (t *turn) moveNew() bool {
	rows := queryAll(t.writer, "SELECT i.n, i.entry, e.at, e.body FROM inbox i LEFT JOIN entry e ON e.id = i.entry WHERE i.thread = ? ORDER BY i.n",
		[]any{t.id}, func(r *sql.Rows) (e row, err error) {
			var at sql.NullInt64
			err = r.Scan(&e.seq, &e.entry, &at, &e.raw)
			e.at = at.Int64
			return e, err
		})
	if len(rows) == 0 {
		return false
	}
	t.exec("DELETE FROM inbox WHERE thread = ?", t.id)
	for i := range rows {
		rows[i].seq = t.seq + 1
		t.appendLog(rows[i].seq, rows[i].entry)
	}
	t.arrived = append(t.arrived, rows...)
	t.apply(entries(rows))
	return true
}

// apply applies the effects of entries.
func (t *turn) apply(entries []memory.Entry) {
	f := memory.EffectsOf(t.thread, entries)
	t.base = max(t.base, f.Base)
	if f.Erase {
		t.forget(f.Base)
	}
	for _, ref := range f.Refs {
		t.indexMessage(t.id, ref)
	}
	for _, p := range f.Ask {
		t.exec("INSERT OR REPLACE INTO pending (thread, call, ref) VALUES (?, ?, ?)", t.id, p.Call, p.Ref.String())
	}
	for _, call := range f.Settled {
		t.exec("DELETE FROM pending WHERE thread = ? AND call = ?", t.id, call)
	}
	t.audit(f.Audit)
}

// forget erases entries before a Seq. Messages after the word to forget stay known.
func (t *turn) forget(before uint64) {
	t.erase(t.id, before, t.now)
	t.erased = true
	left := queryAll(t.writer, "SELECT l.seq, e.body FROM log l JOIN entry e ON e.id = l.entry WHERE l.thread = ? AND l.seq >= ? AND e.kind = 'message'",
		[]any{t.id, before}, func(r *sql.Rows) (e row, err error) { return e, r.Scan(&e.seq, &e.raw) })
	for _, ref := range memory.EffectsOf(t.thread, entries(left)).Refs {
		t.indexMessage(t.id, ref)
	}
}

// erase deletes the log before a Seq, and everything beside the log. Started entries
// stay, so that no side effect runs twice.
func (w *writer) erase(thread int64, before uint64, now time.Time) {
	w.exec("DELETE FROM entry WHERE kind <> 'started' AND id IN (SELECT entry FROM log WHERE thread = ? AND seq < ?)", thread, before)
	w.exec("DELETE FROM log WHERE thread = ? AND seq < ? AND entry NOT IN (SELECT id FROM entry)", thread, before)
	w.exec("DELETE FROM pending WHERE thread = ?", thread)
	w.exec("DELETE FROM ref WHERE thread = ?", thread)
	w.exec("INSERT OR REPLACE INTO remains (thread, before, since) VALUES (?, ?, ?)", thread, before, millis(now))
	w.eraseFiles(thread)
}

// eraseFiles deletes a thread's files, except those that a kept message names.
func (w *writer) eraseFiles(thread int64) {
	text := func(r *sql.Rows) (raw []byte, err error) { return raw, r.Scan(&raw) }
	names := queryAll(w, "SELECT name FROM blob WHERE thread = ?", []any{thread}, text)
	if len(names) == 0 {
		return
	}
	left := queryAll(w, `SELECT body FROM entry WHERE kind = 'message' AND id IN
		(SELECT entry FROM log WHERE thread = ?1 UNION ALL SELECT entry FROM inbox WHERE thread = ?1)`, []any{thread}, text)
	for _, name := range names {
		if !slices.ContainsFunc(left, func(raw []byte) bool { return bytes.Contains(raw, name) }) {
			w.exec("DELETE FROM blob WHERE thread = ? AND name = ?", thread, string(name))
		}
	}
}
