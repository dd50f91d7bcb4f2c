// Package ledger is the inbox that the tests of adapters put into: it writes
// down what it is given, and drops what it knows, as a store does. A test reads
// it inside [Ledger.Do] or [Ledger.Await], or once nothing changes it any more.
package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/chat"
)

// Longest is how long a test waits for what has to come about; only a failing test
// waits for it.
const Longest = 5 * time.Minute

// Ledger is an inbox that a test can look into. Make it with [New].
type Ledger struct {
	// The entries that were put.
	Messages  []Put
	Reactions []chat.Reaction
	Edits     map[chat.MessageRef]string
	Deletions []chat.MessageRef
	Halts     []chat.ThreadID
	Said      []string // why calls were denied and what people think of answers, a line each
	Changes   []Change // of calls that wait
	Codes     []chat.Code
	Reruns    []Change // of calls of turns that are over
	Blobs     map[string][]byte
	Repeats   int             // events that were known
	Known     map[string]bool // ids of events
	Notes     map[string][]byte

	// Its answers. Put messages change Threads and Marks.
	Fail     error // instead of all else
	Threads  map[chat.ThreadID]chat.Standing
	Marks    []chat.Watermark
	Waiting  []chat.Pending
	Turns    map[string]chat.Steps
	Cards    map[string]chat.Approval // by call, as Calls
	Calls    map[string]chat.Again
	Verdicts map[chat.UserID]string // what the judge says to those who denied a call
	Refuse   string                 // why calls are neither changed nor run again
	Past     map[chat.ThreadID][]chat.Line
	Slow     chan struct{} // if not nil, Steps waits until it is closed

	mu      sync.Mutex
	changed chan struct{}
}

// Put is a message that was put.
type Put struct {
	Thread chat.ThreadID
	chat.Message
}

// Change is what somebody made of a call.
type Change struct {
	Thread chat.ThreadID
	chat.Change
}

// New makes an empty ledger.
func New() *Ledger {
	return &Ledger{
		changed: make(chan struct{}), Known: map[string]bool{}, Notes: map[string][]byte{}, Edits: map[chat.MessageRef]string{}, Blobs: map[string][]byte{},
		Threads: map[chat.ThreadID]chat.Standing{}, Turns: map[string]chat.Steps{}, Past: map[chat.ThreadID][]chat.Line{},
		Cards: map[string]chat.Approval{}, Verdicts: map[chat.UserID]string{}, Calls: map[string]chat.Again{},
	}
}

func (l *Ledger) put(ids []string, note func()) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() {
		close(l.changed)
		l.changed = make(chan struct{})
	}()
	if l.Fail != nil {
		return false, l.Fail
	}
	if slices.ContainsFunc(ids, func(id string) bool { return l.Known[id] }) {
		l.Repeats++
		return false, nil
	}
	for _, id := range ids {
		l.Known[id] = true
	}
	note()
	return true, nil
}

// Message implements the inbox of nod/front.
func (l *Ledger) Message(_ context.Context, t chat.ThreadID, m chat.Message, ids ...string) (bool, error) {
	return l.put(ids, func() {
		l.Messages = append(l.Messages, Put{t, m})
		st := l.Threads[t]
		st.Known, st.Last = true, m.Sent
		if st.First.IsZero() || m.Sent.Before(st.First) {
			st.First = m.Sent
		}
		l.Threads[t] = st
		l.Marks = slices.DeleteFunc(l.Marks, func(w chat.Watermark) bool { return w.Thread == t })
		l.Marks = append(l.Marks, chat.Watermark{Thread: t, Last: m.Ref, Sent: m.Sent})
	})
}

// Reaction implements the inbox of nod/front.
func (l *Ledger) Reaction(_ context.Context, r chat.Reaction, ids ...string) (bool, error) {
	return l.put(ids, func() { l.Reactions = append(l.Reactions, r) })
}

// Edited implements the inbox of nod/front.
func (l *Ledger) Edited(_ context.Context, ref chat.MessageRef, text string, ids ...string) (bool, error) {
	return l.put(ids, func() { l.Edits[ref] = text })
}

// Deleted implements the inbox of nod/front.
func (l *Ledger) Deleted(_ context.Context, ref chat.MessageRef, ids ...string) (bool, error) {
	return l.put(ids, func() { l.Deletions = append(l.Deletions, ref) })
}

// Halt implements the inbox of nod/front.
func (l *Ledger) Halt(_ context.Context, t chat.ThreadID, _ chat.User, ids ...string) (bool, error) {
	return l.put(ids, func() { l.Halts = append(l.Halts, t) })
}

// Left implements the inbox of nod/front.
func (l *Ledger) Left(_ context.Context, _ chat.ThreadID, by chat.User, ids ...string) (bool, error) {
	return l.put(ids, func() { l.Said = append(l.Said, by.Name+" left") })
}

// Reason implements the inbox of nod/front.
func (l *Ledger) Reason(_ context.Context, t chat.ThreadID, call string, by chat.User, text string, ids ...string) (bool, error) {
	return l.put(ids, func() { l.Said = append(l.Said, fmt.Sprint(t.Root, " ", call, " ", by.Name, ": ", text)) })
}

// Feedback implements the inbox of nod/front.
func (l *Ledger) Feedback(_ context.Context, on chat.MessageRef, by chat.User, good bool, text string, ids ...string) (bool, error) {
	return l.put(ids, func() {
		l.Said = append(l.Said, strings.TrimSpace(fmt.Sprint(on.ID, " ", by.Name, " ", good, " ", text)))
	})
}

