package sqlite

import (
	"database/sql"

	"nod/chat"
	"nod/memory"
)

// Format 1 kept what entries say in three tables and moved it from one to the
// other; its event ids were known in all channels, and a message was known only
// once it had left the inbox.

// readThread1 is readThread for it, so that a file can be looked at as it is.
const readThread1 = `
	SELECT 0, seq, id, base, woken, wake_at, touched, NULL FROM thread WHERE name = ?1
	UNION ALL
	SELECT 1, l.seq, 0, l.at, 0, 0, 0, l.body
		FROM thread t CROSS JOIN log l ON l.thread = t.id AND l.seq > max(?2, (t.base - 1) * ?3) WHERE t.name = ?1
	UNION ALL
	SELECT 2, i.id, 0, i.at, 0, 0, 0, i.body
		FROM thread t CROSS JOIN inbox i ON i.thread = t.id WHERE t.name = ?1`

const beforeFormat2 = `
	DROP INDEX thread_woken; DROP INDEX thread_wake_at; DROP INDEX thread_touched; DROP INDEX inbox_thread; DROP INDEX event_at;
	DROP INDEX ref_thread; DROP INDEX waiting_ref; DROP INDEX audit_thread;
	ALTER TABLE thread RENAME TO old_thread; ALTER TABLE log RENAME TO old_log; ALTER TABLE inbox RENAME TO old_inbox;
	ALTER TABLE event RENAME TO old_event; ALTER TABLE ref RENAME TO old_ref; ALTER TABLE waiting RENAME TO old_waiting;
	ALTER TABLE pending RENAME TO old_pending; ALTER TABLE audit RENAME TO old_audit; ALTER TABLE blob RENAME TO old_blob;
	ALTER TABLE counter RENAME TO old_counter;`

// The entries of all logs get the first ids, those of the inboxes follow, in the
// order in which they came.
const intoFormat2 = `
	INSERT INTO thread (id, name, platform, seq, base, woken, wake_at, touched, gone, last_ref, last_sent)
		SELECT id, name, platform, seq, base, woken, wake_at, touched, base > seq AND woken = 0, last_ref, last_sent FROM old_thread;
	CREATE TEMP TABLE place (entry INTEGER PRIMARY KEY, thread INTEGER NOT NULL, seq INTEGER NOT NULL);
	INSERT INTO place (thread, seq) SELECT thread, seq FROM old_log ORDER BY thread, seq;
	INSERT INTO entry (id, at, kind, body)
		SELECT p.entry, l.at, l.kind, l.body FROM place p CROSS JOIN old_log l ON l.thread = p.thread AND l.seq = p.seq ORDER BY p.entry;
	INSERT INTO log (thread, seq, entry) SELECT thread, seq, entry FROM place;
	DELETE FROM place;
	INSERT INTO entry (id, at, kind, body)
		SELECT (SELECT coalesce(max(id), 0) FROM entry) + id, at, kind, body FROM old_inbox ORDER BY id;
	INSERT INTO inbox (thread, n, entry)
		SELECT thread, id, (SELECT coalesce(max(entry), 0) FROM log) + id FROM old_inbox;
	DROP TABLE place;
	INSERT INTO pending (thread, call, ref) SELECT thread, call, ref FROM old_pending;
	INSERT INTO audit (id, at, thread, line)
		SELECT id, coalesce(1000 * strftime('%s', json_extract(CAST(line AS TEXT), '$.at')), ?1), thread, line FROM old_audit;
	INSERT INTO content (id, data) SELECT rowid, data FROM old_blob;
	INSERT INTO blob (thread, name, size, content) SELECT thread, name, length(data), rowid FROM old_blob;
	INSERT INTO counter (name, value, until) SELECT name, value, until FROM old_counter;
	INSERT INTO remains (thread, before, since) SELECT id, base, ?1 FROM old_thread WHERE base > seq;
	INSERT OR IGNORE INTO remains (thread, before, since)
		SELECT l.thread, min(l.seq), ?1 FROM old_log l
		WHERE l.kind <> 'started' GROUP BY l.thread
		HAVING min(l.seq) > (SELECT min(seq) FROM old_log o WHERE o.thread = l.thread);`

