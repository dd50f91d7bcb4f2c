package catchup

import (
	"context"
	"errors"
	"testing"
	"time"
)

// slip is what a process leaves to the next one.
type slip struct {
	raw []byte
	err error
}

func (s *slip) Note(_ context.Context, _ string, raw []byte) error {
	if s.err == nil {
		s.raw = raw
	}
	return s.err
}

func (s *slip) Noted(context.Context, string) ([]byte, error) { return s.raw, s.err }

// The note outlives the process. During a gap it stands still, so the next look knows
// when the gap began, although other processes note meanwhile.
func TestListened(t *testing.T) {
	s, now := &slip{}, time.Unix(1000, 0).UTC()
	start := func() *Listened { return NewListened(s, "heard", func() time.Time { return now }) }
	l := start()
	since := func(want int64) {
		t.Helper()
		got, err := l.Since(t.Context())
		if err != nil || want == 0 && !got.IsZero() || want != 0 && got.Unix() != want {
			t.Errorf("since %v, %v, want %d", got, err, want)
		}
	}
	note := func(at int64) {
		t.Helper()
		now = time.Unix(at, 0).UTC()
		if err := l.Note(t.Context()); err != nil {
			t.Error(err)
		}
	}
	note(1000) // nobody has looked yet
	since(0)
	l.Close()
	note(1001)
	l = start() // the next process
	note(2000)
	since(1001)
	l.Gap() // another, while it looks
	l.Close()
	note(2001)
	since(1001)
	l.Close()
	note(3000)
	l.Gap()
	s.raw = []byte("2000-01-01T00:00:00Z") // another process
	note(3001)
	since(3000)
}

// An unreadable or unwritable note is tried again. A note of another version counts as
// none.
func TestListenedStoreDown(t *testing.T) {
	s := &slip{err: errors.New("down")}
	l := NewListened(s, "heard", time.Now)
	if _, err := l.Since(t.Context()); !errors.Is(err, s.err) {
		t.Errorf("since: %v", err)
	}
	l.Close()
	if err := l.Note(t.Context()); !errors.Is(err, s.err) {
		t.Errorf("note: %v", err)
	}
	s.err, s.raw = nil, []byte("?")
	if at, err := l.Since(t.Context()); err != nil || !at.IsZero() {
		t.Errorf("since %v, %v", at, err)
	}
}
