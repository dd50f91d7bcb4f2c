// Package outbox decides when a call to a chat platform may be made. Platforms limit
// calls per method, per channel, and in all. A bot that exceeds a limit is refused
// again and again, until its answers arrive minutes late. So an adapter hands every
// call to an Outbox. It holds the call until all its budgets have room, lets important
// calls go first, and drops a call that a newer one makes pointless.
//
// Order is a date: a call is due at its own time plus the patience of its [Priority].
// The earliest date goes first. So approvals overtake answers, answers overtake steps,
// and no call waits for ever.
//
// The outbox makes no call itself and knows no platform. A waiting call has no
// goroutine but its caller's.
package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"nod/chat"
)

// Priority says how important a call is. Smaller is more important.
type Priority int

// The priorities, most important first.
const (
	Approval Priority = iota // a risky action waits for it, and a person
	Answer                   // a person waits for it
	Steps                    // somebody may be looking
	Low                      // marks and presence: pleasant to have
)

// patience is by how much a call of each priority lets later but more
// important ones overtake it. It is long enough that this matters only when a
// platform has been asked for too much for minutes.
var patience = [...]time.Duration{
	Approval: 0,
	Answer:   2 * time.Minute,
	Steps:    5 * time.Minute,
	Low:      10 * time.Minute,
}

// floatPatience comes on top for calls that nobody waits for.
const floatPatience = 10 * time.Minute

// Everything is the bucket of all calls: for a platform's overall limit, and for a
// refusal of all calls.
const Everything = "*"

// ErrNotMade is in the error of a call that was given up before it got through:
// the platform has not been asked, or has refused it. It is certain that the
// call had no effect.
var ErrNotMade = errors.New("the call was not made")

// RetryAfter is Run's result if the platform refused a call as too many. The outbox
// then holds the bucket back for that long and makes the call again.
type RetryAfter struct {
	Bucket string        // the closed bucket, [Everything], or "" for all that the call names
	After  time.Duration // for how long
	Err    error         // the platform's error; may be nil
}

// Error says which bucket is closed and for how long.
func (r *RetryAfter) Error() string {
	if r.Err != nil {
		return fmt.Sprintf("asked too often, again in %v: %v", r.After, r.Err)
	}
	return fmt.Sprintf("asked too often, again in %v", r.After)
}

// Unwrap gives the platform's error.
func (r *RetryAfter) Unwrap() error { return r.Err }

// Call is one call to the platform.
type Call struct {
	Priority Priority
	// Buckets names the budgets that the call counts against, for example its
	// method, and its method in its channel. It is made when all have room.
	Buckets []string
	// Group names a place, such as a thread, where posts must appear in order. Calls of
	// a group are made one at a time, and a call lends its priority to the earlier
	// calls that it waits for. Empty: the order doesn't matter, as for edits and marks.
	Group string
	// Key names a thing that calls replace as a whole, such as an edited message. Calls
	// of a key are made one at a time, in order. A waiting, floating call is dropped
	// for a newer call of its key.
	Key string
	// Float is for a call that nobody waits for and that may be left out for a
	// newer one of the same Key. It gives way to every other call: while it is
	// not long overdue it leaves the last of a budget to others.
	Float bool
	// Run makes the call. It is told ctx of [Outbox.Do], or of [Outbox.Run]
	// for a floating call. It runs again only after returning a [RetryAfter];
	// any other error, above all one that leaves open whether the platform
	// has done it, is the caller's to judge. It must not call Do.
	Run func(ctx context.Context) error
}

// Hooks let metrics be kept. A nil one is not called. They are called from many
// goroutines and must not block.
type Hooks struct {
	Waited func(p Priority, d time.Duration)        // a call waited so long, and is made now
	Paused func(bucket string, after time.Duration) // the platform closed a bucket
	Failed func(p Priority, err error)              // a floating call failed, for good
}

// Options set up an [Outbox]. The zero Options limit nothing.
type Options struct {
	// Budget gives the limits of a bucket, at its first use and after a long rest. It
	// must not block.
	Budget func(bucket string) Budget
	// Floating is how many floating calls are made at a time; 4 if 0.
	Floating int
	// Attempts is how often a call is made that the platform refuses each
	// time, before its [RetryAfter] is returned; 5 if 0.
	Attempts int
	Hooks    Hooks
}