const afterFormat2 = `
	DROP TABLE old_thread; DROP TABLE old_log; DROP TABLE old_inbox; DROP TABLE old_event; DROP TABLE old_ref;
	DROP TABLE old_waiting; DROP TABLE old_pending; DROP TABLE old_audit; DROP TABLE old_blob; DROP TABLE old_counter;`

// toFormat2 writes everything anew.
func toFormat2(m *migration) error {
	for _, script := range []string{beforeFormat2, format2, intoFormat2} {
		if _, err := m.w.conn.ExecContext(background, script, millis(m.now)); err != nil {
			return err
		}
	}
	for _, part := range []func(*migration) error{eventsOf1, refsOf1, waitingOf1, messagesOf1} {
		if err := part(m); err != nil {
			return err
		}
	}
	return m.exec(afterFormat2)
}

func eventsOf1(m *migration) error {
	type event struct {
		id string
		at int64
	}
	events, err := all(m.w, "SELECT id, at FROM old_event", nil, func(r *sql.Rows) (e event, err error) { return e, r.Scan(&e.id, &e.at) })
	for _, e := range events {
		if err == nil {
			err = m.w.run("INSERT INTO event (id, at) VALUES (?, ?)", anywhere(e.id), e.at)
		}
	}
	return err
}

func refsOf1(m *migration) error {
	type known struct {
		ref    chat.MessageRef
		thread int64
	}
	refs, err := all(m.w, "SELECT ref, thread FROM old_ref", nil, func(r *sql.Rows) (k known, err error) {
		var name string
		if err := r.Scan(&name, &k.thread); err != nil {
			return k, err
		}
		k.ref = readRef(name)
		return k, nil
	})
	for _, k := range refs {
		if err == nil && !k.ref.IsZero() {
			err = m.w.run("INSERT INTO ref (ref, thread) VALUES (?, ?)", refKey(k.ref), k.thread)
		}
	}
	return err
}

// readRef reads the name of a message; one that is damaged is nobody's.
func readRef(name string) (ref chat.MessageRef) {
	_ = ref.UnmarshalText([]byte(name))
	return ref
}

func waitingOf1(m *migration) error {
	type early struct {
		ref chat.MessageRef
		l   letter
	}
	waiting, err := all(m.w, "SELECT ref, at, kind, body FROM old_waiting ORDER BY id", nil, func(r *sql.Rows) (e early, err error) {
		var name string
		err = r.Scan(&name, &e.l.at, &e.l.kind, &e.l.raw)
		e.ref = readRef(name)
		return e, err
	})
	for _, e := range waiting {
		if err != nil {
			break
		}
		var entry int64
		if entry, err = m.w.entry(&e.l); err == nil {
			err = m.w.run("INSERT INTO waiting (ref, entry, at) VALUES (?, ?, ?)", refKey(e.ref), entry, e.l.at)
		}
	}
	return err
}

// messagesOf1 makes the messages known that wait in inboxes.
func messagesOf1(m *migration) error {
	type message struct {
		thread int64
		name   string
		raw    []byte
	}
	messages, err := all(m.w, "SELECT t.id, t.name, i.body FROM old_inbox i JOIN thread t ON t.id = i.thread WHERE i.kind = 'message' ORDER BY i.id", nil,
		func(r *sql.Rows) (e message, err error) { return e, r.Scan(&e.thread, &e.name, &e.raw) })
	if err != nil {
		return err
	}
	for _, e := range messages {
		b, ok := memory.Decode(e.raw).(memory.Message)
		thread, err := chat.ParseThreadID(e.name)
		if !ok || err != nil || b.Ref.IsZero() {
			continue // its own thread's trouble
		}
		const mark = "UPDATE thread SET last_ref = ?2, last_sent = ?3 WHERE id = ?1 AND last_sent <= ?3"
		if err := m.w.run(mark, e.thread, b.Ref.String(), b.Sent.UnixMicro()); err != nil {
			return err
		}
		if !reachable(thread, b.Ref) {
			continue
		}
		if err := m.w.know(e.thread, b.Ref); err != nil {
			return err
		}
	}
	return nil
}
