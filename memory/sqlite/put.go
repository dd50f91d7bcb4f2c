package sqlite

import (
	"context"
	"fmt"
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
	p.message(thread)
	var fresh bool
	o := &op{do: func(w *writer) (err error) {
		if fresh, err = w.unknown(p); err != nil || !fresh {
			return err
		}
		return w.put(thread, p)
	}, after: func() {
		if fresh {
			s.queue.wake(thread.Platform, thread.String())
		}
	}}
	if err := s.submit(ctx, o); err != nil {
		return false, fmt.Errorf("put %s: %w", body.Kind(), err)
	}
	return fresh, nil
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
	o := &op{do: func(w *writer) (err error) {
		name = ""
		if fresh, err = w.unknown(p); err != nil || !fresh {
			return err
		}
		name, err = w.putRef(ref, p)
		return err
	}, after: func() {
		if name != "" {
			s.queue.wake(ref.Platform, name)
		}
	}}
	if err := s.submit(ctx, o); err != nil {
		return false, fmt.Errorf("put %s: %w", body.Kind(), err)
	}
	return fresh, nil
}

// letter is an entry on its way into an inbox.
type letter struct {
	at   int64
	kind string
	raw  []byte

	ids []any // the keys of its event ids

	ref  chat.MessageRef // the message that it is, where it can be found by it
	last string          // the same, for the watermark
	sent int64
}

func newLetter(body memory.Body, at time.Time) (*letter, error) {
	raw, err := memory.Encode(body)
	if err != nil {
		return nil, err
	}
	l := &letter{at: millis(at), kind: body.Kind(), raw: raw}
	if m, ok := body.(memory.Message); ok && !m.Ref.IsZero() {
		l.ref, l.last, l.sent = m.Ref, m.Ref.String(), m.Sent.UnixMicro()
	}
	return l, nil
}

func (l *letter) events(platform, channel string, ids []string) {
	for _, id := range ids {
		l.ids = append(l.ids, key(platform, channel, id))
	}
}

// message notes whether a reaction can find the thread by the message.
func (l *letter) message(thread chat.ThreadID) {
	if !reachable(thread, l.ref) {
		l.ref = chat.MessageRef{}
	}
}

// reachable says whether a reaction on a message may be for a thread. One in
// another channel never is.
func reachable(thread chat.ThreadID, ref chat.MessageRef) bool {
	return ref.ID != "" && ref.Platform == thread.Platform && ref.Channel == thread.Channel
}

// unknown says whether none of the event ids is known, and then knows them.
func (w *writer) unknown(l *letter) (bool, error) {
	if len(l.ids) == 0 {
		return true, nil
	}
	var one int
	known, err := w.one("SELECT 1 FROM event WHERE id IN (?"+strings.Repeat(", ?", len(l.ids)-1)+") LIMIT 1", l.ids, &one)
	if known || err != nil {
		return false, err
	}
	for _, id := range l.ids {
		if err := w.run("INSERT OR IGNORE INTO event (id, at) VALUES (?, ?)", id, l.at); err != nil {
			return false, err
		}
	}
	return true, nil
}

// touchThread finds or makes the row of a thread. What was erased because its
// time was over begins anew.
const touchThread = `INSERT INTO thread (name, platform, seq, touched, woken, last_ref, last_sent)
	VALUES (?1, ?2, (SELECT value FROM number WHERE name = 'floor'), ?3, ?4, ?5, ?6)
	ON CONFLICT (name) DO UPDATE SET touched = ?3, gone = 0,
		woken = CASE woken WHEN 0 THEN ?4 ELSE woken END,
		last_ref = CASE WHEN ?5 <> '' AND last_sent <= ?6 THEN ?5 ELSE last_ref END,
		last_sent = CASE WHEN ?5 <> '' AND last_sent <= ?6 THEN ?6 ELSE last_sent END
	RETURNING id`

// put adds to the inbox of a thread and wakes it.
func (w *writer) put(thread chat.ThreadID, l *letter) error {
	var id int64
	if _, err := w.one(touchThread, []any{thread.String(), thread.Platform, l.at, l.at, l.last, l.sent}, &id); err != nil {
		return err
	}
	if err := w.deliver(id, l); err != nil {
		return err
	}
	if l.ref.IsZero() {
		return nil
	}
	return w.know(id, l.ref)
}

// putRef adds to the inbox of the thread that has a message, and gives its name,
// or keeps the entry until there is one.
func (w *writer) putRef(ref chat.MessageRef, l *letter) (name string, err error) {
	var id int64
	known, err := w.one("SELECT thread FROM ref WHERE ref = ?", []any{refKey(ref)}, &id)
	if err != nil {
		return "", err
	}
	if !known {
		entry, err := w.entry(l)
		if err != nil {
			return "", err
		}
		return "", w.run("INSERT INTO waiting (ref, entry, at) VALUES (?, ?, ?)", refKey(ref), entry, l.at)
	}
	const wake = "UPDATE thread SET woken = CASE woken WHEN 0 THEN ?2 ELSE woken END WHERE id = ?1 RETURNING name"
	if _, err := w.one(wake, []any{id, l.at}, &name); err != nil {
		return "", err
	}
	return name, w.deliver(id, l)
}

func (w *writer) deliver(id int64, l *letter) error {
	entry, err := w.entry(l)
	if err != nil {
		return err
	}
	return w.inbox(id, entry)
}

// entry writes an entry, which is nowhere yet.
func (w *writer) entry(l *letter) (int64, error) {
	return w.insert("INSERT INTO entry (at, kind, body) VALUES (?, ?, ?)", l.at, l.kind, l.raw)
}

// inbox puts an entry at the end of an inbox.
func (w *writer) inbox(thread, entry int64) error {
	return w.run("INSERT INTO inbox (thread, n, entry) VALUES (?1, 1 + coalesce((SELECT max(n) FROM inbox WHERE thread = ?1), 0), ?2)", thread, entry)
}

// know makes a message name a thread, and lets in what waited for that.
func (w *writer) know(thread int64, ref chat.MessageRef) error {
	name := refKey(ref)
	if err := w.run("INSERT OR IGNORE INTO ref (ref, thread) VALUES (?, ?)", name, thread); err != nil {
		return err
	}
	entries, err := all(w, "SELECT entry FROM waiting WHERE ref = ? ORDER BY entry", []any{name}, id)
	if err != nil || len(entries) == 0 {
		return err
	}
	for _, e := range entries {
		if err := w.inbox(thread, e); err != nil {
			return err
		}
	}
	return w.run("DELETE FROM waiting WHERE ref = ?", name)
}
