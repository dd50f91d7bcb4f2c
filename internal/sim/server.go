package sim

import (
	"maps"
	"slices"
	"time"

	"nod/chat"
	"nod/memory"
)

// ground is what a server stands on: virtual time, or, under the contract suite
// of stores, the real one.
type ground interface {
	now() time.Time
	// later has f run after d, with nothing beside it.
	later(d time.Duration, f func())
	// word is a random word.
	word() string
	// fraction is from 0 up to 1.
	fraction() float64
}

// server is the store that all processes share: the contract of memory.Store,
// as plainly as it can be written down. Each method is one transaction.
type server struct {
	ground
	lease, keep time.Duration
	quota       memory.Quota
	alone       bool // it serves one process at a time, as a file does
	lenient     bool // a lease that ran out is no matter until somebody else claims

	offset  time.Duration // how far its clock is off
	threads []*thread
	byID    map[chat.ThreadID]*thread
	refs    map[chat.MessageRef]*thread
	waiting map[chat.MessageRef][]memory.Entry
	events  map[string]time.Time
	counts  map[string]counter
	audit   []memory.HiddenLine
	people  map[string][]byte // keys of pseudonyms
	keys    int               // that were made
	notes   map[string][]byte
	ready   []*thread
	handles []*handle

	// hear receives the new entries of a log, for the checker; it may be nil. look
	// receives the name of a process that somebody asks about; it may be nil too.
	hear func(t *thread, entries []memory.Entry)
	look func(process string)
}

type counter struct {
	n     int64
	until time.Time
}

// thread is the stored state of a thread.
type thread struct {
	id            chat.ThreadID
	log           []memory.Entry // that is not erased
	inbox         []memory.Entry
	last, base    uint64
	woken, wakeAt time.Time
	touched       time.Time
	latest        memory.Watermark
	pending       []memory.PendingApproval
	blobs         map[string][]byte
	refs          []chat.MessageRef

	queued   bool    // it waits to be claimed
	holder   *handle // who holds it
	token    string  // of the latest claim
	released string  // the token that let go of it
	commit   uint64  // number of the latest commit under the token
	until    uint64  // last Seq before that commit
	own      []memory.Entry
	ended    bool // it expired; a next one goes on counting
}

func newServer(g ground) *server {
	return &server{
		ground: g, lease: 15 * time.Second,
		byID: map[chat.ThreadID]*thread{}, refs: map[chat.MessageRef]*thread{},
		waiting: map[chat.MessageRef][]memory.Entry{}, events: map[string]time.Time{}, counts: map[string]counter{}, people: map[string][]byte{}, notes: map[string][]byte{},
	}
}

// clock is the store's: in milliseconds, and perhaps wrong.
func (s *server) clock() time.Time { return s.now().Add(s.offset).Truncate(time.Millisecond) }

func (s *server) thread(id chat.ThreadID) *thread {
	t := s.byID[id]
	if t == nil {
		t = &thread{id: id, blobs: map[string][]byte{}}
		s.byID[id] = t
		s.threads = append(s.threads, t)
	}
	return t
}

// known says whether one of the event ids is, and knows them from now on if not.
func (s *server) known(channel string, ids []string) bool {
	now := s.clock()
	name := func(id string) string { return channel + "\x00" + id }
	for _, id := range ids {
		if at, ok := s.events[name(id)]; ok && now.Sub(at) < memory.EventTTL {
			return true
		}
	}
	for _, id := range ids {
		s.events[name(id)] = now
	}
	return false
}

func (s *server) put(id chat.ThreadID, body memory.Body, ids []string) bool {
	if s.known(id.Platform+"/"+id.Channel, ids) {
		return false
	}
	s.deliver(s.thread(id), memory.Entry{At: s.clock(), Body: body})
	return true
}

func (s *server) putRef(ref chat.MessageRef, body memory.Body, ids []string) bool {
	if s.known(ref.Platform+"/"+ref.Channel, ids) {
		return false
	}
	e := memory.Entry{At: s.clock(), Body: body}
	if t := s.refs[ref]; t != nil {
		s.deliver(t, e)
	} else {
		s.waiting[ref] = append(s.waiting[ref], e)
	}
	return true
}

// refer makes a message of another channel name a thread.
func (s *server) refer(ref chat.MessageRef, id chat.ThreadID) {
	t := s.thread(id)
	n := len(t.inbox)
	s.learn(t, ref)
	if len(t.inbox) == n {
		return
	}
	if t.holder != nil {
		t.holder.mail(t)
		return
	}
	s.wake(t)
}

