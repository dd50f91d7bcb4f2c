package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"nod/chat"
	"nod/memory"
)

func (s *server) read(id chat.ThreadID) []memory.Entry {
	t := s.byID[id]
	if t == nil {
		return nil
	}
	return append(slices.Clone(t.log), t.inbox...)
}

func (s *server) tail(id chat.ThreadID, after uint64) memory.Tail {
	t := s.byID[id]
	if t == nil {
		return memory.Tail{Base: 1}
	}
	out := memory.Tail{Base: max(1, t.base), Last: t.last, Inbox: slices.Clone(t.inbox)}
	for _, e := range t.loaded() {
		if e.Seq > after {
			out.Log = append(out.Log, e)
		}
	}
	return out
}

func (s *server) putBlob(id chat.ThreadID, data []byte) (string, error) {
	t := s.thread(id)
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	if _, ok := t.blobs[name]; ok {
		s.touch(t)
		return name, nil
	}
	if s.quota.Thread > 0 && t.bytes()+int64(len(data)) > s.quota.Thread {
		return "", memory.FullError{Most: s.quota.Thread}
	}
	all := int64(len(data))
	for _, o := range s.threads {
		all += o.bytes()
	}
	if s.quota.All > 0 && all > s.quota.All {
		return "", memory.FullError{Most: s.quota.All, All: true}
	}
	t.blobs[name] = slices.Clone(data)
	s.touch(t)
	return name, nil
}

func (t *thread) bytes() (n int64) {
	for _, b := range t.blobs {
		n += int64(len(b))
	}
	return n
}

func (s *server) count(name string, n int64, ttl time.Duration) int64 {
	now := s.clock()
	c := s.counts[name]
	if !c.until.IsZero() && !c.until.After(now) {
		c = counter{}
	}
	if n == 0 {
		return c.n
	}
	if c.until.IsZero() {
		c.until = now.Add(ttl)
	}
	c.n += n
	s.counts[name] = c
	return c.n
}

// snapshot is the server as it was, for one that loses what was written last.
type snapshot struct {
	threads []thread
	of      []*thread
	refs    map[chat.MessageRef]*thread
	waiting map[chat.MessageRef][]memory.Entry
	events  map[string]time.Time
	counts  map[string]counter
	audit   []memory.HiddenLine
}

func (s *server) snapshot() *snapshot {
	p := &snapshot{
		refs: maps.Clone(s.refs), waiting: maps.Clone(s.waiting), events: maps.Clone(s.events),
		counts: maps.Clone(s.counts), audit: slices.Clip(s.audit),
	}
	for _, t := range s.threads {
		c := *t
		c.log, c.inbox = slices.Clone(t.log), slices.Clone(t.inbox)
		c.pending, c.refs, c.blobs = slices.Clone(t.pending), slices.Clone(t.refs), maps.Clone(t.blobs)
		p.threads, p.of = append(p.threads, c), append(p.of, t)
	}
	return p
}

// restore goes back to a snapshot: what came after was acknowledged, and is lost.
func (s *server) restore(p *snapshot) {
	s.refs, s.waiting, s.events, s.counts, s.audit = p.refs, p.waiting, p.events, p.counts, p.audit
	for _, t := range s.threads {
		t.holder, t.token, t.wakeAt, t.queued = nil, "", time.Time{}, true // those that there never were
	}
	s.threads, s.ready = slices.Clone(p.of), nil
	clear(s.byID)
	for i, t := range p.of {
		*t = p.threads[i]
		s.byID[t.id] = t
		queued := t.queued
		t.queued = false
		switch {
		case t.holder != nil:
			token := t.token
			s.later(s.lease, func() { s.lapse(t, token) })
		case queued || len(t.inbox) > 0:
			s.wake(t)
		default:
			s.plan(t)
		}
	}
	for _, h := range s.handles {
		h.beatSoon()
	}
}

// addLines adds lines to the audit log, with pseudonyms.
func (s *server) addLines(lines ...memory.AuditLine) {
	hidden, _ := memory.Keys(s.key).Hide(nil, lines...) // a key is always there
	s.audit = append(s.audit, hidden...)
}

func (s *server) key(id string) ([]byte, error) {
	if s.people[id] == nil {
		s.keys++
		s.people[id] = fmt.Append(nil, id, s.keys) // the same in each run of a seed
	}
	return s.people[id], nil
}

func (s *server) persons() (out []memory.Person) {
	for id, key := range s.people {
		out = append(out, memory.Person{ID: id, Key: key})
	}
	return out
}

// chains makes chains of the audit log, which nobody does before they are read.
func (s *server) chains() (lines []memory.KeptLine, heads map[string]memory.Head) {
	heads = map[string]memory.Head{}
	for _, l := range s.audit {
		name := l.Thread.String()
		if raw, next, err := heads[name].Link(l.AuditLine); err == nil {
			heads[name] = next
			lines = append(lines, memory.KeptLine{Thread: name, Raw: raw, Text: l.Text})
		}
	}
	return lines, heads
}

// Rewrite implements memory.Rewriter.
func (h *handle) Rewrite(ctx context.Context, thread chat.ThreadID, edit func([]memory.Entry) []memory.Body) error {
	return h.ask(ctx, true, func() {
		t := h.s.byID[thread]
		if t == nil {
			return
		}
		changed, waiting := false, slices.Clone(t.inbox)
		log := slices.Concat(t.log, waiting)
		for i, b := range edit(log) {
			if changed = changed || b != nil; b != nil && i < len(t.log) {
				t.log[i].Body = b
			} else if b != nil {
				t.inbox[i-len(t.log)].Body = b
			}
		}
		if changed && t.holder != nil {
			t.holder, t.token = nil, ""
			h.s.wake(t)
		}
	})
}
