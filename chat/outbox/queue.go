package outbox

import (
	"container/heap"
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

	lane     *lane // nil unless only budgets keep it waiting
	index    int   // in the lane
	running  bool
	attempts int
	granted  chan struct{} // its turn has come; nil if it floats
}

// lane holds the calls that count against the same buckets and that wait for
// nothing else: only the first of them matters.
type lane struct {
	key     laneKey
	buckets []*bucket
	items   dueHeap
}

type laneKey struct {
	buckets string
	float   bool
}

type dueHeap []*item

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].before(h[j]) }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *dueHeap) Push(x any) {
	it := x.(*item) //nolint:forcetypeassert // only enlane pushes
	it.index = len(*h)
	*h = append(*h, it)
}

func (h *dueHeap) Pop() any {
	old := *h
	it := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return it
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
		o.unlane(old)
		o.release(old)
		o.waiting[old.call.Priority]--
		o.prepare(old, call, now)
		o.waiting[call.Priority]++
		o.enlane(old)
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
	o.waiting[call.Priority]++
	for _, q := range it.queues {
		o.queues[q] = append(o.queues[q], it)
	}
	o.lend(it)
	o.enlane(it)
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
			if !it.due.Before(ahead.due) {
				continue
			}
			ahead.due = it.due
			if ahead.lane != nil {
				heap.Fix(&ahead.lane.items, ahead.index)
			}
			o.lend(ahead)
		}
	}
}

// enlane puts the item where the budgets decide, once it is the first in each
// of its queues.
func (o *Outbox) enlane(it *item) {
	for _, q := range it.queues {
		if o.queues[q][0] != it {
			return
		}
	}
	key := laneKey{strings.Join(it.names, "\x00"), it.call.Float}
	l, ok := o.lanes[key]
	if !ok {
		l = &lane{key: key, buckets: it.buckets}
		o.lanes[key] = l
	}
	it.lane = l
	heap.Push(&l.items, it)
}

func (o *Outbox) unlane(it *item) {
	if it.lane == nil {
		return
	}
	heap.Remove(&it.lane.items, it.index)
	if len(it.lane.items) == 0 {
		delete(o.lanes, it.lane.key)
	}
	it.lane = nil
}

// leave takes the item out for good, and lets those behind it move up.
func (o *Outbox) leave(it *item) {
	if !it.running {
		o.waiting[it.call.Priority]--
	}
	o.unlane(it)
	o.release(it)
	for _, q := range it.queues {
		queue := o.queues[q]
		i := slices.Index(queue, it)
		queue = slices.Delete(queue, i, i+1)
		if len(queue) == 0 {
			delete(o.queues, q)
			continue
		}
		o.queues[q] = queue
		if first := queue[0]; i == 0 && first.lane == nil && !first.running {
			o.enlane(first)
		}
	}
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
	for _, l := range o.lanes {
		first := l.items[0]
		if best != nil && best.before(first) {
			continue
		}
		at, ok := o.ready(l, first, now)
		switch {
		case !ok:
		case !at.After(now):
			best = first
		case wake.IsZero() || at.Before(wake):
			wake = at
		}
	}
	return best, wake
}

func (o *Outbox) ready(l *lane, first *item, now time.Time) (time.Time, bool) {
	if !l.key.float {
		return room(l.buckets, now, 1)
	}
	if o.start == nil || o.floating >= o.options.Floating {
		return now, false
	}
	if overdue := !now.Before(first.due); overdue {
		return room(l.buckets, now, 1)
	}
	return room(l.buckets, now, 2)
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
	o.unlane(it)
	o.waiting[it.call.Priority]--
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
		o.waiting[it.call.Priority]++
		o.enlane(it)
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