// deliver adds to the inbox, and wakes.
func (s *server) deliver(t *thread, e memory.Entry) {
	t.inbox = append(t.inbox, e)
	s.touch(t)
	if m, ok := e.Body.(memory.Message); ok && !m.Ref.IsZero() {
		t.latest = memory.Watermark{Thread: t.id, Last: m.Ref, Sent: m.Sent}
		s.know(t, m.Ref)
	}
	if t.holder != nil {
		t.holder.mail(t)
		return
	}
	s.wake(t)
}

// know notes that a message belongs to a thread, and lets in what waited for it.
func (s *server) know(t *thread, ref chat.MessageRef) {
	if ref.Platform == t.id.Platform && ref.Channel == t.id.Channel {
		s.learn(t, ref)
	}
}

// learn is know for a message of any channel.
func (s *server) learn(t *thread, ref chat.MessageRef) {
	if s.refs[ref] == t {
		return
	}
	s.refs[ref] = t
	t.refs = append(t.refs, ref)
	now := s.clock()
	for _, e := range s.waiting[ref] {
		if now.Sub(e.At) < memory.RefWait {
			t.inbox = append(t.inbox, e)
		}
	}
	delete(s.waiting, ref)
}

func (s *server) touch(t *thread) {
	t.touched, t.ended = s.clock(), false
	if s.keep > 0 {
		s.later(s.keep+time.Millisecond, func() { s.expire(t) })
	}
}

// expire erases a thread that nobody touched for too long.
func (s *server) expire(t *thread) {
	if t.ended || t.queued || t.holder != nil || !t.wakeAt.IsZero() || s.clock().Sub(t.touched) < s.keep {
		return
	}
	for _, ref := range t.refs {
		delete(s.refs, ref)
	}
	if slices.ContainsFunc(s.audit, func(l memory.HiddenLine) bool { return l.Thread == t.id }) {
		s.addLines(memory.Tombstone(t.id, s.clock()))
	}
	t.log, t.inbox, t.refs, t.pending = nil, nil, nil, nil
	t.blobs, t.latest, t.base, t.ended = map[string][]byte{}, memory.Watermark{}, t.last+1, true
}

// wake queues a thread to be claimed.
func (s *server) wake(t *thread) {
	if t.queued || t.holder != nil {
		return
	}
	t.queued, t.woken = true, s.clock()
	s.ready = append(s.ready, t)
	for _, h := range s.handles {
		h.look()
	}
}

// claim takes the lease of the thread that has been ready for longest.
func (s *server) claim(h *handle, platforms []string) *claimed {
	for i, t := range s.ready {
		if slices.Contains(platforms, t.id.Platform) {
			s.ready = slices.Delete(s.ready, i, i+1)
			return s.hold(h, t)
		}
	}
	return nil
}

// claimed is the answer to a claim.
type claimed struct {
	t       *thread
	token   string
	log     []memory.Entry
	first   uint64
	now     time.Time
	waited  time.Duration
	lastSeq uint64
}

func (s *server) hold(h *handle, t *thread) *claimed {
	now := s.clock()
	t.queued, t.holder, t.token, t.commit, t.released = false, h, s.word(), 0, ""
	if !t.wakeAt.IsZero() && !t.wakeAt.After(now) {
		t.inbox = append(t.inbox, memory.Entry{At: now, Body: memory.Due{}})
		t.wakeAt = time.Time{}
	}
	before := t.last
	arrived := s.take(t)
	c := &claimed{
		t: t, token: t.token, log: slices.Clone(t.loaded()), first: before + 1,
		now: now, waited: max(0, now.Sub(t.woken)), lastSeq: t.last,
	}
	s.told(t, arrived)
	// An answer that never comes makes a run that nobody knows of.
	token := t.token
	s.later(s.lease, func() { s.lapse(t, token) })
	return c
}

func (t *thread) loaded() []memory.Entry {
	i, _ := slices.BinarySearchFunc(t.log, t.base, func(e memory.Entry, base uint64) int { return cmpSeq(e.Seq, base) })
	return t.log[i:]
}

