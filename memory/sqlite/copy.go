package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// Portable opens the file to copy it, or to copy another store into it. Nothing expires
// meanwhile.
func Portable(ctx context.Context, path string) (memory.Portable, error) {
	s, err := open(ctx, path, Options{Wait: time.Second})
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	s.done.Go(s.runWriter)
	return s, nil
}

// Running implements memory.Portable. The lock keeps other processes away.
func (s *Store) Running(context.Context) (bool, error) { return false, nil }

// The queries of records give: a number to go on from, the fields of a Record.
const (
	fileRecords  = `SELECT b.content, t.name || ' ' || b.name, 0, 0, NULL, NULL FROM blob b JOIN thread t ON t.id = b.thread WHERE b.content > ? ORDER BY b.content`
	auditRecords = `SELECT id, thread, id, 0, line, text FROM audit WHERE id > ? ORDER BY id`
)

// atOnce are the tables that are read at once.
var atOnce = [...]struct{ kind, query string }{
	{memory.RecordEvent, `SELECT 1, '', 0, at, id, NULL FROM event ORDER BY id`},
	{memory.RecordPerson, `SELECT 1, id, 0, 0, key, NULL FROM person ORDER BY id`}, // pseudonyms come before what names them
	{memory.RecordHead, `SELECT 1, thread, 0, 0, seq || ' ' || hash, NULL FROM chain ORDER BY thread`},
	{memory.RecordCounter, `SELECT 1, name, value, until, NULL, NULL FROM counter ORDER BY name`},
	{memory.RecordNote, `SELECT 1, name, 0, 0, value, NULL FROM note ORDER BY name`},
	{memory.RecordFloor, `SELECT 1, '', value, 0, NULL, NULL FROM number WHERE name = 'floor'`},
}

func scanRecord(kind string) func(*sql.Rows) (int64, memory.Record, error) {
	return func(rows *sql.Rows) (id int64, r memory.Record, err error) {
		r.Kind = kind
		err = rows.Scan(&id, &r.Key, &r.N, &r.Until, &r.Value, &r.Text)
		return id, r, err
	}
}

// Records implements memory.Portable.
func (s *Store) Records(ctx context.Context) iter.Seq2[memory.Record, error] {
	return func(yield func(memory.Record, error) bool) {
		channels := map[string]chat.ThreadID{} // by digest
		send := func(r memory.Record, err error) bool {
			return yield(r, memory.Doing("read records", err)) && err == nil
		}
		for r, err := range pages(ctx, &s.reader, threadStates, nil, scanState) {
			if err == nil {
				err = s.threadRecord(ctx, r, channels)
			}
			if !send(r, err) {
				return
			}
		}
		for r, err := range pages(ctx, &s.reader, fileRecords, nil, scanRecord(memory.RecordFile)) {
			if err == nil {
				r, err = s.fileRecord(ctx, r)
			}
			if !send(r, err) {
				return
			}
		}
		for _, q := range atOnce {
			records, err := readAll(ctx, &s.reader, q.query, nil, func(rows *sql.Rows) (memory.Record, error) {
				_, r, err := scanRecord(q.kind)(rows)
				return r, err
			})
			if err != nil {
				send(memory.Record{}, err)
				return
			}
			for _, r := range records {
				if r.Kind == memory.RecordEvent && !eventRecord(&r, channels) {
					continue
				}
				if !send(r, nil) {
					return
				}
			}
		}
		for r, err := range pages(ctx, &s.reader, auditRecords, nil, scanRecord(memory.RecordAudit)) {
			if !send(r, err) {
				return
			}
		}
	}
}

const threadStates = "SELECT id, name, gone, last_ref, last_sent FROM thread WHERE id > ? ORDER BY id"

func scanState(rows *sql.Rows) (id int64, r memory.Record, err error) {
	r.Kind, r.State = memory.RecordThread, &memory.ThreadState{}
	return id, r, rows.Scan(&id, &r.Thread, &r.State.Gone, &r.State.LastRef, &r.State.LastSent)
}

// threadRecord fills the record of a thread, and notes its channel.
func (s *Store) threadRecord(ctx context.Context, r memory.Record, channels map[string]chat.ThreadID) error {
	thread, err := chat.ParseThreadID(r.Thread)
	if err != nil {
		return err
	}
	channels[string(key(thread.Platform, thread.Channel, ""))] = thread
	t := r.State
	l, err := s.load(ctx, r.Thread, 0, false)
	if t.Gone || err != nil {
		*t = memory.ThreadState{Seq: l.seq, Gone: t.Gone}
		return err
	}
	t.Seq, t.Base, t.Woken, t.WakeAt, t.Touched = l.seq, l.base, l.woken, l.wakeAt, l.touched
	t.Log, t.Inbox = stored(l.log), stored(l.inbox)
	type ask struct{ call, ref string }
	asks, err := readAll(ctx, &s.reader, "SELECT call, ref FROM pending WHERE thread = ?", []any{l.id},
		func(r *sql.Rows) (a ask, err error) { return a, r.Scan(&a.call, &a.ref) })
	t.Pending = map[string]string{}
	for _, a := range asks {
		t.Pending[a.call] = a.ref
	}
	return err
}

func stored(rows []row) (out []memory.StoredEntry) {
	for _, r := range rows {
		if r.raw != nil { // else it is lost
			out = append(out, memory.StoredEntry{N: r.seq, At: r.at, Raw: r.raw})
		}
	}
	return out
}

