package slack

import (
	"sync"

	"nod/adapters/slack/api"
)

// Some things change there and back: a reaction that is put on and taken off, a text
// that is edited twice. Only the last change holds. But sockets don't keep the order of
// events, and an event that could not be put is delivered again a minute later. So
// Slack's time of an event decides whether a later one was heard already.

// order knows when it last happened to what. The zero order is ready.
type order struct {
	mu         sync.Mutex
	last, past map[string]string // time of the latest event that was heard, by what it is about
}

// mostOrdered bounds what is remembered twice over. What is forgotten is put as it comes.
const mostOrdered = 10_000

// overtaken notes that an event is heard, before it is put, and says whether a later
// one about the same was heard before: then it must not be put any more. The later one
// counts also where it could not be put so far, since it is delivered again.
func (o *order) overtaken(what, when string) bool {
	at := api.SentAt(when)
	if at.IsZero() {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, heard := range []map[string]string{o.last, o.past} {
		if before, ok := heard[what]; ok && at.Before(api.SentAt(before)) {
			return true
		}
	}
	if o.last == nil || len(o.last) >= mostOrdered { // the older half is forgotten, so what was heard just now is never
		o.last, o.past = map[string]string{}, o.last
	}
	o.last[what] = when
	return false
}
