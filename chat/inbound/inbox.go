// Package inbound is the way of an event from a platform to the store. An event is
// put durably, under ids that reveal a repeat, before the platform gets its
// acknowledgement. [Lanes] put the events of one thing in order of arrival, and all
// others at the same time. [Observe] counts for metrics.
//
// It knows no platform: the adapter chooses the ids and the lane of an event.
package inbound

import "time"

// Observe counts events of a connection, for metrics. A nil function is not called;
// none may block.
type Observe struct {
	Event       func()              // something came over it
	Reconnected func()              // it was lost, and is there again
	Redelivered func()              // the platform sent an event again
	Duplicate   func()              // an event was known already
	Malformed   func()              // an event could not be understood
	Limited     func(bucket string) // the platform refused a call as one too many
	// Sockets says how many connections this process has, and how many the platform
	// counts of all programs with the same tokens (0: it did not say).
	Sockets func(own, all int)
	// Waited says how long a call to the platform waited before it was made.
	Waited func(priority string, d time.Duration)
}

// Count calls f, unless it is nil.
func Count(f func()) {
	if f != nil {
		f()
	}
}

// Put counts an event that was known already. A reaction that means nothing is
// not fresh either.
func (o Observe) Put(fresh bool) {
	if !fresh {
		Count(o.Duplicate)
	}
}
