package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"time"

	"nod/agent"
	"nod/chat"
	"nod/memory"
)

// errAway is what a store that does not answer comes to.
var errAway = errors.New("the store does not answer")

// wire is how a process reaches the server.
type wire interface {
	// ask has the server do something, at one point of time, and waits until
	// the answer is there. After an error it may have been done.
	ask(ctx context.Context, write bool, do func()) error
	// rest waits until wake is called, or ctx is done.
	rest(ctx context.Context, begin func(wake func()))
	// here has f run with nothing beside it.
	here(f func())
	// tell has f run in the process some time soon.
	tell(f func())
}

// handle is one process's store.
type handle struct {
	wire
	s      *server
	name   string
	runs   []*memory.Run // that the process knows it holds
	well   bool          // its beats reach the server
	sure   bool          // the process knows that they do
	heard  time.Time     // the last one that did
	sick   int           // counts the times when it was not well
	closed bool
	claims []func() // those who wait for something to claim

	kept map[chat.ThreadID]keptLog // values that ended runs computed from logs
}

var _ memory.Full = (*handle)(nil)

// hold is what a run holds for its store.
type hold struct {
	t      *thread
	token  string
	seen   uint64 // Seq of the last entry that the run has seen
	number uint64 // of the commit that is under way, or was last
	bodies []memory.Body
	doubt  bool // whether that one was done is not known
	left   bool // a handoff was tried, and whether it was done is not known
}

func (s *server) open(name string, w wire) *handle {
	h := &handle{wire: w, s: s, name: name, well: true, sure: true, kept: map[chat.ThreadID]keptLog{}}
	if s.alone { // then the earlier holder is gone
		for _, o := range s.handles {
			o.leave()
		}
	}
	s.handles = append(s.handles, h)
	return h
}

// look tells those who wait that there is something to claim.
func (h *handle) look() {
	claims := h.claims
	h.claims = nil
	for _, wake := range claims {
		h.tell(wake)
	}
}

func (h *handle) run(t *thread) *memory.Run {
	for _, r := range h.runs {
		if r.Held.(*hold).t == t {
			return r
		}
	}
	return nil
}

// renews says whether the lease of a run of the process has not run out: it has, a
// while after the process was last heard of.
func (h *handle) renews(token string) bool {
	heard := h.well || h.s.now().Sub(h.heard) < h.s.lease
	return heard && slices.ContainsFunc(h.runs, func(r *memory.Run) bool { return r.Token == token })
}

// mail tells the process that something is in the inbox of what it holds.
func (h *handle) mail(t *thread) {
	if r := h.run(t); r != nil && h.well {
		h.tell(r.Bell.Mail)
	}
}

// drop forgets a run. If the server takes it for held still, nobody renews it any
// more.
func (h *handle) drop(run *memory.Run) {
	k := run.Held.(*hold)
	if k.t.holder == h && k.t.token == k.token {
		h.s.later(h.s.lease, func() { h.s.lapse(k.t, k.token) })
	}
	h.runs = slices.DeleteFunc(h.runs, func(r *memory.Run) bool { return r == run })
}

// leave lets go of all that the process holds.
func (h *handle) leave() {
	if h.closed {
		return
	}
	for _, r := range h.runs {
		r.Bell.Lose()
	}
	h.closed, h.runs = true, nil
	for _, t := range slices.Clone(h.s.threads) {
		if t.holder == h {
			t.holder = nil
			h.s.wake(t)
		}
	}
}

// Put implements memory.Store.
func (h *handle) Put(ctx context.Context, thread chat.ThreadID, body memory.Body, ids ...string) (fresh bool, err error) {
	done := false
	err = h.ask(ctx, true, func() {
		if !done { // a store repeats what it has no answer to
			fresh, done = h.s.put(thread, body, ids), true
		}
	})
	return fresh && err == nil, err
}

// PutRef implements memory.Store.
func (h *handle) PutRef(ctx context.Context, ref chat.MessageRef, body memory.Body, ids ...string) (fresh bool, err error) {
	err = h.ask(ctx, true, func() { fresh = h.s.putRef(ref, body, ids) })
	return fresh && err == nil, err
}

