package catchup

import (
	"context"
	"sync"
	"time"
)

// Gap is a reason to look for missed events. The zero Gap means now.
type Gap struct {
	After   time.Duration // not at once, since a failure would repeat itself
	Overlap time.Duration // how much further back a look goes
}

// Looks makes a look for each gap, one at a time, and repeats failed ones.
type Looks struct {
	look   func(ctx context.Context, overlap time.Duration) error
	failed func(error)
	retry  time.Duration
	wake   chan struct{}

	mu     sync.Mutex // of the reasons for a look that has not begun
	now    bool
	later  bool
	reason Gap
}

// NewLooks makes Looks. look is one look; failed hears of a failed one, which is made
// again after retry.
func NewLooks(look func(ctx context.Context, overlap time.Duration) error, failed func(error), retry time.Duration) *Looks {
	return &Looks{look: look, failed: failed, retry: retry, wake: make(chan struct{}, 1)}
}

// Missed asks for a look. It doesn't wait for it. Gaps that open before the
// look begins are looked for together.
func (l *Looks) Missed(g Gap) {
	l.mu.Lock()
	l.now = l.now || g.After == 0
	l.later = l.later || g.After > 0
	l.reason.After, l.reason.Overlap = max(l.reason.After, g.After), max(l.reason.Overlap, g.Overlap)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// takeReasons removes and joins the new reasons for a look.
func (l *Looks) takeReasons() (now, later bool, g Gap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, later, g = l.now, l.later, l.reason
	l.now, l.later, l.reason = false, false, Gap{}
	return now, later, g
}

// Run looks whenever there is a gap, until ctx ends.
func (l *Looks) Run(ctx context.Context) {
	var due <-chan time.Time
	overlap := time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
			now, later, g := l.takeReasons()
			overlap = max(overlap, g.Overlap)
			if later && due == nil {
				due = time.After(g.After)
			}
			if !now {
				continue
			}
		case <-due:
			due = nil
		}
		if err := l.look(ctx, overlap); err == nil {
			overlap = 0
		} else if ctx.Err() == nil {
			l.failed(err)
			l.Missed(Gap{After: l.retry}) // the overlap is still to be looked for
		}
	}
}