// Outbox orders the calls to one platform. Make it with [New]. All methods may
// be used concurrently.
type Outbox struct {
	options Options

	mu       sync.Mutex
	buckets  map[string]*bucket
	sweepAt  int                // how many buckets there may be before idle ones are dropped
	queues   map[string][]*item // of each group and key: in order, the first may be under way
	waiting  []*item
	made     uint64
	start    func(*item) // starts a floating call; nil while Run is not running
	floating int         // floating calls under way
	timer    *time.Timer
}

// New makes an outbox. Calls can be made at once; floating ones wait for
// [Outbox.Run].
func New(options Options) *Outbox {
	options.Floating, options.Attempts = cmp.Or(options.Floating, 4), cmp.Or(options.Attempts, 5)
	return &Outbox{
		options: options,
		buckets: map[string]*bucket{},
		sweepAt: minSweep,
		queues:  map[string][]*item{},
	}
}

// Do makes the call when its turn comes, and returns its result. If ctx ends first, or
// is in doubt by then ([chat.WithDoubt]), the call is not made, and the error is
// [ErrNotMade]. A floating call is only queued, and Do returns nil at once.
func (o *Outbox) Do(ctx context.Context, call Call) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrNotMade, context.Cause(ctx))
	}
	it := o.submit(call)
	if call.Float {
		return nil
	}
	for {
		select {
		case <-it.granted:
		case <-ctx.Done():
			if o.abandon(it) {
				return fmt.Errorf("%w: %w", ErrNotMade, context.Cause(ctx))
			}
			<-it.granted // its turn came at the same moment
		}
		if again, err := o.perform(ctx, it); !again {
			return err
		}
	}
}

// Run makes the floating calls, until ctx ends and running calls have returned. Other
// calls don't need it, so a stopping program can still make its last posts.
func (o *Outbox) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	ok := o.attach(func(it *item) {
		running.Go(func() {
			again, err := o.perform(ctx, it)
			if failed := o.options.Hooks.Failed; !again && err != nil && failed != nil {
				failed(it.call.Priority, err)
			}
		})
	})
	if !ok {
		return errors.New("run outbox: it is running already")
	}
	defer o.detach()
	<-ctx.Done()
	return nil
}

// DepthByName says how many calls wait, by the name of their priority.
func (o *Outbox) DepthByName() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	depth := map[string]int{}
	for p := range patience {
		depth[Priority(p).String()] = 0
	}
	for _, it := range o.waiting {
		depth[it.call.Priority.String()]++
	}
	return depth
}

// Pause closes a bucket for a while, as a [RetryAfter] does: for an adapter
// that was refused outside the outbox.
func (o *Outbox) Pause(bucket string, after time.Duration) {
	o.mu.Lock()
	o.bucket(bucket).close(time.Now(), after)
	o.dispatch()
	o.mu.Unlock()
	if paused := o.options.Hooks.Paused; paused != nil {
		paused(bucket, after)
	}
}

// Update notes a platform's announcement about a bucket, so that the outbox waits
// before it is refused. An adapter calls it within Run, from the response.
func (o *Outbox) Update(bucket string, said Announced) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bucket(bucket).announce(time.Now(), said)
	o.dispatch()
}

// perform makes the call once and says whether it is to be made again when its
// turn comes.
func (o *Outbox) perform(ctx context.Context, it *item) (again bool, err error) {
	if waited := o.options.Hooks.Waited; waited != nil {
		waited(it.call.Priority, it.waited)
	}
	defer func() { // also when Run panics: later calls must not wait for ever
		again, err = o.settle(it, err)
	}()
	if chat.Doubtful(ctx) {
		return false, fmt.Errorf("%w: %w", ErrNotMade, chat.ErrDoubt)
	}
	return false, it.call.Run(ctx)
}

func (o *Outbox) attach(start func(*item)) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.start != nil {
		return false
	}
	o.start = start
	o.dispatch()
	return true
}

func (o *Outbox) detach() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.start = nil
}
