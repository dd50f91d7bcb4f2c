package memory

import "time"

// Hold puts bodies at the end of the log without the store, which is told of them by the
// run's next commit, in front of what that one is about, or by its end. A process that dies
// before has never decided them: see [Holds]. at is the store's clock.
func (r *Run) Hold(at time.Time, bodies ...Body) []Entry {
	at = time.UnixMilli(at.UnixMilli()).UTC() // as exactly as stores keep it
	last := LastSeq(r.Log)
	for i, b := range bodies {
		r.Log = append(r.Log, Entry{Seq: last + uint64(i) + 1, At: at, Body: b})
	}
	r.Late += len(bodies)
	return r.Log[len(r.Log)-len(bodies):]
}

// Holding gives what is held.
func (r *Run) Holding() []Entry { return r.Log[len(r.Log)-r.Late:] }

// Unkept gives what a commit of bodies has the store keep: what is held, and then those.
func (r *Run) Unkept(bodies ...Body) []Body {
	if r.Late == 0 {
		return bodies
	}
	all := make([]Body, 0, r.Late+len(bodies))
	for _, e := range r.Holding() {
		all = append(all, e.Body)
	}
	return append(all, bodies...)
}

// Drop takes back what is held.
func (r *Run) Drop() {
	r.Log, r.Late = r.Log[:len(r.Log)-r.Late], 0
}

// Holds says whether a run may keep bodies to itself for a moment ([Run.Hold]): what would
// be done again or found on the platform, and that a turn began and what the model said, of which nobody outside knows
// yet. Before an answer or a card is posted, and before a side effect begins, the store is
// told. A card is known at once, since people vote on it.
func Holds(log []Entry, bodies ...Body) bool {
	for _, b := range bodies {
		switch b := b.(type) {
		case Opened, Step:
			continue
		case Posted:
			if _, card := Asks(b.Key); card {
				return false
			}
		}
		if !soon(log, b) {
			return false
		}
	}
	return len(bodies) > 0
}

// soon says whether the next process does again, or finds, what bodies tell.
func soon(log []Entry, bodies ...Body) bool {
	for _, b := range bodies {
		switch b := b.(type) {
		case Posted, Seen, Ended:
		case Step:
			if len(b.Calls) == 0 {
				return false
			}
		case Result:
			if began(log, b.Call) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// began says whether a call is a side effect that began.
func began(log []Entry, call string) bool {
	for i := len(log) - 1; i >= 0; i-- {
		switch b := log[i].Body.(type) {
		case Started:
			if b.Call == call {
				return true
			}
		case Opened:
			return false // no call is older than its turn
		}
	}
	return false
}
