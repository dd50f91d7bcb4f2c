package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"nod/chat"
	"nod/memory"
	"nod/memory/recent"
)

// Put implements memory.Store.
func (s *Store) Put(ctx context.Context, thread chat.ThreadID, body memory.Body, eventIDs ...string) (bool, error) {
	raw, err := memory.Encode(body)
	if err != nil {
		return false, err
	}
	at := s.now()
	var id int64
	var fresh bool
	o := &op{do: func(w *writer) (err error) {
		if fresh, err = w.unknown(eventIDs, at); err != nil || !fresh {
			return err
		}
		if id, err = w.thread(thread, at); err != nil {
			return err
		}
		return w.put(id, at, body.Kind(), raw)
	}, after: func() {
		if fresh {
			s.queue.wake(thread.Platform, id)
		}
	}}
	if err := s.submit(ctx, o); err != nil {
		return false, fmt.Errorf("put %s: %w", body.Kind(), err)
	}
	return fresh, nil
}

// PutRef implements memory.Store.
func (s *Store) PutRef(ctx context.Context, ref chat.MessageRef, body memory.Body, eventIDs ...string) (bool, error) {
	raw, err := memory.Encode(body)
	if err != nil {
		return false, err
	}
	at := s.now()
	var id int64
	var fresh bool
	o := &op{do: func(w *writer) (err error) {
		if fresh, err = w.unknown(eventIDs, at); err != nil || !fresh {
			return err
		}
		known, err := w.one("SELECT thread FROM ref WHERE ref = ?", []any{ref.String()}, &id)
		if err != nil {
			return err
		}
		if known {
			return w.put(id, at, body.Kind(), raw)
		}
		return w.run("INSERT INTO waiting (ref, at, kind, body) VALUES (?, ?, ?, ?)", ref.String(), millis(at), body.Kind(), raw)
	}, after: func() {
		if id != 0 {
			s.queue.wake(ref.Platform, id)
		}
	}}
	if err := s.submit(ctx, o); err != nil {
		return false, fmt.Errorf("put %s: %w", body.Kind(), err)
	}
	return fresh, nil
}

