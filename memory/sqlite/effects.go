package sqlite

import (
	"database/sql"
	"encoding/json"
	"time"

	"nod/chat"
	"nod/memory"
)

// apply changes what entries change beside the log.
func (w *writer) apply(h *held, f memory.Effects) error {
	if err := w.rebase(h, f); err != nil {
		return err
	}
	for _, ref := range f.Refs {
		if err := w.know(h.id, ref); err != nil {
			return err
		}
	}
	for _, p := range f.Ask {
		if err := w.run("INSERT OR REPLACE INTO pending (thread, call, ref) VALUES (?, ?, ?)", h.id, p.Call, p.Ref.String()); err != nil {
			return err
		}
	}
	for _, call := range f.Settled {
		if err := w.run("DELETE FROM pending WHERE thread = ? AND call = ?", h.id, call); err != nil {
			return err
		}
	}
	for _, line := range f.Audit {
		if err := w.audit(line); err != nil {
			return err
		}
	}
	if !f.Last.Last.IsZero() {
		if err := w.run("UPDATE thread SET last_ref = ?, last_sent = ? WHERE id = ? AND last_sent <= ?2", f.Last.Last.String(), f.Last.Sent.UnixMicro(), h.id); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) audit(line memory.AuditLine) error {
	raw, err := json.Marshal(line)
	if err != nil {
		return err
	}
	return w.run("INSERT INTO audit (thread, line) VALUES (?, ?)", line.Thread.String(), raw)
}

// know makes a message name a thread, and lets in what waited for that.
func (w *writer) know(id int64, ref chat.MessageRef) error {
	name := ref.String()
	if err := w.run("INSERT OR IGNORE INTO ref (ref, thread) VALUES (?, ?)", name, id); err != nil {
		return err
	}
	var waiting bool
	if _, err := w.one("SELECT EXISTS (SELECT 1 FROM waiting WHERE ref = ?)", []any{name}, &waiting); err != nil || !waiting {
		return err
	}
	err := w.run("INSERT INTO inbox (thread, at, kind, body) SELECT ?, at, kind, body FROM waiting WHERE ref = ? ORDER BY id", id, name)
	if err != nil {
		return err
	}
	return w.run("DELETE FROM waiting WHERE ref = ?", name)
}

// rebase moves the place from which the log is loaded, and erases what is
// before it when it was forgotten.
func (w *writer) rebase(h *held, f memory.Effects) error {
	if f.Base == 0 {
		return nil
	}
	if err := w.run("UPDATE thread SET base = max(base, ?) WHERE id = ?", f.Base, h.id); err != nil {
		return err
	}
	if !f.Erase {
		return nil
	}
	if err := w.erase(h.id, f.Base); err != nil {
		return err
	}
	return w.knowAgain(h.id)
}

// knowAgain makes the messages known that an erased thread still holds: those
// that came after the word to forget.
func (w *writer) knowAgain(id int64) error {
	var left []row
	err := w.each("SELECT seq, at, kind, body FROM log WHERE thread = ? AND kind = ?", []any{id, memory.Message{}.Kind()}, func(r *sql.Rows) error {
		var e row
		defer func() { left = append(left, e) }()
		return r.Scan(&e.seq, &e.at, &e.kind, &e.raw)
	})
	if err != nil {
		return err
	}
	for _, r := range left {
		e, err := r.entry()
		if err != nil {
			return err
		}
		if m, ok := e.Body.(memory.Message); ok && !m.Ref.IsZero() {
			if err := w.know(id, m.Ref); err != nil {
				return err
			}
		}
	}
	return nil
}

// erase deletes the log before a place, but for what has to stay so that
// nothing happens twice.
func (w *writer) erase(id int64, before uint64) error {
	if err := w.run("DELETE FROM log WHERE thread = ? AND seq < ? AND kind <> 'started'", id, before); err != nil {
		return err
	}
	for _, q := range []string{
		"DELETE FROM blob WHERE thread = ?", "DELETE FROM pending WHERE thread = ?", "DELETE FROM ref WHERE thread = ?",
	} {
		if err := w.run(q, id); err != nil {
			return err
		}
	}
	return nil
}

// tend wakes threads whose deadline passed and, now and then, deletes what has
// had its time, until the store is closed.
func (s *Store) tend() {
	sweep := time.NewTicker(s.sweepEvery)
	defer sweep.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.closed:
			return
		case <-s.queue.tick:
		case <-timer.C:
			s.wakeDue()
		case <-sweep.C:
			if err := s.do(background, func(w *writer) error { return w.sweep(s.now(), s.keep) }); err != nil {
				s.log.Error("sweep the store", "error", err)
			}
		}
		s.arm(timer)
	}
}

// idle is how long the timer sleeps when there is no deadline.
const idle = time.Hour

func (s *Store) arm(timer *time.Timer) {
	wait := idle
	if due := s.queue.nextDue(); !due.IsZero() {
		wait = max(0, due.Sub(s.now()))
	}
	timer.Reset(wait)
}

type woken struct {
	id       int64
	platform string
}

// wakeDue wakes the threads whose deadline has passed.
func (s *Store) wakeDue() {
	var ids []woken
	var next int64
	now := millis(s.now())
	err := s.submit(background, &op{do: func(w *writer) error {
		err := w.each("SELECT id, platform FROM thread WHERE wake_at > 0 AND wake_at <= ?", []any{now}, func(r *sql.Rows) error {
			var t woken
			defer func() { ids = append(ids, t) }()
			return r.Scan(&t.id, &t.platform)
		})
		if err != nil {
			return err
		}
		if err := w.run("UPDATE thread SET woken = ?1 WHERE wake_at > 0 AND wake_at <= ?1 AND woken = 0", now); err != nil {
			return err
		}
		_, err = w.one("SELECT coalesce(min(wake_at), 0) FROM thread WHERE wake_at > ?", []any{now}, &next)
		return err
	}, after: func() {
		s.queue.setDue(fromMillis(next))
		for _, t := range ids {
			s.queue.wake(t.platform, t.id)
		}
	}})
	if err != nil {
		s.log.Error("wake threads that are due", "error", err)
		s.queue.setDue(s.now().Add(time.Second))
	}
}

// sweep deletes what has had its time.
func (w *writer) sweep(now time.Time, keep time.Duration) error {
	if err := w.run("DELETE FROM event WHERE at < ?", millis(now.Add(-memory.EventTTL))); err != nil {
		return err
	}
	if err := w.run("DELETE FROM waiting WHERE at < ?", millis(now.Add(-memory.RefWait))); err != nil {
		return err
	}
	if err := w.run("DELETE FROM counter WHERE until < ?", millis(now)); err != nil {
		return err
	}
	if keep <= 0 {
		return nil
	}
	return w.expire(now.Add(-keep))
}

// expire erases the threads that nobody touched since then. Their rows stay,
// for the sake of seq.
func (w *writer) expire(since time.Time) error {
	var ids []int64
	err := w.each("SELECT id FROM thread WHERE touched < ? AND woken = 0 AND seq >= base", []any{millis(since)}, func(r *sql.Rows) error {
		var id int64
		defer func() { ids = append(ids, id) }()
		return r.Scan(&id)
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := w.erase(id, 1<<62); err != nil {
			return err
		}
		if err := w.run("UPDATE thread SET base = seq + 1, wake_at = 0, last_ref = '', last_sent = 0 WHERE id = ?", id); err != nil {
			return err
		}
	}
	return nil
}
