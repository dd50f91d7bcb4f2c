package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"nod/memory"
)

// watch wakes threads at their deadlines, until the store is closed.
func (s *Store) watch() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.closed:
			return
		case <-s.queue.tick:
		case <-timer.C:
			s.wakeDue()
		}
		s.arm(timer)
	}
}

// idle is the longest sleep of the timer. A clock that is set, or a machine that slept,
// brings deadlines closer.
const idle = time.Minute

func (s *Store) arm(timer *time.Timer) {
	wait := idle
	if due := s.queue.nextDue(); !due.IsZero() {
		wait = min(max(0, due.Sub(s.now())), idle)
	}
	timer.Reset(wait)
}

// woken is a thread to queue.
type woken struct{ name, platform string }

func scanWoken(r *sql.Rows) (t woken, err error) { return t, r.Scan(&t.name, &t.platform) }

// wakeDue queues the threads whose deadline has passed. It writes nothing: the claim
// adds the Due.
func (s *Store) wakeDue() {
	now := millis(s.now())
	s.queue.clearDue() // before the query, so that no new deadline is lost
	err := s.wakeAll(background, "SELECT name, platform FROM thread WHERE wake_at > 0 AND wake_at <= ? ORDER BY wake_at", now)
	if err == nil {
		err = s.noteDue(background, now)
	}
	if err != nil {
		s.log.Error("look for deadlines", "error", err)
		s.queue.noteDeadline(s.now().Add(time.Second))
	}
}

func (s *Store) wakeAll(ctx context.Context, query string, args ...any) error {
	threads, err := readAll(ctx, &s.reader, query, args, scanWoken)
	for _, t := range threads {
		s.queue.queueDue(t.platform, t.name)
	}
	return err
}

// noteDue notes the first deadline after a time.
func (s *Store) noteDue(ctx context.Context, after int64) error {
	var next int64
	_, err := s.readRow(ctx, "SELECT coalesce(min(wake_at), 0) FROM thread WHERE wake_at > ?", []any{max(after, 0)}, &next)
	s.queue.noteDeadline(fromMillis(next))
	return err
}

// rescan queues the threads that the file marks as woken. An earlier process may have
// acted on the entries in it; their numbers know no clock.
func (s *Store) rescan(ctx context.Context) error {
	var last int64
	if _, err := s.readRow(ctx, "SELECT coalesce(max(id), 0) FROM entry", nil, &last); err != nil {
		return err
	}
	s.given.Store(last)
	if err := s.wakeAll(ctx, "SELECT name, platform FROM thread WHERE woken > 0 ORDER BY woken"); err != nil {
		return err
	}
	return s.noteDue(ctx, 0)
}

// sweep deletes expired rows from time to time, in portions so that no writer waits for
// long.
func (s *Store) sweep() {
	tick := time.NewTicker(s.sweepEvery)
	defer tick.Stop()
	rubbish := part{do: s.sweepRubbish, text: true}
	s.clean() // a killed process may have left some
	for {
		parts := []part{rubbish}
		select {
		case <-s.closed:
			return
		case <-s.dirty:
		case <-tick.C:
			parts = []part{
				{do: s.sweepEvents},
				{do: s.sweepWaiting},
				{do: s.sweepCounters},
				{do: s.expire, text: true},
				{do: s.sweepRemains},
				rubbish,
			}
		}
		for _, p := range parts {
			if err := s.portions(p); errors.Is(err, memory.ErrFenced) {
				return
			} else if err != nil {
				s.log.Debug("sweep the store", "error", err) // the writer logs the reason
				break
			}
		}
	}
}

// clean wakes the sweep for rubbish.
func (s *Store) clean() { signal(s.dirty) }

// part is a part of the sweep. do deletes a portion and returns its size.
type part struct {
	do   func(*writer) int
	text bool // deleted text must become unreadable
}

// portion is the number of rows that one portion deletes.
const portion = 200

// portions repeats a part of the sweep until it finds nothing.
func (s *Store) portions(p part) error {
	for found := false; ; found = true {
		n := 0
		err := s.submit(background, &op{do: func(w *writer) { n = p.do(w) }, after: func() {
			if n == 0 && found && p.text {
				s.purge.request()
			}
		}})
		if err != nil || n == 0 {
			return err
		}
	}
}

