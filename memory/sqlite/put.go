package sqlite

import (
	"context"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// Put implements memory.Store.
func (s *Store) Put(ctx context.Context, thread chat.ThreadID, body memory.Body, eventIDs ...string) (bool, error) {
	p, err := newLetter(body, s.now())
	if err != nil {
		return false, err
	}
	p.events(thread.Platform, thread.Channel, eventIDs)
	p.refs = memory.EffectsOf(thread, []memory.Entry{{Body: body}}).Refs
	var fresh bool
	err = s.do(ctx, "put "+p.kind, func(w *writer) {
		if fresh = w.recordEvents(p); fresh {
			w.addToInbox(thread, p)
		}
	}, func() {
		if fresh {
			s.queue.wake(thread.Platform, thread.String())
		}
	})
	return fresh && err == nil, err
}

// PutRef implements memory.Store.
func (s *Store) PutRef(ctx context.Context, ref chat.MessageRef, body memory.Body, eventIDs ...string) (bool, error) {
	p, err := newLetter(body, s.now())
	if err != nil {
		return false, err
	}
	p.events(ref.Platform, ref.Channel, eventIDs)
	var fresh bool
	var name string
	err = s.do(ctx, "put "+p.kind, func(w *writer) {
		name = ""
		if fresh = w.recordEvents(p); fresh {
			name = w.putRef(ref, p)
		}
	}, func() {
		if name != "" {
			s.queue.wake(ref.Platform, name)
		}
	})
	return fresh && err == nil, err
}

// letter is an entry on its way into an inbox.
type letter struct {
	at   int64
	kind string
	raw  []byte

	ids []any // the keys of its event ids

	refs []chat.MessageRef // the message itself, if a reaction can find the thread by it
	last string            // the message, for the watermark
	sent int64
}

func newLetter(body memory.Body, at time.Time) (*letter, error) {
	raw, err := memory.Encode(body)
	if err != nil {
		return nil, err
	}
	l := &letter{at: millis(at), kind: body.Kind(), raw: raw}
	if m, ok := body.(memory.Message); ok && !m.Ref.IsZero() {
		l.last, l.sent = m.Ref.String(), m.Sent.UnixMicro()
	}
	return l, nil
}

func (l *letter) events(platform, channel string, ids []string) {
	for _, id := range ids {
		l.ids = append(l.ids, key(platform, channel, id))
	}
}

// recordEvents records the event ids and returns true, or returns false if one of them
// is known.
func (w *writer) recordEvents(l *letter) bool {
	if len(l.ids) == 0 {
		return true
	}
	var one int
	if w.queryRow("SELECT 1 FROM event WHERE id IN (?"+strings.Repeat(", ?", len(l.ids)-1)+") LIMIT 1", l.ids, &one) {
		return false
	}
	for _, id := range l.ids {
		w.exec("INSERT OR IGNORE INTO event (id, at) VALUES (?, ?)", id, l.at)
	}
	return true
}

// touchThread finds or makes the row of a thread. A thread that was erased for its age
// begins anew.
const touchThread = `INSERT INTO thread (name, platform, seq, touched, woken, last_ref, last_sent)
	VALUES (?1, ?2, (SELECT value FROM number WHERE name = 'floor'), ?3, ?4, ?5, ?6)
	ON CONFLICT (name) DO UPDATE SET touched = ?3, gone = 0,
		woken = CASE woken WHEN 0 THEN ?4 ELSE woken END,
		last_ref = CASE WHEN ?5 <> '' AND last_sent <= ?6 THEN ?5 ELSE last_ref END,
		last_sent = CASE WHEN ?5 <> '' AND last_sent <= ?6 THEN ?6 ELSE last_sent END
	RETURNING id`

// addToInbox appends to the inbox of a thread and wakes it.
func (w *writer) addToInbox(thread chat.ThreadID, l *letter) {
	var id int64
	w.queryRow(touchThread, []any{thread.String(), thread.Platform, l.at, l.at, l.last, l.sent}, &id)
	w.insertInbox(id, w.insertEntry(l))
	for _, ref := range l.refs {
		w.indexMessage(id, ref)
	}
}

// putRef appends to the inbox of the thread that has a message, and returns its name.
// While no thread has the message it keeps the entry.
func (w *writer) putRef(ref chat.MessageRef, l *letter) (name string) {
	var id int64
	if !w.queryRow("SELECT thread FROM ref WHERE ref = ?", []any{refKey(ref)}, &id) {
		w.exec("INSERT INTO waiting (ref, entry, at) VALUES (?, ?, ?)", refKey(ref), w.insertEntry(l), l.at)
		return ""
	}
	const wake = "UPDATE thread SET woken = CASE woken WHEN 0 THEN ?2 ELSE woken END WHERE id = ?1 RETURNING name"
	w.queryRow(wake, []any{id, l.at}, &name)
	w.insertInbox(id, w.insertEntry(l))
	return name
}

// insertEntry writes an entry that neither inbox nor log names yet.
func (w *writer) insertEntry(l *letter) int64 {
	return w.insert("INSERT INTO entry (at, kind, body) VALUES (?, ?, ?)", l.at, l.kind, l.raw)
}

func (w *writer) insertInbox(thread, entry int64) {
	w.exec("INSERT INTO inbox (thread, n, entry) VALUES (?1, 1 + coalesce((SELECT max(n) FROM inbox WHERE thread = ?1), 0), ?2)", thread, entry)
}

// indexMessage makes a message name a thread, and moves the entries that waited for the
// message into the inbox.
func (w *writer) indexMessage(thread int64, ref chat.MessageRef) {
	name := refKey(ref)
	w.exec("INSERT OR IGNORE INTO ref (ref, thread) VALUES (?, ?)", name, thread)
	entries := queryAll(w, "SELECT entry FROM waiting WHERE ref = ? ORDER BY entry", []any{name}, scanID)
	for _, e := range entries {
		w.insertInbox(thread, e)
	}
	if len(entries) > 0 {
		w.exec("DELETE FROM waiting WHERE ref = ?", name)
	}
}