// Refer implements memory.Referrer.
func (h *handle) Refer(ctx context.Context, ref chat.MessageRef, thread chat.ThreadID) error {
	return h.ask(ctx, true, func() { h.s.refer(ref, thread) })
}

// Next implements memory.Store.
func (h *handle) Next(ctx context.Context, platforms ...string) (*memory.Run, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var c *claimed
		closed, woken, left := false, false, false
		var wake func()
		err := h.ask(ctx, true, func() {
			if closed = h.closed; closed || left {
				return
			}
			if c = h.s.claim(h, platforms); c == nil {
				h.claims = append(h.claims, func() {
					woken = true
					if wake != nil {
						wake()
					}
				})
			}
		})
		left = true
		switch {
		case ctx.Err() != nil:
			if c != nil { // it is given back
				h.here(func() { h.s.handoff(h, &hold{t: c.t, token: c.token}, false) })
			}
			return nil, ctx.Err()
		case err != nil:
			return nil, fmt.Errorf("claim a thread: %w", err)
		case closed:
			return nil, memory.ErrFenced
		case c != nil:
			var run *memory.Run
			h.here(func() { run = h.began(c) })
			return run, nil
		}
		h.rest(ctx, func(w func()) {
			if wake = w; woken {
				w()
			}
		})
	}
}

func (h *handle) began(c *claimed) *memory.Run {
	k := &hold{t: c.t, token: c.token, seen: c.lastSeq}
	run := &memory.Run{
		Thread: c.t.id, Token: c.token, Log: c.log, Claimed: c.first, Now: c.now, Waited: c.waited, Bell: &memory.Bell{}, Held: k,
	}
	run.Doubt = func() bool { return !h.sure && h.s.now().Sub(h.heard) >= h.s.lease }
	switch {
	case c.t.holder != h || c.t.token != c.token: // the answer took too long
		run.Bell.Lose()
		return run
	case len(c.t.inbox) > 0:
		run.Bell.Mail()
	}
	h.runs = append(h.runs, run)
	run.Kept = h.remembered(run)
	return run
}

// keptLog is a value computed from a log.
type keptLog struct {
	made any
	log  []memory.Entry
}

// remembered gives the value that the last run computed from the log, if the log is the
// same up to there. It must equal the value computed from scratch.
func (h *handle) remembered(run *memory.Run) any {
	k, ok := h.kept[run.Thread]
	delete(h.kept, run.Thread)
	if !ok || len(run.Log) < len(k.log) || !reflect.DeepEqual(run.Log[:len(k.log)], k.log) {
		return nil
	}
	log, ok := k.made.(*agent.Log)
	if !ok { // the contract's tests leave something else
		return k.made
	}
	if !log.Resume(k.log, agent.Claim{}) {
		panic("what was made of a log is of another one")
	}
	if !log.Equal(agent.NewLog(k.log, agent.Claim{})) {
		panic("what was made of a log in the course of runs is not what it comes to")
	}
	return log
}

// Commit implements memory.Store.
func (h *handle) Commit(ctx context.Context, run *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	c, err := h.commit(ctx, run, nil, bodies)
	if err != nil {
		return nil, fenced("commit", err)
	}
	return c.entries[c.own:], nil
}

// Finish implements memory.Store.
func (h *handle) Finish(ctx context.Context, run *memory.Run, wakeAt time.Time, bodies ...memory.Body) (more bool, err error) {
	c, err := h.commit(ctx, run, &wakeAt, bodies)
	if err != nil {
		return false, fenced("finish", err)
	}
	if !c.released {
		return true, nil
	}
	h.here(func() { h.drop(run) })
	if run.Kept != nil {
		h.kept[run.Thread] = keptLog{run.Kept, slices.Clone(run.Log)}
	}
	return false, nil
}

// commit is one commit; with wakeAt one that lets go of the thread.
func (h *handle) commit(ctx context.Context, run *memory.Run, wakeAt *time.Time, bodies []memory.Body) (c committed, err error) {
	k := run.Held.(*hold)
	if !k.doubt || !reflect.DeepEqual(k.bodies, bodies) {
		k.number++
		k.bodies, k.doubt = slices.Clone(bodies), true
	}
	if err := h.ask(ctx, true, func() { c = h.s.append(h, k, wakeAt, bodies) }); err != nil {
		return c, err
	}
	k.doubt = false
	if c.lost {
		h.here(func() { h.drop(run) })
		return c, memory.ErrFenced
	}
	run.Log = append(run.Log, c.entries...)
	k.seen += uint64(len(c.entries))
	return c, nil
}

