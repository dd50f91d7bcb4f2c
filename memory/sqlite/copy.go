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
	err := s.do(ctx, func(w *writer) error {
		for _, r := range records {
			if err := w.restore(r, s.now()); err != nil {
				return fmt.Errorf("%s of %q: %w", r.Kind, r.Thread, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

func (w *writer) restore(r memory.Record, now time.Time) error {
	switch r.Kind {
	case memory.RecordThread:
		return w.restoreThread(r, now)
	case memory.RecordLog, memory.RecordInbox:
		return w.restoreEntry(r)
	case memory.RecordPending:
		return w.exec("INSERT OR REPLACE INTO pending (thread, call, ref) SELECT id, ?2, ?3 FROM thread WHERE name = ?1", r.Thread, r.Key, string(r.Value))
	case memory.RecordFile:
		return w.restoreFile(r)
	case memory.RecordEvent:
		channel, id, _ := strings.Cut(r.Key, " ")
		t, err := chat.ParseThreadID(channel)
		if err != nil {
			return err
		}
		return w.exec("INSERT OR REPLACE INTO event (id, at) VALUES (?, ?)", key(t.Platform, t.Channel, id), r.Until-memory.EventTTL.Milliseconds())
	case memory.RecordHead:
		head, err := memory.ParseHead(string(r.Value))
		if err != nil {
			return err
		}
		return w.exec("INSERT OR REPLACE INTO chain (thread, seq, hash) VALUES (?, ?, ?)", r.Key, head.Seq, head.Hash)
	case memory.RecordAudit:
		return w.exec("INSERT OR REPLACE INTO audit (id, thread, line, text) VALUES (?, ?, ?, ?)", r.N, r.Key, r.Value, r.Text)
	case memory.RecordPerson:
		return w.exec("INSERT OR REPLACE INTO person (id, key) VALUES (?, ?)", r.Key, r.Value)
	case memory.RecordCounter:
		return w.exec("INSERT OR REPLACE INTO counter (name, value, until) VALUES (?, ?, ?)", r.Key, r.N, r.Until)
	case memory.RecordNote:
		return w.note(r.Key, r.Value)
	case memory.RecordFloor:
		return w.exec("UPDATE number SET value = max(value, ?) WHERE name = 'floor'", r.N)
	}
	return fmt.Errorf("this build does not know records of kind %q", r.Kind)
}

func (w *writer) restoreThread(r memory.Record, now time.Time) error {
	var t memory.ThreadState
	thread, err := chat.ParseThreadID(r.Thread)
	if err == nil {
		err = json.Unmarshal(r.Value, &t)
	}
	if err != nil {
		return err
	}
	const of = "(SELECT id FROM thread WHERE name = ?)"
	for _, q := range []string{
		"DELETE FROM entry WHERE id IN (SELECT entry FROM log WHERE thread = " + of + ")",
		"DELETE FROM entry WHERE id IN (SELECT entry FROM inbox WHERE thread = " + of + ")",
		"DELETE FROM log WHERE thread = " + of, "DELETE FROM inbox WHERE thread = " + of,
		"DELETE FROM pending WHERE thread = " + of, "DELETE FROM ref WHERE thread = " + of,
		"DELETE FROM remains WHERE thread = " + of, "DELETE FROM thread WHERE name = ?",
	} {
		if err := w.exec(q, r.Thread); err != nil {
			return err
		}
	}
	id, err := w.insert(`INSERT INTO thread (name, platform, seq, base, woken, wake_at, touched, gone, last_ref, last_sent)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, r.Thread, thread.Platform, t.Seq, max(t.Base, r.N*uint64(gone(t))), t.Woken, t.WakeAt, t.Touched, gone(t), t.LastRef, t.LastSent)
	if err != nil {
		return err
	}
	// If the log has gaps, the rest of an erased part stays for a while.
	return w.exec("INSERT INTO remains (thread, before, since) SELECT ?1, ?2, ?3 WHERE ?2 > 1", id, r.N, millis(now))
}

func (w *writer) restoreEntry(r memory.Record) error {
	var id int64
	if found, err := w.queryRow("SELECT id FROM thread WHERE name = ?", []any{r.Thread}, &id); err != nil || !found {
		return err
	}
	entry, err := w.insertEntry(&letter{at: r.At, kind: memory.Decode(r.Value).Kind(), raw: r.Value})
	if err != nil {
		return err
	}
	query := "INSERT INTO log (thread, seq, entry) VALUES (?, ?, ?)"
	if r.Kind == memory.RecordInbox {
		query = "INSERT INTO inbox (thread, n, entry) VALUES (?, ?, ?)"
	}
	if err := w.exec(query, id, r.N, entry); err != nil {
		return err
	}
	thread, err := chat.ParseThreadID(r.Thread)
	if err != nil {
		return err
	}
	own, elsewhere := r.Refs(thread)
	for _, ref := range append(own, elsewhere...) {
		if err := w.indexMessage(id, ref); err != nil {
			return err
		}
	}
	return nil
}

func gone(t memory.ThreadState) int {
	if t.Gone {
		return 1
	}
	return 0
}

func (w *writer) restoreFile(r memory.Record) error {
	var id int64
	if found, err := w.queryRow("SELECT id FROM thread WHERE name = ?", []any{r.Thread}, &id); err != nil || !found {
		return err
	}
	var one int
	if known, err := w.queryRow("SELECT 1 FROM blob WHERE thread = ? AND name = ?", []any{id, r.Key}, &one); known || err != nil {
		return err
	}
	content, err := w.insert("INSERT INTO content (data) VALUES (?)", r.Value)
	if err != nil {
		return err
	}
	return w.exec("INSERT INTO blob (thread, name, size, content) VALUES (?, ?, ?, ?)", id, r.Key, len(r.Value), content)
}