func cmpSeq(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// lapse takes a run from a process that renews it no longer.
func (s *server) lapse(t *thread, token string) {
	if t.holder != nil && t.token == token && !t.holder.renews(token) {
		t.holder = nil
		s.wake(t)
	}
}

// take moves the inbox to the log.
func (s *server) take(t *thread) []memory.Entry {
	from := len(t.log)
	for len(t.inbox) > 0 {
		batch := t.inbox
		t.inbox = nil
		at := len(t.log)
		for _, e := range batch {
			t.add(e)
		}
		s.apply(t, memory.EffectsOf(t.id, t.log[at:]))
	}
	return t.log[from:]
}

func (t *thread) add(e memory.Entry) {
	t.last++
	e.Seq = t.last
	t.log = append(t.log, e)
}

func (s *server) told(t *thread, entries []memory.Entry) {
	if s.hear != nil && len(entries) > 0 {
		s.hear(t, entries)
	}
}

// committed is the answer to a commit.
type committed struct {
	entries  []memory.Entry // the run's own and what arrived behind them
	own      int
	lost     bool
	released bool
}

// append is the comparison that is the truth: it is done when the log still is
// what the run has seen of it, and once. With wakeAt it lets go of the thread, unless
// something arrived.
func (s *server) append(h *handle, k *hold, wakeAt *time.Time, bodies []memory.Body) committed {
	t := k.t
	if wakeAt != nil && t.released == k.token && t.commit == k.number { // it was done
		return committed{entries: t.own, own: len(t.own), released: true}
	}
	if s.lenient && t.holder == nil && t.token == k.token && t.released != k.token { // it lapsed, and nobody went on with it
		t.holder, t.queued = h, false
		s.ready = slices.DeleteFunc(s.ready, func(o *thread) bool { return o == t })
		s.later(s.lease, func() { s.lapse(t, k.token) }) // whoever asked may know of it no more
	}
	if t.holder != h || t.token != k.token {
		return committed{lost: true}
	}
	again := t.commit == k.number
	if !again && t.last != k.seen {
		return committed{lost: true}
	}
	if again && t.until != k.seen {
		return committed{lost: true}
	}
	if !again {
		s.write(t, k, bodies)
	}
	s.told(t, s.take(t))
	entries := slices.Clone(t.own)
	behind := k.seen + uint64(len(t.own))
	for _, e := range t.log {
		if e.Seq > behind {
			entries = append(entries, e)
		}
	}
	c := committed{entries: entries, own: len(t.own)}
	if c.released = wakeAt != nil && len(entries) == c.own; c.released {
		t.holder, t.released, t.wakeAt = nil, k.token, *wakeAt
		s.touch(t)
		s.plan(t)
	}
	return c
}

func (s *server) write(t *thread, k *hold, bodies []memory.Body) {
	now := s.clock()
	t.commit, t.until, t.touched = k.number, t.last, now
	from := len(t.log)
	for _, b := range bodies {
		t.add(memory.Entry{At: now, Body: b})
	}
	t.own = slices.Clone(t.log[from:])
	s.apply(t, memory.EffectsOf(t.id, t.own))
	s.told(t, t.own)
}

// apply applies the effects of entries.
func (s *server) apply(t *thread, f memory.Effects) {
	for _, ref := range append(f.Refs, f.Elsewhere...) {
		s.know(t, ref)
	}
	t.pending = append(t.pending, f.Ask...)
	t.pending = slices.DeleteFunc(t.pending, func(p memory.PendingApproval) bool { return slices.Contains(f.Settled, p.Call) })
	s.addLines(f.Audit...)
	t.base = max(t.base, min(f.Base, t.last+1))
	if !f.Erase {
		return
	}
	kept := make([]memory.Entry, 0, len(t.log))
	for _, e := range t.log {
		if _, started := e.Body.(memory.Started); started || e.Seq >= t.base {
			kept = append(kept, e)
		}
	}
	t.log = kept
	maps.DeleteFunc(t.blobs, func(name string, _ []byte) bool { return !t.names(name) })
}

// names says whether a message that is still there has a file.
func (t *thread) names(blob string) bool {
	return slices.ContainsFunc(slices.Concat(t.log, t.inbox), func(e memory.Entry) bool {
		m, ok := e.Body.(memory.Message)
		return ok && slices.ContainsFunc(m.Files, func(f chat.File) bool { return f.Blob == blob })
	})
}

// plan wakes a thread at its deadline.
func (s *server) plan(t *thread) {
	if t.wakeAt.IsZero() {
		return
	}
	at := t.wakeAt
	s.later(at.Sub(s.clock()), func() {
		switch {
		case !t.wakeAt.Equal(at) || t.holder != nil:
		case s.clock().Before(at): // the clock went back
			s.plan(t)
		default:
			s.wake(t)
		}
	})
}

func (s *server) handoff(h *handle, k *hold, again bool) (lost bool) {
	t := k.t
	if again && t.released == k.token {
		return false
	}
	if t.holder != h || t.token != k.token {
		return true
	}
	t.holder, t.released = nil, k.token
	s.wake(t)
	return false
}

// silent is how long nothing was heard of a process.
func (s *server) silent(name string) time.Duration {
	for _, h := range s.handles {
		if h.name != name || h.closed {
			continue
		}
		if h.well {
			return 0
		}
		return max(0, s.now().Sub(h.heard))
	}
	return memory.Forever
}