// unknown says whether none of the event ids is known, and then knows them.
func (w *writer) unknown(ids []string, at time.Time) (bool, error) {
	for _, id := range ids {
		var one int
		known, err := w.one("SELECT 1 FROM event WHERE id = ?", []any{id}, &one)
		if known || err != nil {
			return false, err
		}
	}
	for _, id := range ids {
		if err := w.run("INSERT OR IGNORE INTO event (id, at) VALUES (?, ?)", id, millis(at)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// thread finds or makes the row of a thread.
func (w *writer) thread(t chat.ThreadID, at time.Time) (id int64, err error) {
	_, err = w.one(`INSERT INTO thread (name, platform, touched) VALUES (?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET touched = excluded.touched RETURNING id`,
		[]any{t.String(), t.Platform, millis(at)}, &id)
	return id, err
}

// put adds to the inbox and wakes.
func (w *writer) put(id int64, at time.Time, kind string, raw []byte) error {
	if err := w.run("INSERT INTO inbox (thread, at, kind, body) VALUES (?, ?, ?, ?)", id, millis(at), kind, raw); err != nil {
		return err
	}
	return w.run("UPDATE thread SET woken = ? WHERE id = ? AND woken = 0", millis(at), id)
}

// row is an entry as it lies in the file.
type row struct {
	seq  uint64
	at   int64
	kind string
	raw  []byte
}

func (r row) entry() (memory.Entry, error) {
	b, err := memory.Decode(r.raw)
	return memory.Entry{Seq: r.seq, At: fromMillis(r.at), Body: b}, err
}

func entries(rows []row) ([]memory.Entry, error) {
	out := make([]memory.Entry, 0, len(rows))
	for _, r := range rows {
		e, err := r.entry()
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// claimed is what a claim reads.
type claimed struct {
	name  string
	known []memory.Entry // what need not be read
	rows  []row
	first uint64 // of what came from the inbox
	woken int64
	ok    bool
}

// Next implements memory.Store.
func (s *Store) Next(ctx context.Context, platforms ...string) (*memory.Run, error) {
	for {
		h, err := s.queue.take(ctx, platforms)
		if err != nil {
			return nil, err
		}
		var c claimed
		now := s.now()
		err = s.submit(ctx, &op{early: true, do: func(w *writer) (err error) {
			c, err = w.claim(h, now, s.recent)
			return err
		}})
		if err != nil {
			s.queue.release(h)
			s.queue.wake(h.platform, h.id)
			return nil, fmt.Errorf("claim a thread: %w", err)
		}
		if !c.ok {
			s.queue.release(h)
			continue
		}
		run, err := s.run(h, c, now)
		if err != nil {
			s.queue.release(h)
			return nil, err
		}
		return run, nil
	}
}

func (s *Store) run(h *held, c claimed, now time.Time) (*memory.Run, error) {
	thread, err := chat.ParseThreadID(c.name)
	if err != nil {
		return nil, fmt.Errorf("claim thread %s: %w", c.name, err)
	}
	log, err := entries(c.rows)
	if err != nil {
		return nil, fmt.Errorf("claim thread %s: %w", c.name, err)
	}
	return &memory.Run{
		Thread: thread, Token: h.token, Log: append(c.known, log...), Claimed: c.first,
		Waited: now.Sub(fromMillis(c.woken)), Mail: h.mail, Lost: h.lost, Held: h,
	}, nil
}

// claim moves the inbox of a woken thread to its log and reads the log.
func (w *writer) claim(h *held, now time.Time, logs *recent.Logs) (c claimed, err error) {
	var base uint64
	var wakeAt int64
	found, err := w.one("SELECT name, seq, base, woken, wake_at FROM thread WHERE id = ?", []any{h.id},
		&c.name, &h.seq, &base, &c.woken, &wakeAt)
	if err != nil || !found || c.woken == 0 {
		return c, err
	}
	// What is remembered may hold more than the file, after a commit that failed.
	if _, known := logs.Take(c.name); memory.LastSeq(known) == h.seq {
		c.known, base = memory.Since(known, base), h.seq+1
	}
	err = w.each("SELECT seq, at, kind, body FROM log WHERE thread = ? AND seq >= ? ORDER BY seq", []any{h.id, base}, func(r *sql.Rows) error {
		var e row
		defer func() { c.rows = append(c.rows, e) }()
		return r.Scan(&e.seq, &e.at, &e.kind, &e.raw)
	})
	if err != nil {
		return c, err
	}
	c.first = h.seq + 1
	moved, err := w.move(h)
	if err != nil {
		return c, err
	}
	if wakeAt > 0 && wakeAt <= millis(now) {
		due, err := w.due(h, now)
		if err != nil {
			return c, err
		}
		moved = append(moved, due)
	}
	c.rows, c.ok = append(c.rows, moved...), true
	return c, nil
}

// due turns a deadline that has passed into an entry.
func (w *writer) due(h *held, now time.Time) (row, error) {
	raw, err := memory.Encode(memory.Due{})
	if err != nil {
		return row{}, err
	}
	h.seq++
	r := row{seq: h.seq, at: millis(now), kind: memory.Due{}.Kind(), raw: raw}
	if err := w.append(h.id, r); err != nil {
		return r, err
	}
	return r, w.run("UPDATE thread SET seq = ?, wake_at = 0 WHERE id = ?", h.seq, h.id)
}

func (w *writer) append(id int64, r row) error {
	return w.run("INSERT INTO log (thread, seq, at, kind, body) VALUES (?, ?, ?, ?, ?)", id, r.seq, r.at, r.kind, r.raw)
}

// move takes the inbox into the log. Messages make themselves known by it, and
// so let in the reactions that waited for them; it goes on until all is in.
func (w *writer) move(h *held) ([]row, error) {
	var moved []row
	for {
		var batch []row
		err := w.each("SELECT at, kind, body FROM inbox WHERE thread = ? ORDER BY id", []any{h.id}, func(r *sql.Rows) error {
			h.seq++
			e := row{seq: h.seq}
			defer func() { batch = append(batch, e) }()
			return r.Scan(&e.at, &e.kind, &e.raw)
		})
		if err != nil || len(batch) == 0 {
			return moved, err
		}
		if err := w.take(h, batch); err != nil {
			return nil, err
		}
		moved = append(moved, batch...)
	}
}

func (w *writer) take(h *held, batch []row) error {
	if err := w.run("DELETE FROM inbox WHERE thread = ?", h.id); err != nil {
		return err
	}
	for _, r := range batch {
		if err := w.append(h.id, r); err != nil {
			return err
		}
	}
	if err := w.run("UPDATE thread SET seq = ? WHERE id = ?", h.seq, h.id); err != nil {
		return err
	}
	return w.takeEffects(h, batch)
}

// takeEffects applies what the arrival of messages changes beside the log.
func (w *writer) takeEffects(h *held, batch []row) error {
	for _, r := range batch {
		if r.kind != (memory.Message{}).Kind() {
			continue
		}
		e, err := r.entry()
		if err != nil {
			return err
		}
		if err := w.apply(h, memory.EffectsOf(chat.ThreadID{}, []memory.Entry{e})); err != nil {
			return err
		}
	}
	return nil
}

// Commit implements memory.Store.
func (s *Store) Commit(ctx context.Context, run *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	h := of(run)
	now := s.now()
	rows, err := encode(bodies, now)
	if err != nil {
		return nil, err
	}
	var moved []row
	var own []memory.Entry
	fenced, erased := false, false
	o := &op{do: func(w *writer) (err error) {
		if fenced = !s.queue.holds(h); fenced {
			return nil
		}
		own = number(rows, bodies, h)
		for _, r := range rows {
			if err := w.append(h.id, r); err != nil {
				return err
			}
		}
		if err := w.run("UPDATE thread SET seq = ?, touched = ? WHERE id = ?", h.seq, millis(now), h.id); err != nil {
			return err
		}
		f := memory.EffectsOf(run.Thread, own)
		erased = f.Erase
		if err := w.apply(h, f); err != nil {
			return err
		}
		moved, err = w.move(h)
		return err
	}, after: func() {
		if erased {
			s.purge()
		}
	}}
	if err := s.submit(ctx, o); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	if fenced {
		return nil, memory.ErrFenced
	}
	arrived, err := entries(moved)
	if err != nil {
		return nil, err
	}
	run.Log = append(append(run.Log, own...), arrived...)
	return arrived, nil
}

// purge empties the write-ahead log, which still holds what was erased.
func (s *Store) purge() {
	if err := s.w.run("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		s.log.Warn("empty the write-ahead log", "error", err)
	}
}

func encode(bodies []memory.Body, now time.Time) ([]row, error) {
	rows := make([]row, len(bodies))
	for i, b := range bodies {
		raw, err := memory.Encode(b)
		if err != nil {
			return nil, err
		}
		rows[i] = row{at: millis(now), kind: b.Kind(), raw: raw}
	}
	return rows, nil
}

// number gives the rows their place in the log.
func number(rows []row, bodies []memory.Body, h *held) []memory.Entry {
	own := make([]memory.Entry, len(rows))
	for i := range rows {
		h.seq++
		rows[i].seq = h.seq
		own[i] = memory.Entry{Seq: h.seq, At: fromMillis(rows[i].at), Body: bodies[i]}
	}
	return own
}

// Finish implements memory.Store.
func (s *Store) Finish(ctx context.Context, run *memory.Run, wakeAt time.Time) (bool, error) {
	h := of(run)
	fenced, more := false, false
	o := &op{early: true, do: func(w *writer) (err error) {
		if fenced = !s.queue.holds(h); fenced {
			return nil
		}
		var one int
		if more, err = w.one("SELECT 1 FROM inbox WHERE thread = ? LIMIT 1", []any{h.id}, &one); more || err != nil {
			return err
		}
		if err := w.run("UPDATE thread SET woken = 0, wake_at = ? WHERE id = ?", millis(wakeAt), h.id); err != nil {
			return err
		}
		s.recent.Put(run.Thread.String(), h.token, run.Log)
		s.queue.release(h)
		return nil
	}, after: func() { s.queue.deadline(wakeAt) }}
	if err := s.submit(ctx, o); err != nil {
		return false, fmt.Errorf("finish: %w", err)
	}
	if fenced {
		return false, memory.ErrFenced
	}
	return more, nil
}

// Handoff implements memory.Store. The thread is woken still, in the file, and
// goes to the end of the queue.
func (s *Store) Handoff(_ context.Context, run *memory.Run) error {
	h := of(run)
	if !s.queue.holds(h) {
		return memory.ErrFenced
	}
	s.queue.release(h)
	s.queue.wake(run.Thread.Platform, h.id)
	return nil
}
