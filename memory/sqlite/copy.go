package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
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
	logRecords     = `SELECT l.seq, '', l.seq, e.at, 0, e.body, NULL FROM log l JOIN entry e ON e.id = l.entry WHERE l.thread = ? ORDER BY l.seq`
	inboxRecords   = `SELECT i.n, '', i.n, e.at, 0, e.body, NULL FROM inbox i JOIN entry e ON e.id = i.entry WHERE i.thread = ? ORDER BY i.n`
	pendingRecords = `SELECT 1, call, 0, 0, 0, ref, NULL FROM pending WHERE thread = ? ORDER BY call`
	fileRecords    = `SELECT b.content, t.name || ' ' || b.name, 0, 0, 0, NULL, NULL FROM blob b JOIN thread t ON t.id = b.thread WHERE b.content > ? ORDER BY b.content`
	headRecords    = `SELECT 1, thread, 0, 0, 0, seq || ' ' || hash, NULL FROM chain ORDER BY thread`
	auditRecords   = `SELECT id, thread, id, 0, 0, line, text FROM audit WHERE id > ? ORDER BY id`
	personRecords  = `SELECT 1, id, 0, 0, 0, key, NULL FROM person ORDER BY id`
	counterRecords = `SELECT 1, name, value, 0, until, NULL, NULL FROM counter ORDER BY name`
	noteRecords    = `SELECT 1, name, 0, 0, 0, value, NULL FROM note ORDER BY name`
	floorRecords   = `SELECT 1, '', value, 0, 0, NULL, NULL FROM number WHERE name = 'floor'`
)

func scanRecord(kind, thread string) func(*sql.Rows) (int64, memory.Record, error) {
	return func(rows *sql.Rows) (id int64, r memory.Record, err error) {
		r.Kind, r.Thread = kind, thread
		err = rows.Scan(&id, &r.Key, &r.N, &r.At, &r.Until, &r.Value, &r.Text)
		return id, r, err
	}
}

func (s *Store) recordsOf(ctx context.Context, kind, thread, query string, args ...any) ([]memory.Record, error) {
	scan := scanRecord(kind, thread)
	return readAll(ctx, &s.reader, query, args, func(rows *sql.Rows) (memory.Record, error) {
		_, r, err := scan(rows)
		return r, err
	})
}

// Records implements memory.Portable.
func (s *Store) Records(ctx context.Context) iter.Seq2[memory.Record, error] {
	return func(yield func(memory.Record, error) bool) {
		channels := map[string]chat.ThreadID{} // by digest
		send := func(records []memory.Record, err error) bool {
			for _, r := range records {
				if !yield(r, nil) {
					return false
				}
			}
			if err != nil {
				yield(memory.Record{}, fmt.Errorf("read records: %w", err))
			}
			return err == nil
		}
		for t, err := range s.copiedThreads(ctx) {
			if err == nil {
				channels[string(key(t.thread.Platform, t.thread.Channel, ""))] = t.thread
			}
			var records []memory.Record
			if err == nil {
				records, err = s.threadRecords(ctx, t)
			}
			if !send(records, err) {
				return
			}
		}
		for r, err := range pages(ctx, &s.reader, fileRecords, nil, scanRecord(memory.RecordFile, "")) {
			if err == nil {
				r, err = s.fileRecord(ctx, r)
			}
			if !send([]memory.Record{r}, err) {
				return
			}
		}
		if !send(s.eventRecords(ctx, channels)) {
			return
		}
		for _, q := range [...]struct{ kind, query string }{
			{memory.RecordPerson, personRecords}, // pseudonyms come before what names them
			{memory.RecordHead, headRecords},
			{memory.RecordCounter, counterRecords},
			{memory.RecordNote, noteRecords},
			{memory.RecordFloor, floorRecords},
		} {
			if !send(s.recordsOf(ctx, q.kind, "", q.query)) {
				return
			}
		}
		for r, err := range pages(ctx, &s.reader, auditRecords, nil, scanRecord(memory.RecordAudit, "")) {
			if !send([]memory.Record{r}, err) {
				return
			}
		}
	}
}

type copiedThread struct {
	id     int64
	thread chat.ThreadID
	state  memory.ThreadState
}

