// Package inbound is the way of an event from a platform to the store. The one
// idea is that an event is put, durably and under ids by which a repeat is
// known, before the platform hears that it was received. [Lanes] have events that
// are about one thing put in the order in which they came, and all others side by
// side; [Observe] hears what happened on the way.
//
// It knows no platform: which ids an event has, and which lane it belongs in, is
// for the adapter to say.
package inbound

// Observe is told what happens to a connection, for metrics. A nil function is
// not called; none may block.
type Observe struct {
	Reconnected func()              // it was lost, and is there again
	Redelivered func()              // the platform sent an event again
	Duplicate   func()              // an event was known already
	Malformed   func()              // an event could not be understood
	Limited     func(bucket string) // the platform refused a call as one too many
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