func (s *Store) fileRecord(ctx context.Context, r memory.Record) (memory.Record, error) {
	i := strings.LastIndexByte(r.Key, ' ')
	r.Thread, r.Key = r.Key[:i], r.Key[i+1:]
	thread, err := chat.ParseThreadID(r.Thread)
	if err == nil {
		r.Value, err = s.Blob(ctx, thread, r.Key)
	}
	return r, err
}

// eventRecord leaves out the id of a channel without a thread: nothing came of it.
func eventRecord(r *memory.Record, channels map[string]chat.ThreadID) (ok bool) {
	const digest = 8
	t, ok := channels[string(r.Value[:digest])]
	channel := chat.ThreadID{Platform: t.Platform, Channel: t.Channel}.String()
	r.Key, r.Until, r.Value = channel+" "+string(r.Value[digest:]), r.Until+memory.EventTTL.Milliseconds(), nil
	return ok
}

// Restore implements memory.Portable.
func (s *Store) Restore(ctx context.Context, records []memory.Record) error {
	return s.do(ctx, "restore", func(w *writer) {
		for _, r := range records {
			if w.restore(r, s.now()); w.err != nil {
				w.err = fmt.Errorf("%s of %q: %w", r.Kind, r.Thread, w.err)
				return
			}
		}
	})
}

func (w *writer) restore(r memory.Record, now time.Time) {
	switch r.Kind {
	case memory.RecordThread:
		w.restoreThread(r.Thread, r.State, now)
	case memory.RecordFile:
		if id, ok := w.restored(r.Thread); ok && !w.hasFile(id, r.Key) {
			w.keepFile(id, r.Key, r.Value)
		}
	case memory.RecordEvent:
		channel, id, _ := strings.Cut(r.Key, " ")
		t, err := chat.ParseThreadID(channel)
		w.fail(err)
		w.exec("INSERT OR REPLACE INTO event (id, at) VALUES (?, ?)", key(t.Platform, t.Channel, id), r.Until-memory.EventTTL.Milliseconds())
	case memory.RecordHead:
		head, err := memory.ParseHead(string(r.Value))
		w.fail(err)
		w.exec("INSERT OR REPLACE INTO chain (thread, seq, hash) VALUES (?, ?, ?)", r.Key, head.Seq, head.Hash)
	case memory.RecordAudit:
		w.exec("INSERT OR REPLACE INTO audit (id, thread, line, text) VALUES (?, ?, ?, ?)", r.N, r.Key, r.Value, r.Text)
	case memory.RecordPerson:
		w.exec("INSERT OR REPLACE INTO person (id, key) VALUES (?, ?)", r.Key, r.Value)
	case memory.RecordCounter:
		w.exec("INSERT OR REPLACE INTO counter (name, value, until) VALUES (?, ?, ?)", r.Key, r.N, r.Until)
	case memory.RecordNote:
		w.note(r.Key, r.Value)
	case memory.RecordFloor:
		w.exec("UPDATE number SET value = max(value, ?) WHERE name = 'floor'", r.N)
	default:
		w.fail(fmt.Errorf("this build does not know records of kind %q", r.Kind))
	}
}

// restored finds the row of a thread.
func (w *writer) restored(name string) (id int64, ok bool) {
	ok = w.queryRow("SELECT id FROM thread WHERE name = ?", []any{name}, &id)
	return id, ok
}

func (w *writer) restoreThread(name string, t *memory.ThreadState, now time.Time) {
	thread, err := chat.ParseThreadID(name)
	w.fail(err)
	if old, ok := w.restored(name); ok {
		for _, table := range []string{"log", "inbox"} {
			w.exec("DELETE FROM entry WHERE id IN (SELECT entry FROM "+table+" WHERE thread = ?)", old)
		}
		for _, table := range []string{"log", "inbox", "pending", "ref", "remains"} {
			w.exec("DELETE FROM "+table+" WHERE thread = ?", old)
		}
		w.exec("DELETE FROM thread WHERE id = ?", old)
	}
	id := w.insert(`INSERT INTO thread (name, platform, seq, base, woken, wake_at, touched, gone, last_ref, last_sent)
		VALUES (?1, ?2, ?3, max(?4, ?8 * ?11), ?5, ?6, ?7, ?8, ?9, ?10)`,
		name, thread.Platform, t.Seq, t.Base, t.Woken, t.WakeAt, t.Touched, t.Gone, t.LastRef, t.LastSent, t.First())
	// If the log has gaps, the rest of an erased part stays for a while.
	w.exec("INSERT INTO remains (thread, before, since) SELECT ?1, ?2, ?3 WHERE ?2 > 1", id, t.First(), millis(now))
	restore := func(query string, entries []memory.StoredEntry) {
		for _, e := range entries {
			w.exec(query, id, e.N, w.insertEntry(&letter{at: e.At, kind: memory.Decode(e.Raw).Kind(), raw: e.Raw}))
		}
	}
	restore("INSERT INTO log (thread, seq, entry) VALUES (?, ?, ?)", t.Log)
	restore("INSERT INTO inbox (thread, n, entry) VALUES (?, ?, ?)", t.Inbox)
	for call, ref := range t.Pending {
		w.exec("INSERT INTO pending (thread, call, ref) VALUES (?, ?, ?)", id, call, ref)
	}
	effects := t.Effects(thread)
	for _, ref := range append(effects.Refs, effects.Elsewhere...) {
		w.indexMessage(id, ref)
	}
}
