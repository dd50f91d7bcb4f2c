package chat

import (
	"fmt"
	"time"
)

// Work is what nod does in a thread now, for the platform's sign of work: it is no message
// and rings nowhere. The zero Work says that nod is at rest there.
type Work struct {
	What  string    // in a few words: `Thinking`, `Running fetch`
	Since time.Time // when it began that
	// Next is when it tries again what was refused for the moment; zero: nothing was.
	Next time.Time
	// For is how long it has done that by the last [Mark].
	For time.Duration
	// On is the message that it works on.
	On MessageRef
	// Waits says that it waits for people, and nothing runs meanwhile.
	Waits bool
}

// Mark gives the times at which a sign says for how long the work goes on: after 10 s, 30 s,
// and each minute. last is the one that has come, or 0, and next the one to come.
func Mark(took time.Duration) (last, next time.Duration) {
	const first, second = 10 * time.Second, 30 * time.Second
	switch {
	case took < first:
		return 0, first
	case took < second:
		return first, second
	case took < time.Minute:
		return second, time.Minute
	}
	last = took.Truncate(time.Minute)
	return last, last + time.Minute
}

// Busy says that something runs, which people may stop.
func (w Work) Busy() bool { return w.What != "" && !w.Waits }

// Same says that both are the same work, however long it takes.
func (w Work) Same(o Work) bool {
	return w.What == o.What && w.Next.Equal(o.Next) && w.On == o.On && w.Waits == o.Waits
}

// String is the work in words: `Thinking · 30 s`, `The model is overloaded; next try in 20 s`.
func (w Work) String() string {
	switch {
	case !w.Next.IsZero():
		left := w.Next.Sub(w.Since) - w.For
		return w.What + "; next try in " + lasted(max(time.Second, left+time.Second-1))
	case w.For > 0:
		return w.What + " · " + lasted(w.For)
	}
	return w.What
}

// lasted writes a duration in whole seconds, or in whole minutes from two on.
func lasted(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min", int(d.Minutes()))
}
