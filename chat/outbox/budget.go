package outbox

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// Budget is a bucket's limit. The zero Budget allows everything.
type Budget struct {
	Rate  rate.Limit // calls per second in the long run; 0 or rate.Inf: any number
	Burst int        // calls at once after a rest; at least 1
	// Most is how many calls there may be in any span; 0: any number. A call
	// counts from when it is made until a span after its answer: the platform
	// counts it somewhere in between.
	Most int
	Span time.Duration
	// Announced says that the platform tells with its answers how much is
	// left (see [Outbox.Update]). Until it has, one call is made at a time.
	Announced bool
}

// Window is a Budget of at most n calls in any span of the given length, up to burst of
// them at once, and n a span in the long run. Platforms publish limits in this form; a
// plain rate of n per span would exceed them by its burst.
func Window(n int, span time.Duration, burst int) Budget {
	n = max(1, n)
	return Budget{Rate: rate.Limit(float64(n) / span.Seconds()), Burst: max(1, min(burst, n)), Most: n, Span: span}
}

// Announced is a platform's announcement about a bucket, in a response.
type Announced struct {
	Limit     int           // calls in each window; 0 if it doesn't say
	Remaining int           // calls left in this window
	Reset     time.Duration // until the next window begins
}

const (
	// minPause keeps a platform that says "again in 0 s" from being asked in a loop.
	minPause = 100 * time.Millisecond
	// minWait covers the rounding of tokens into time.
	minWait = time.Microsecond
	// minSweep is how many buckets there are before it is worth looking for idle ones.
	minSweep = 256
)

// bucket is one budget and its use. Two sources limit it: our own rate, and the
// platform's announcements. The mutex of its Outbox guards it.
type bucket struct {
	limiter *rate.Limiter // nil: no rate of our own
	burst   int
	most    int           // calls in any span; 0: any number
	span    time.Duration // of the window
	ended   []time.Time   // when the calls of the last span returned, in order
	closed  time.Time     // refused by the platform until then
	running int           // calls under way
	refs    int           // calls waiting or under way
	probing bool          // the platform will say more; nothing was heard yet

	announced bool
	limit     int       // calls in each window, as far as we know
	left      int       // calls that this window still allows
	reset     time.Time // when the window ends
	stale     bool      // the window has ended; nothing was heard of the next
}

func newBucket(b Budget) *bucket {
	out := &bucket{probing: b.Announced, most: b.Most, span: b.Span}
	if b.Rate > 0 && b.Rate != rate.Inf {
		out.burst = max(1, b.Burst)
		out.limiter = rate.NewLimiter(b.Rate, out.burst)
	}
	return out
}

// ready says when a call may be made that leaves need-1 further ones possible,
// as far as time alone decides. ok is false where another call must return
// first.
func (b *bucket) ready(now time.Time, need int) (at time.Time, ok bool) {
	at = now
	if b.closed.After(at) {
		at = b.closed
	}
	if b.limiter != nil {
		missing := float64(min(need, b.burst)) - b.limiter.TokensAt(now)
		if missing > 0 {
			wait := time.Duration(math.Ceil(missing / float64(b.limiter.Limit()) * float64(time.Second)))
			at = later(at, now.Add(max(wait, minWait)))
		}
	}
	if b.most > 0 {
		free, ok := b.free(now, need)
		if !ok {
			return at, false
		}
		at = later(at, free)
	}
	if b.probing && b.running > 0 {
		return at, false
	}
	if b.announced {
		b.expire(now)
		switch {
		case b.left >= min(need, b.limit):
		case !b.stale:
			at = later(at, b.reset)
		case b.running > 0:
			return at, false
		}
	}
	return at, true
}

// free says when the window has room for need calls. ok is false where a call
// that is under way must return first.
func (b *bucket) free(now time.Time, need int) (at time.Time, ok bool) {
	for len(b.ended) > 0 && now.Sub(b.ended[0]) >= b.span {
		b.ended = b.ended[1:]
	}
	if need > 1 {
		need += b.most / 5 // floating calls leave the last of the window to others
	}
	over := b.running + len(b.ended) + min(need, b.most) - b.most
	switch {
	case over <= 0:
		return now, true
	case over > len(b.ended):
		return now, false
	}
	return b.ended[over-1].Add(b.span), true
}

// expire begins a window that the platform has said nothing about yet: it is
// taken to allow as much as the one before, less the calls under way, since
// they may count in it.
func (b *bucket) expire(now time.Time) {
	if !b.stale && !now.Before(b.reset) {
		b.stale = true
		b.left = max(0, b.limit-b.running)
	}
}

func (b *bucket) spend(now time.Time) {
	if b.limiter != nil {
		b.limiter.AllowN(now, 1)
	}
	if b.announced {
		b.left--
	}
	b.running++
}

// noteReturn notes that a call has returned. If a platform was expected to announce a
// limit and did not, it has none here.
func (b *bucket) noteReturn(now time.Time, err error) {
	b.running--
	if b.most > 0 {
		b.ended = append(b.ended, now)
	}
	if err == nil {
		b.probing = false
	}
}

// announce takes the platform's word. Answers may overtake one another, and
// other calls may be under way that this one doesn't count yet, so within a
// window the number left never rises.
func (b *bucket) announce(now time.Time, said Announced) {
	left := said.Remaining - max(0, b.running-1)
	reset := now.Add(max(0, said.Reset))
	b.limit = max(1, said.Limit, said.Remaining)
	if said.Limit == 0 {
		b.limit = max(b.limit, said.Remaining+1)
	}
	b.probing = false
	if b.announced {
		b.expire(now)
		if !b.stale {
			left = min(left, b.left)
			reset = later(reset, b.reset)
		}
	}
	b.announced, b.stale = true, false
	b.left, b.reset = left, reset
}

// close shuts the bucket, and reopens it with a single call: the platform's count
// differs from ours.
func (b *bucket) close(now time.Time, after time.Duration) {
	until := now.Add(max(after, minPause))
	b.closed = later(b.closed, until)
	if b.limiter != nil {
		if n := int(b.limiter.TokensAt(b.closed)) - 1; n > 0 {
			b.limiter.AllowN(b.closed, n)
		}
	}
	if b.announced {
		b.announced, b.probing = false, true
	}
}

// idle says whether forgetting the bucket would allow nothing new.
func (b *bucket) idle(now time.Time) bool {
	return b.refs == 0 && !b.closed.After(now) && !b.reset.After(now) &&
		(len(b.ended) == 0 || now.Sub(b.ended[len(b.ended)-1]) >= b.span) &&
		(b.limiter == nil || b.limiter.TokensAt(now) >= float64(b.burst))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// bucket gives the bucket of that name. Buckets are named after channels, of
// which there is no end, so idle ones are dropped now and then.
func (o *Outbox) bucket(name string) *bucket {
	if b, ok := o.buckets[name]; ok {
		return b
	}
	if len(o.buckets) >= o.sweepAt {
		now := time.Now()
		for n, b := range o.buckets {
			if b.idle(now) {
				delete(o.buckets, n)
			}
		}
		o.sweepAt = max(minSweep, 2*len(o.buckets))
	}
	var budget Budget
	if o.options.Budget != nil {
		budget = o.options.Budget(name)
	}
	b := newBucket(budget)
	o.buckets[name] = b
	return b
}
