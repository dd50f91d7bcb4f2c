package catchup

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"nod/chat"
)

// Ballot is how an adapter lets votes be found. Its functions are called
// concurrently for different approvals.
type Ballot struct {
	// Standing lists the reactions of people that stand on an approval now; ones
	// that mean nothing for it may be left out.
	Standing func(ctx context.Context, p chat.Pending) ([]chat.Reaction, error)
	// Put puts a reaction that was found by a look that began then. Its event
	// id has to bear that time: the reaction may have been put on, taken off
	// and put on again, and one that counts twice does no harm.
	Put func(ctx context.Context, r chat.Reaction, began time.Time) error
	Now func() time.Time
}

// Votes finds the reactions on approvals that were put on or taken off while
// nobody listened. It remembers what it found and what was heard of, so that a
// look does not tell again what nothing has changed about, and does not bring
// back what was taken off while it looked.
type Votes struct {
	ballot Ballot

	mu    sync.Mutex
	put   map[vote]bool      // found standing, and put
	taken map[vote]int       // found taken off, and put when the log had so many votes
	last  map[vote]time.Time // heard of lately
	past  map[vote]time.Time // heard of before those
}

type vote struct {
	on    chat.MessageRef
	by    chat.UserID
	emoji string
}

func voteOf(r chat.Reaction) vote { return vote{r.On, r.By.ID, r.Emoji} }

// mostVotes bounds what is remembered. What is forgotten is put once more.
const mostVotes = 10_000

// NewVotes makes Votes for a platform.
func NewVotes(b Ballot) *Votes {
	return &Votes{ballot: b, put: map[vote]bool{}, taken: map[vote]int{}, last: map[vote]time.Time{}}
}

// Heard notes a reaction that the platform told of just now, before it is put:
// it is better known than by a look that is under way.
func (v *Votes) Heard(r chat.Reaction) {
	at := v.ballot.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.last) >= mostVotes { // the older half is forgotten, so what was heard just now is never
		v.last, v.past = map[vote]time.Time{}, v.last
	}
	v.last[voteOf(r)] = at
	delete(v.put, voteOf(r))
	delete(v.taken, voteOf(r))
}

// LookAll looks at all approvals that wait, one after the other as they are listed:
// the list must not keep anybody waiting who waits for the platform. gone forgives, by
// returning nil, the error of one that can't be looked at any more; the others are
// looked at whatever becomes of one.
func (v *Votes) LookAll(ctx context.Context, all iter.Seq2[chat.Pending, error], gone func(error) error) error {
	var failed error
	for p, err := range all {
		if err != nil {
			return errors.Join(failed, fmt.Errorf("list approvals: %w", err))
		}
		if err := v.Look(ctx, p); err != nil {
			failed = errors.Join(failed, gone(err))
		}
	}
	return failed
}

// Unheard puts the reactions on an approval that may have stood before its
// reference was noted: nobody listened to them then, and it was not among those
// that were looked at after the connection.
func (v *Votes) Unheard(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef, p *chat.Approval) error {
	return v.Look(ctx, chat.Pending{Thread: thread, Call: p.Call, Ref: ref, Approve: p.Approve, Deny: p.Deny})
}

// Look puts what changed about the reactions on an approval: denials first,
// then what was taken off, then approvals. An approval that is put may have
// been taken off since the look began, which a second look finds.
func (v *Votes) Look(ctx context.Context, p chat.Pending) error {
	for range 2 {
		began := v.ballot.Now()
		on, err := v.ballot.Standing(ctx, p)
		if err != nil {
			return err
		}
		again, err := v.differences(ctx, p, on, began)
		if err != nil || !again {
			return err
		}
		p.Approved = slices.DeleteFunc(on, func(r chat.Reaction) bool { return !slices.Contains(p.Approve, r.Emoji) })
	}
	return nil
}

// differences puts the differences between what is on an approval and what
// counts. It says whether an approval was among them.
func (v *Votes) differences(ctx context.Context, p chat.Pending, on []chat.Reaction, began time.Time) (approved bool, err error) {
	has := func(list []chat.Reaction, r chat.Reaction) bool {
		return slices.ContainsFunc(list, func(o chat.Reaction) bool { return o.By.ID == r.By.ID && o.Emoji == r.Emoji })
	}
	var denials, removed, approvals []chat.Reaction
	for _, r := range p.Approved {
		if !has(on, r) {
			r.Removed = true
			removed = append(removed, r)
		}
	}
	for _, r := range on {
		switch {
		case slices.Contains(p.Deny, r.Emoji):
			denials = append(denials, r)
		case slices.Contains(p.Approve, r.Emoji) && !has(p.Approved, r):
			approvals = append(approvals, r)
		}
	}
	for _, r := range slices.Concat(denials, removed, approvals) {
		r.On, r.Found = p.Ref, true
		if v.stale(r, began, p.Votes) {
			continue
		}
		if err := v.ballot.Put(ctx, r, began); err != nil {
			return approved, err
		}
		v.done(r, p.Votes)
		approved = approved || !r.Removed && slices.Contains(p.Approve, r.Emoji)
	}
	return approved, nil
}

// stale says whether a reaction is better known than by a look that began then,
// when the log had so many votes. That one was taken off is told again only
// once the log has moved on: until then the approval that it takes back is still
// the same one, afterwards it may be another that was heard elsewhere.
func (v *Votes) stale(r chat.Reaction, began time.Time, votes int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, ok := v.last[voteOf(r)]
	if !ok {
		at, ok = v.past[voteOf(r)]
	}
	if ok && !at.Before(began) {
		return true
	}
	if !r.Removed {
		return v.put[voteOf(r)]
	}
	then, known := v.taken[voteOf(r)]
	return known && then == votes
}

// done notes what was put.
func (v *Votes) done(r chat.Reaction, votes int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.put)+len(v.taken) >= mostVotes {
		clear(v.put)
		clear(v.taken)
	}
	if r.Removed {
		delete(v.put, voteOf(r))
		v.taken[voteOf(r)] = votes
		return
	}
	delete(v.taken, voteOf(r))
	v.put[voteOf(r)] = true
}
