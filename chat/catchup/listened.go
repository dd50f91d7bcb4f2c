package catchup

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Listened knows up to when everything was heard, by this process or an earlier one. A
// thread's last message does not tell that: a silent thread has none, and may still get
// a message during a gap. So the time is noted in the store, but not while a gap is
// open: a process that dies before its look must leave the gap to the next one.
type Listened struct {
	notes Notes
	name  string
	now   func() time.Time

	mu    sync.Mutex
	open  bool      // there is a gap
	again bool      // there was another since the look began
	last  time.Time // noted by this process
}

// Notes is where notes are kept, by name.
type Notes interface {
	Note(ctx context.Context, name string, value []byte) error
	Noted(ctx context.Context, name string) ([]byte, error)
}

// NewListened makes a Listened that is noted under a name. It begins with a gap:
// nobody knows how long the process was away.
func NewListened(notes Notes, name string, now func() time.Time) *Listened {
	return &Listened{notes: notes, name: name, now: now, open: true, again: true}
}

// Gap says that something may have been missed.
func (l *Listened) Gap() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open, l.again = true, true
}

// Since begins a look: everything before that time was heard. It is zero where
// nobody ever listened.
func (l *Listened) Since(ctx context.Context) (time.Time, error) {
	l.mu.Lock()
	l.again = false
	last := l.last
	l.mu.Unlock()
	if !last.IsZero() {
		return last, nil // others may have noted since, who missed something else
	}
	raw, err := l.notes.Noted(ctx, l.name)
	if err != nil {
		return time.Time{}, fmt.Errorf("read up to when all was heard: %w", err)
	}
	var at time.Time
	if len(raw) == 0 || at.UnmarshalText(raw) != nil {
		return time.Time{}, nil
	}
	return at, nil
}

// Close ends a look that has found everything, unless there was another gap
// meanwhile.
func (l *Listened) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = l.again
}

// Note notes that everything was heard up to now. While there is a gap it notes
// nothing.
func (l *Listened) Note(ctx context.Context) error {
	at := l.now().UTC()
	l.mu.Lock()
	open := l.open
	l.mu.Unlock()
	if open {
		return nil
	}
	raw, err := at.MarshalText()
	if err == nil {
		err = l.notes.Note(ctx, l.name, raw)
	}
	if err != nil {
		return fmt.Errorf("note up to when all was heard: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = at
	return nil
}