func (s *Store) sweepEvents(w *writer) int {
	return int(w.exec("DELETE FROM event WHERE id IN (SELECT id FROM event WHERE at < ? LIMIT ?)", millis(s.now().Add(-memory.EventTTL)), portion))
}

func (s *Store) sweepCounters(w *writer) int {
	return int(w.exec("DELETE FROM counter WHERE name IN (SELECT name FROM counter WHERE until < ? LIMIT ?)", millis(s.now()), portion))
}

// sweepRubbish erases one file, which may be large.
func (s *Store) sweepRubbish(w *writer) int {
	var content int64
	if !w.queryRow("SELECT content FROM rubbish LIMIT 1", nil, &content) {
		return 0
	}
	w.exec("DELETE FROM content WHERE id = ?", content)
	return int(w.exec("DELETE FROM rubbish WHERE content = ?", content))
}

func (s *Store) sweepWaiting(w *writer) int {
	type early struct {
		ref   []byte
		entry int64
	}
	old := queryAll(w, "SELECT ref, entry FROM waiting WHERE at < ? LIMIT ?", []any{millis(s.now().Add(-memory.RefWait)), portion},
		func(r *sql.Rows) (e early, err error) { return e, r.Scan(&e.ref, &e.entry) })
	for _, e := range old {
		w.exec("DELETE FROM entry WHERE id = ?", e.entry)
		w.exec("DELETE FROM waiting WHERE ref = ? AND entry = ?", e.ref, e.entry)
	}
	return len(old)
}

// expire erases threads that nobody touched for long. A thread with a deadline stays,
// since people wait for its outcome. The rows stay for a while, so that nothing happens
// twice.
func (s *Store) expire(w *writer) (done int) {
	if s.keep <= 0 {
		return 0
	}
	type old struct {
		id   int64
		name string
		seq  uint64
	}
	threads := queryAll(w, "SELECT id, name, seq FROM thread WHERE gone = 0 AND touched < ? AND woken = 0 AND wake_at = 0 ORDER BY touched LIMIT ?",
		[]any{millis(s.now().Add(-s.keep)), portion}, func(r *sql.Rows) (t old, err error) { return t, r.Scan(&t.id, &t.name, &t.seq) })
	rows := uint64(0)
	for _, t := range threads {
		if rows > 10*portion { // roughly: erased rows count too
			break
		}
		w.erase(t.id, t.seq+1, s.now())
		w.exec("UPDATE thread SET base = seq + 1, gone = 1, wake_at = 0, last_ref = '', last_sent = 0 WHERE id = ?", t.id)
		w.auditErased(t.name, s.now())
		s.recent.Take(t.name) // a new thread of this name must not find it
		done, rows = done+1, rows+t.seq
	}
	return done
}

// sweepRemains deletes the rest of an erased log, once no event of it can come again.
// It deletes the thread's row too, if nothing came since; the floor continues its seq.
func (s *Store) sweepRemains(w *writer) int {
	type left struct {
		thread int64
		before uint64
	}
	threads := queryAll(w, "SELECT thread, before FROM remains WHERE since < ? ORDER BY since LIMIT ?",
		[]any{millis(s.now().Add(-s.keep - memory.EventTTL)), portion}, func(r *sql.Rows) (l left, err error) { return l, r.Scan(&l.thread, &l.before) })
	for _, t := range threads {
		w.exec("DELETE FROM entry WHERE id IN (SELECT entry FROM log WHERE thread = ? AND seq < ?)", t.thread, t.before)
		w.exec("DELETE FROM log WHERE thread = ? AND seq < ?", t.thread, t.before)
		w.exec("UPDATE number SET value = max(value, coalesce((SELECT seq FROM thread WHERE id = ? AND gone = 1), 0)) WHERE name = 'floor'", t.thread)
		w.exec("DELETE FROM thread WHERE id = ? AND gone = 1 AND woken = 0", t.thread)
		w.exec("DELETE FROM remains WHERE thread = ?", t.thread)
	}
	return len(threads)
}