// Change implements the inbox of nod/front.
func (l *Ledger) Change(_ context.Context, t chat.ThreadID, c chat.Change, ids ...string) (refused string, err error) {
	if l.Do(func() { refused = l.Refuse }); refused != "" {
		return refused, nil
	}
	_, err = l.put(ids, func() { l.Changes = append(l.Changes, Change{t, c}) })
	return "", err
}

// Code implements the inbox of nod/front: 123456 is right.
func (l *Ledger) Code(_ context.Context, _ chat.ThreadID, c chat.Code, ids ...string) (refused string, err error) {
	if l.Do(func() { refused = l.Refuse }); refused != "" || c.Digits == "" {
		return refused, nil
	}
	if c.Digits != "123456" {
		return "This code is wrong", nil
	}
	_, err = l.put(ids, func() { l.Codes = append(l.Codes, c) })
	return "", err
}

// RunAgain implements the inbox of nod/front.
func (l *Ledger) RunAgain(_ context.Context, t chat.ThreadID, c chat.Change, ids ...string) (refused string, err error) {
	if l.Do(func() { refused = l.Refuse }); refused != "" {
		return refused, nil
	}
	_, err = l.put(ids, func() { l.Reruns = append(l.Reruns, Change{t, c}) })
	return "", err
}

// Card implements the inbox of nod/front.
func (l *Ledger) Card(_ context.Context, _ chat.ThreadID, call string) (chat.Approval, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.Cards[call]
	return p, ok, l.Fail
}

// Judged implements the inbox of nod/front.
func (l *Ledger) Judged(_ context.Context, _ chat.ThreadID, _ string, by chat.UserID) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Verdicts[by], l.Fail
}

// Again implements the inbox of nod/front.
func (l *Ledger) Again(_ context.Context, _ chat.ThreadID, call string) (chat.Again, string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Calls[call], l.Refuse, l.Fail
}

// Home says that nothing waits for anybody.
func (l *Ledger) Home(context.Context, string, chat.Visit) (chat.Home, error) {
	return chat.Home{}, nil
}

// Files says that no conversation holds a file.
func (l *Ledger) Files(context.Context, chat.ThreadID) ([]string, error) { return nil, nil }

// History implements the inbox of nod/front.
func (l *Ledger) History(_ context.Context, t chat.ThreadID) ([]chat.Line, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Past[t], l.Fail
}

// Keep implements the inbox of nod/front.
func (l *Ledger) Keep(_ context.Context, _ chat.ThreadID, data []byte) (string, error) {
	sum := sha256.Sum256(data)
	name := "b-" + hex.EncodeToString(sum[:4])
	_, err := l.put(nil, func() { l.Blobs[name] = data })
	return name, err
}

// Blob implements the inbox of nod/front.
func (l *Ledger) Blob(_ context.Context, _ chat.ThreadID, name string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Fail != nil {
		return nil, l.Fail
	}
	data, ok := l.Blobs[name]
	if !ok {
		return nil, chat.ErrNoFile
	}
	return data, nil
}

// Note keeps an adapter's own note.
func (l *Ledger) Note(_ context.Context, name string, value []byte) error {
	_, err := l.put(nil, func() { l.Notes[name] = slices.Clone(value) })
	return err
}

// Noted gives what Note kept under the name; nothing where it kept nothing.
func (l *Ledger) Noted(_ context.Context, name string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.Notes[name]), l.Fail
}

// Standing implements the inbox of nod/front.
func (l *Ledger) Standing(_ context.Context, t chat.ThreadID) (chat.Standing, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Threads[t], l.Fail
}

// Watermarks implements the inbox of nod/front.
func (l *Ledger) Watermarks(context.Context, string, time.Time, int) iter.Seq2[chat.Watermark, error] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return each(slices.Clone(l.Marks), l.Fail)
}

// Pending implements the inbox of nod/front.
func (l *Ledger) Pending(context.Context, string) iter.Seq2[chat.Pending, error] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return each(slices.Clone(l.Waiting), l.Fail)
}

// Steps implements the inbox of nod/front.
func (l *Ledger) Steps(_ context.Context, _ chat.ThreadID, turn string) (chat.Steps, bool, error) {
	l.mu.Lock()
	slow, err := l.Slow, l.Fail
	s, ok := l.Turns[turn]
	l.mu.Unlock()
	if slow != nil {
		<-slow
	}
	return s, ok, err
}

func each[T any](all []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// Do changes or reads the ledger.
func (l *Ledger) Do(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// Await waits until the condition holds.
func (l *Ledger) Await(t testing.TB, holds func() bool) {
	t.Helper()
	deadline := time.After(Longest)
	for {
		l.mu.Lock()
		changed, ok := l.changed, holds()
		l.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			l.mu.Lock()
			defer l.mu.Unlock()
			t.Fatalf("waited in vain; there are %d messages, %d reactions: %v", len(l.Messages), len(l.Reactions), l.Reactions)
		}
	}
}

// Texts lists what the messages say.
func (l *Ledger) Texts() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, m := range l.Messages {
		out = append(out, m.Text)
	}
	return out
}

// Run runs an adapter beside a test. stop ends it and waits for it, at the
// latest when the test is over; an error of run fails the test.
func Run(t testing.TB, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}
