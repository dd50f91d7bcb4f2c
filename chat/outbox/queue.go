package outbox

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// item is a call that waits or is under way.
type item struct {
	call    Call
	names   []string // of its buckets, sorted
	buckets []*bucket
	queues  []string // its group and its key
	since   time.Time
	due     time.Time // the earliest goes first
	number  uint64    // then the first that was made
	waited  time.Duration

	running  bool
	attempts int
	granted  chan struct{} // its turn has come; nil if it floats
}

func (it *item) before(other *item) bool {
	if !it.due.Equal(other.due) {
		return it.due.Before(other.due)
	}
	return it.number < other.number
}

// submit makes a call wait, and lets it begin if nothing keeps it.
func (o *Outbox) submit(call Call) *item {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.dispatch()
	now := time.Now()
	old := o.floater(call.Key)
	if old != nil && call.Float { // the newer takes the place of the older
		o.release(old)
		o.prepare(old, call, now)
		return old
	}
	if old != nil {
		o.leave(old)
	}
	o.made++
	it := &item{number: o.made, since: now, due: now.Add(time.Hour)}
	o.prepare(it, call, now)
	if !call.Float {
		it.granted = make(chan struct{}, 1)
	}
	o.waiting = append(o.waiting, it)
	for _, q := range it.queues {
		o.queues[q] = append(o.queues[q], it)
	}
	o.lend(it)
	return it
}

// floater gives the floating call of the key that still waits, if there is one;
// it is then the last of its queue.
func (o *Outbox) floater(key string) *item {
	queue := o.queues[keyQueue(key)]
	if key == "" || len(queue) == 0 {
		return nil
	}
	if it := queue[len(queue)-1]; it.call.Float && !it.running {
		return it
	}
	return nil
}

func keyQueue(key string) string { return "key " + key }

// prepare fills in the item from the call. A call that takes the place of
// another keeps its date where that is earlier.
func (o *Outbox) prepare(it *item, call Call, now time.Time) {
	it.call, it.attempts = call, 0
	due := now.Add(patience[min(max(call.Priority, Approval), Low)])
	if call.Float {
		due = due.Add(floatPatience)
	}
	if due.Before(it.due) {
		it.due = due
	}
	it.names = append([]string{Everything}, call.Buckets...)
	slices.Sort(it.names)
	it.names = slices.Compact(it.names)
	it.buckets = make([]*bucket, len(it.names))
	for i, name := range it.names {
		it.buckets[i] = o.bucket(name)
		it.buckets[i].refs++
	}
	it.queues = it.queues[:0]
	if call.Key != "" {
		it.queues = append(it.queues, keyQueue(call.Key))
	}
	if call.Group != "" && !call.Float {
		it.queues = append(it.queues, "group "+call.Group)
	}
}

func (o *Outbox) release(it *item) {
	for _, b := range it.buckets {
		b.refs--
	}
}

// lend moves those that the item has to wait for up to its own date.
func (o *Outbox) lend(it *item) {
	for _, q := range it.queues {
		for _, ahead := range o.queues[q] {
			if ahead == it {
				break
			}
			if it.due.Before(ahead.due) {
				ahead.due = it.due
				o.lend(ahead)
			}
		}
	}
}

// isFirst says whether the item is the first in each of its queues.
func (o *Outbox) isFirst(it *item) bool {
	return !slices.ContainsFunc(it.queues, func(q string) bool { return o.queues[q][0] != it })
}

// leave takes the item out for good, and lets those behind it move up.
func (o *Outbox) leave(it *item) {
	o.waiting = without(o.waiting, it)
	o.release(it)
	for _, q := range it.queues {
		if o.queues[q] = without(o.queues[q], it); len(o.queues[q]) == 0 {
			delete(o.queues, q)
		}
	}
}

func without(items []*item, one *item) []*item {
	return slices.DeleteFunc(items, func(it *item) bool { return it == one })
}

// abandon takes out an item whose caller has gone. It is false when the item's
// turn has come already.
func (o *Outbox) abandon(it *item) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if it.running {
		return false
	}
	o.leave(it)
	o.dispatch()
	return true
}