// fenced returns ErrFenced unwrapped, and wraps any other error.
func fenced(what string, err error) error {
	if errors.Is(err, memory.ErrFenced) {
		return memory.ErrFenced
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Handoff implements memory.Store.
func (h *handle) Handoff(ctx context.Context, run *memory.Run) error {
	k := run.Held.(*hold)
	lost, again := false, k.left
	k.left = true
	if err := h.ask(ctx, true, func() { lost = h.s.handoff(h, k, again) }); err != nil {
		return fmt.Errorf("hand off: %w", err)
	}
	k.left = false
	h.here(func() { h.drop(run) })
	if lost {
		return memory.ErrFenced
	}
	return nil
}

// Self implements memory.Store.
func (h *handle) Self() string { return h.name }

// Silent implements memory.Store.
func (h *handle) Silent(ctx context.Context, _ chat.ThreadID, process string) (d time.Duration, err error) {
	err = h.ask(ctx, false, func() {
		if d = h.s.silent(process); h.s.look != nil {
			h.s.look(process)
		}
	})
	return d, err
}

// Ping implements memory.Store.
func (h *handle) Ping(ctx context.Context) error {
	closed := false
	if err := h.ask(ctx, true, func() { closed = h.closed }); err != nil {
		return err
	}
	if closed {
		return memory.ErrFenced
	}
	return nil
}

// Close implements memory.Store.
func (h *handle) Close() error {
	_ = h.ask(context.Background(), false, h.leave) // what is not let go lapses
	h.here(func() {
		for _, r := range slices.Clone(h.runs) {
			h.drop(r)
		}
		h.closed = true
	})
	return nil
}

// Read implements memory.Reader.
func (h *handle) Read(ctx context.Context, thread chat.ThreadID) (log []memory.Entry, err error) {
	err = h.ask(ctx, false, func() { log = h.s.read(thread) })
	return log, err
}

// Tail implements memory.Reader.
func (h *handle) Tail(ctx context.Context, thread chat.ThreadID, after uint64) (tail memory.Tail, err error) {
	err = h.ask(ctx, false, func() { tail = h.s.tail(thread, after) })
	return tail, err
}

// all yields what the server lists.
func all[T any](ctx context.Context, h *handle, list func() []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var out []T
		if err := h.ask(ctx, false, func() { out = list() }); err != nil {
			var none T
			yield(none, err)
			return
		}
		for _, v := range out {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// Pending implements memory.Catchup.
func (h *handle) Pending(ctx context.Context, platform string) iter.Seq2[memory.PendingApproval, error] {
	return all(ctx, h, func() (out []memory.PendingApproval) {
		for _, t := range h.s.threads {
			if t.id.Platform == platform {
				for _, p := range t.pending {
					p.Due = t.wakeAt
					out = append(out, p)
				}
			}
		}
		return out
	})
}

// Watermarks implements memory.Catchup.
func (h *handle) Watermarks(ctx context.Context, platform string, since time.Time, most int) iter.Seq2[memory.Watermark, error] {
	return all(ctx, h, func() (out []memory.Watermark) {
		threads := slices.Clone(h.s.threads)
		slices.SortStableFunc(threads, func(x, y *thread) int { return y.touched.Compare(x.touched) })
		for _, t := range threads {
			if t.id.Platform == platform && !t.latest.Last.IsZero() && !t.touched.Before(since) && (most == 0 || len(out) < most) {
				out = append(out, t.latest)
			}
		}
		return out
	})
}

// Audit implements memory.Auditor.
func (h *handle) Audit(ctx context.Context, thread chat.ThreadID) iter.Seq2[memory.AuditLine, error] {
	return memory.Resolved(ctx, h, thread, func(memory.Names) iter.Seq2[memory.KeptLine, error] { return h.Lines(ctx) })
}

// Lines implements memory.Auditor.
func (h *handle) Lines(ctx context.Context) iter.Seq2[memory.KeptLine, error] {
	return all(ctx, h, func() []memory.KeptLine {
		lines, _ := h.s.chains()
		return lines
	})
}

// Heads implements memory.Auditor.
func (h *handle) Heads(ctx context.Context) (heads map[string]memory.Head, err error) {
	err = h.ask(ctx, false, func() { _, heads = h.s.chains() })
	return heads, err
}

// Newer implements memory.Auditor.
func (h *handle) Newer(ctx context.Context, mark string, each func(memory.KeptLine)) (end string, older bool, err error) {
	err = h.ask(ctx, false, func() {
		lines, _ := h.s.chains()
		n, _ := strconv.Atoi(memory.MarkedID(mark))
		if older = n > len(lines) || markBehind(lines[:min(n, len(lines))]) != mark; older {
			end = mark
			return
		}
		for _, k := range lines[n:] {
			each(k)
		}
		end = markBehind(lines)
	})
	return end, older, err
}

// Mark implements memory.Auditor.
func (h *handle) Mark(ctx context.Context) (mark string, err error) {
	err = h.ask(ctx, false, func() {
		lines, _ := h.s.chains()
		mark = markBehind(lines)
	})
	return mark, err
}

func markBehind(lines []memory.KeptLine) string {
	if len(lines) == 0 {
		return ""
	}
	return memory.KeptLine{ID: strconv.Itoa(len(lines)), Raw: lines[len(lines)-1].Raw}.Mark()
}

// People implements memory.Auditor.
func (h *handle) People(ctx context.Context) (out []memory.Person, err error) {
	err = h.ask(ctx, false, func() { out = h.s.persons() })
	return out, err
}

// Unname implements memory.People.
func (h *handle) Unname(ctx context.Context, id string) error {
	return h.ask(ctx, true, func() { delete(h.s.people, id) })
}

// PutBlob implements memory.Blobs.
func (h *handle) PutBlob(ctx context.Context, thread chat.ThreadID, data []byte) (name string, err error) {
	if len(data) > memory.BlobCap {
		return "", fmt.Errorf("keep a file: %d bytes are more than %d", len(data), memory.BlobCap)
	}
	var full error
	err = h.ask(ctx, true, func() { name, full = h.s.putBlob(thread, data) })
	return name, errors.Join(err, full)
}

// Blob implements memory.Blobs.
func (h *handle) Blob(ctx context.Context, thread chat.ThreadID, name string) (data []byte, err error) {
	ok := false
	err = h.ask(ctx, false, func() {
		if t := h.s.byID[thread]; t != nil {
			data, ok = t.blobs[name]
		}
	})
	if err == nil && !ok {
		err = memory.ErrNoBlob
	}
	return slices.Clone(data), err
}

// DropBlob implements memory.Blobs.
func (h *handle) DropBlob(ctx context.Context, thread chat.ThreadID, name string) error {
	return h.ask(ctx, true, func() {
		if t := h.s.byID[thread]; t != nil {
			delete(t.blobs, name)
		}
	})
}

// Count implements memory.Counters.
func (h *handle) Count(ctx context.Context, name string, n int64, ttl time.Duration) (sum int64, err error) {
	err = h.ask(ctx, true, func() { sum = h.s.count(name, n, ttl) })
	return sum, err
}

// Note implements memory.Notes.
func (h *handle) Note(ctx context.Context, name string, value []byte) error {
	return h.ask(ctx, true, func() { h.s.note(name, value) })
}

// Swap implements memory.Notes.
func (h *handle) Swap(ctx context.Context, name string, old, value []byte) (done bool, err error) {
	err = h.ask(ctx, true, func() {
		noted := h.s.notes[name]
		if bytes.Equal(noted, old) {
			h.s.note(name, value)
		}
		done = bytes.Equal(noted, old) || bytes.Equal(noted, value)
	})
	return done && err == nil, err
}

func (s *server) note(name string, value []byte) {
	if len(value) == 0 {
		delete(s.notes, name)
		return
	}
	s.notes[name] = slices.Clone(value)
}

// Noted implements memory.Notes.
func (h *handle) Noted(ctx context.Context, name string) (value []byte, err error) {
	err = h.ask(ctx, false, func() { value = h.s.notes[name] })
	return value, err
}