func (s *Store) copiedThreads(ctx context.Context) iter.Seq2[copiedThread, error] {
	const query = "SELECT id, name, seq, base, woken, wake_at, touched, gone, last_ref, last_sent FROM thread WHERE id > ? ORDER BY id"
	return pages(ctx, &s.reader, query, nil, func(rows *sql.Rows) (int64, copiedThread, error) {
		var t copiedThread
		var name string
		err := rows.Scan(&t.id, &name, &t.state.Seq, &t.state.Base, &t.state.Woken, &t.state.WakeAt, &t.state.Touched,
			&t.state.Gone, &t.state.LastRef, &t.state.LastSent)
		if err == nil {
			t.thread, err = chat.ParseThreadID(name)
		}
		return t.id, t, err
	})
}

func (s *Store) threadRecords(ctx context.Context, t copiedThread) ([]memory.Record, error) {
	name := t.thread.String()
	log, err := s.recordsOf(ctx, memory.RecordLog, name, logRecords, t.id)
	if err != nil {
		return nil, err
	}
	head, err := t.state.Record(name, log)
	if err != nil || t.state.Gone {
		return []memory.Record{head}, err
	}
	out := append([]memory.Record{head}, log...)
	for kind, query := range map[string]string{memory.RecordInbox: inboxRecords, memory.RecordPending: pendingRecords} {
		found, err := s.recordsOf(ctx, kind, name, query, t.id)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
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

// eventRecords leaves out the ids of channels without a thread: nothing came of them.
func (s *Store) eventRecords(ctx context.Context, channels map[string]chat.ThreadID) (out []memory.Record, err error) {
	found, err := s.recordsOf(ctx, memory.RecordEvent, "", "SELECT 1, '', 0, 0, at, id, NULL FROM event ORDER BY id")
	for _, r := range found {
		const digest = 8
		if t, ok := channels[string(r.Value[:digest])]; ok {
			channel := chat.ThreadID{Platform: t.Platform, Channel: t.Channel}.String()
			out = append(out, memory.Record{
				Kind: r.Kind, Key: channel + " " + string(r.Value[digest:]), Until: r.Until + memory.EventTTL.Milliseconds(),
			})
		}
	}
	return out, err
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
		w.restoreThread(r, now)
	case memory.RecordLog, memory.RecordInbox:
		w.restoreEntry(r)
	case memory.RecordPending:
		w.exec("INSERT OR REPLACE INTO pending (thread, call, ref) SELECT id, ?2, ?3 FROM thread WHERE name = ?1", r.Thread, r.Key, string(r.Value))
	case memory.RecordFile:
		if id, ok := w.restored(r); ok && !w.hasFile(id, r.Key) {
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

// restored finds the row of a record's thread.
func (w *writer) restored(r memory.Record) (id int64, ok bool) {
	ok = w.queryRow("SELECT id FROM thread WHERE name = ?", []any{r.Thread}, &id)
	return id, ok
}

func (w *writer) restoreThread(r memory.Record, now time.Time) {
	var t memory.ThreadState
	thread, err := chat.ParseThreadID(r.Thread)
	w.fail(err)
	w.fail(json.Unmarshal(r.Value, &t))
	if old, ok := w.restored(r); ok {
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
		r.Thread, thread.Platform, t.Seq, t.Base, t.Woken, t.WakeAt, t.Touched, t.Gone, t.LastRef, t.LastSent, r.N)
	// If the log has gaps, the rest of an erased part stays for a while.
	w.exec("INSERT INTO remains (thread, before, since) SELECT ?1, ?2, ?3 WHERE ?2 > 1", id, r.N, millis(now))
}

func (w *writer) restoreEntry(r memory.Record) {
	id, ok := w.restored(r)
	if !ok {
		return
	}
	entry := w.insertEntry(&letter{at: r.At, kind: memory.Decode(r.Value).Kind(), raw: r.Value})
	query := "INSERT INTO log (thread, seq, entry) VALUES (?, ?, ?)"
	if r.Kind == memory.RecordInbox {
		query = "INSERT INTO inbox (thread, n, entry) VALUES (?, ?, ?)"
	}
	w.exec(query, id, r.N, entry)
	thread, err := chat.ParseThreadID(r.Thread)
	w.fail(err)
	effects := r.Effects(thread)
	for _, ref := range append(effects.Refs, effects.Elsewhere...) {
		w.indexMessage(id, ref)
	}
}