// dispatch lets all calls begin that can, in order, and sees to it that it is
// called again when time alone will let another begin. The mutex is held.
func (o *Outbox) dispatch() {
	now := time.Now()
	for {
		it, wake := o.pick(now)
		if it == nil {
			o.wakeAt(now, wake)
			return
		}
		o.grant(it, now)
	}
}

// pick gives the first call that can begin, or the time at which there will be
// one (zero: something else must happen first).
func (o *Outbox) pick(now time.Time) (*item, time.Time) {
	var best *item
	var wake time.Time
	for _, it := range o.waiting {
		if best != nil && best.before(it) || !o.isFirst(it) {
			continue
		}
		at, ok := o.ready(it, now)
		switch {
		case !ok:
		case !at.After(now):
			best = it
		case wake.IsZero() || at.Before(wake):
			wake = at
		}
	}
	return best, wake
}

func (o *Outbox) ready(it *item, now time.Time) (time.Time, bool) {
	need := 1
	if it.call.Float {
		if o.start == nil || o.floating >= o.options.Floating {
			return now, false
		}
		if now.Before(it.due) { // it leaves the last of a budget to others
			need = 2
		}
	}
	return room(it.buckets, now, need)
}

func room(buckets []*bucket, now time.Time, need int) (time.Time, bool) {
	at := now
	for _, b := range buckets {
		t, ok := b.ready(now, need)
		if !ok {
			return now, false
		}
		at = later(at, t)
	}
	return at, true
}

func (o *Outbox) grant(it *item, now time.Time) {
	o.waiting = without(o.waiting, it)
	it.running = true
	it.waited = now.Sub(it.since)
	for _, b := range it.buckets {
		b.spend(now)
	}
	if it.call.Float {
		o.floating++
		o.start(it)
		return
	}
	it.granted <- struct{}{}
}

// settle notes how a call ended. A refused one waits again, in its old place,
// unless it has been refused too often; one that a newer call has made
// pointless in the meantime counts as made.
func (o *Outbox) settle(it *item, err error) (bool, error) {
	var refused *RetryAfter
	if errors.As(err, &refused) {
		defer o.paused(it, refused)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.dispatch()
	now := time.Now()
	for _, b := range it.buckets {
		b.noteReturn(now, err)
	}
	if it.call.Float {
		o.floating--
	}
	if refused != nil {
		for _, b := range o.closedBy(it, refused) {
			b.close(now, refused.After)
		}
		it.attempts++
	}
	switch {
	case refused != nil && o.superseded(it):
		err = nil
	case refused != nil && it.attempts < o.options.Attempts:
		it.running = false
		o.waiting = append(o.waiting, it)
		return true, err
	}
	o.leave(it)
	return false, err
}

// closedBy gives the buckets that a refusal closes, at least one of them the
// call's own, so that it isn't made again at once.
func (o *Outbox) closedBy(it *item, refused *RetryAfter) []*bucket {
	var own []*bucket
	for i, name := range it.names {
		switch {
		case name == refused.Bucket:
			return []*bucket{it.buckets[i]}
		case name != Everything || len(it.names) == 1:
			own = append(own, it.buckets[i])
		}
	}
	if refused.Bucket != "" {
		own = append(own, o.bucket(refused.Bucket))
	}
	return own
}

func (o *Outbox) paused(it *item, refused *RetryAfter) {
	if o.options.Hooks.Paused == nil {
		return
	}
	name := refused.Bucket
	if name == "" {
		name = strings.Join(it.call.Buckets, " ")
	}
	o.options.Hooks.Paused(name, refused.After)
}

func (o *Outbox) superseded(it *item) bool {
	return it.call.Float && it.call.Key != "" && len(o.queues[keyQueue(it.call.Key)]) > 1
}

// wakeAt sets the one timer.
func (o *Outbox) wakeAt(now, at time.Time) {
	switch {
	case at.IsZero():
		if o.timer != nil {
			o.timer.Stop()
		}
	case o.timer == nil:
		o.timer = time.AfterFunc(at.Sub(now), o.wake)
	default:
		o.timer.Reset(at.Sub(now))
	}
}

func (o *Outbox) wake() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dispatch()
}
