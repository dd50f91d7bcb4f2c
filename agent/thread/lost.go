package thread

import (
	"fmt"
	"math"
	"slices"

	"nod/memory"
)

// A store may come back older than what was done: a copy was restored. The log then stands
// where it stood at the copy, and cards on the platform may show more.

// takeLost notes that the store came back older. Cards may stand whose numbers are not in
// the log, so the next card counts from the next hundred.
func (s *Thread) takeLost(seq uint64, b memory.Lost) {
	s.Approvals.Asks = (s.Approvals.Asks+int(min(b.Lines, math.MaxInt32)))/100*100 + 100
	for _, g := range s.Approvals.Grants { // it may have been used up or taken back since
		g.over = true
	}
	if c := s.Calls[b.Call]; c != nil && c.Open() {
		c.Card.Shows = b.Shows
	}
	if b.Call != "" {
		return
	}
	s.Older.Seq = seq
	for _, c := range s.Running() {
		if h := c.Run.Handle; h != nil && !h.Repeats { // it may have gone on since
			c.Run.Handle, c.Run.By = nil, ""
		}
	}
	if b.Own { // what waited was taken up since, and people are asked to ask again
		s.Older.Own, s.Inbox.Waiting = seq, nil
	}
}

// Open says whether the call was asked for, and neither began nor ended.
func (c *Call) Open() bool { return c.Pending() || c.WaitsToBegin() }

// OpenAsked lists the calls that were asked for, and neither began nor ended.
func (s *Thread) OpenAsked() []*Call {
	return slices.DeleteFunc(s.AskedCalls(), func(c *Call) bool { return !c.Open() })
}

// Doubtful says whether the call was asked for before the store came back older.
func (s *Thread) Doubtful(c *Call) bool { return c.Ask.Seq < s.Older.Seq }

// Proof names what has to be known of a card before anything is decided by it: that it
// shows no more than the log knows. Once the store came back older it is to be known anew.
func (s *Thread) Proof(c *Call) string {
	if s.Doubtful(c) {
		return fmt.Sprintf("%s/%d", c.AskName(), s.Older.Seq)
	}
	return c.AskName()
}
