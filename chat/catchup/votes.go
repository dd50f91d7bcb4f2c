package catchup

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"nod/chat"
	"nod/chat/bounded"
)

// Ballot gives an adapter's votes. Its functions are called concurrently for different
// approvals.
type Ballot struct {
	// Standing lists the people's reactions on an approval now; meaningless ones may be
	// missing. all says that this is one of all approvals, and nobody waits for it.
	Standing func(ctx context.Context, p chat.Pending, all bool) ([]chat.Reaction, error)
	// Put puts a reaction that a look found. began is when the look began, and must be
	// part of the event id: the reaction may have been put on, taken off and put on
	// again. Counting one twice does no harm.
	Put func(ctx context.Context, r chat.Reaction, began time.Time) error
	Now func() time.Time
}

// Votes finds the reactions on approvals that changed during a gap. It remembers its
// findings and the heard reactions. So a look does not report unchanged reactions
// again, and does not bring back a reaction that was taken off meanwhile.
type Votes struct {
	ballot Ballot

	found bounded.Map[vote, finding]
	heard bounded.Map[vote, time.Time]

	mu    sync.Mutex
	looks int // started looks at all approvals
	cards map[chat.MessageRef]card
}

// card was posted lately: the store may not list it yet.
type card struct {
	chat.Pending
	posted time.Time
}

// cardStays is how long LookAll knows a card without the store. A vote on an unknown
// message waits no longer in the store either.
const cardStays = 10 * time.Minute

type vote struct {
	on    chat.MessageRef
	by    chat.UserID
	emoji string
}

func voteOf(r chat.Reaction) vote { return vote{r.On, r.By.ID, r.Emoji} }

// finding is what a look found of a vote, and put when the log had so many votes.
type finding struct {
	removed bool
	votes   int
}

// NewVotes makes Votes for a platform.
func NewVotes(b Ballot) *Votes {
	return &Votes{ballot: b, cards: map[chat.MessageRef]card{}}
}

// Heard notes a reaction that the platform just delivered, before it is put: it is
// newer than the view of a running look.
func (v *Votes) Heard(r chat.Reaction) {
	v.heard.Put(voteOf(r), v.ballot.Now())
	v.found.Take(voteOf(r))
}

// LookAll looks at all waiting approvals, one after the other as they are listed: a
// slow platform must not hold up the list. It looks at all cards of an approval
// together, so that a denial wins on any of them. gone forgives, by returning nil, the
// error of a card that can't be seen any more; one failure does not stop the others.
// Recent cards that the list lacks come last, unless another card of their approval
// can't be seen: that one may hold a denial.
func (v *Votes) LookAll(ctx context.Context, all iter.Seq2[chat.Pending, error], gone func(error) error) error {
	posted, unseen := v.begin(), map[string]bool{}
	var failed error
	var cards []chat.Pending
	for p, err := range all {
		if err != nil {
			return errors.Join(failed, fmt.Errorf("list approvals: %w", err))
		}
		delete(posted, p.Ref)
		v.Over(p.Ref)
		if cards = append(cards, p); !p.More {
			if err := v.lookAtCards(ctx, cards, true, gone); err != nil {
				failed = errors.Join(failed, err)
				unseen[p.Thread.String()+" "+p.Call] = true
			}
			cards = nil
		}
	}
	for _, c := range posted {
		if !unseen[c.Thread.String()+" "+c.Call] {
			failed = errors.Join(failed, v.lookAtCards(ctx, []chat.Pending{c.Pending}, true, gone))
		}
	}
	return failed
}

// begin counts a look and gives the cards that the store may not list.
func (v *Votes) begin() map[chat.MessageRef]card {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.looks++
	return maps.Clone(v.cards)
}

// Posting is called before a card is posted; call its result with the card's reference.
// From then on LookAll looks at the card too. Votes may stand on it already. So they
// are looked for if an earlier process may have posted the card (look), and if a
// LookAll ran meanwhile without it.
func (v *Votes) Posting(look bool) (posted func(context.Context, chat.ThreadID, chat.MessageRef, *chat.Approval) error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	looks := v.looks
	return func(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef, p *chat.Approval) error {
		c := chat.Pending{Thread: thread, Call: p.Call, Ref: ref, Approve: p.Approve, Deny: p.Deny}
		if v.noteCard(c) == looks && !look {
			return nil
		}
		return v.Look(ctx, c)
	}
}

// noteCard notes a posted card, and returns the number of started looks.
func (v *Votes) noteCard(c chat.Pending) (looks int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.ballot.Now()
	maps.DeleteFunc(v.cards, func(_ chat.MessageRef, c card) bool { return now.Sub(c.posted) > cardStays })
	v.cards[c.Ref] = card{c, now}
	return v.looks
}

// Over forgets a card that was decided, or that the store lists.
func (v *Votes) Over(ref chat.MessageRef) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.cards, ref)
}

// Look puts the changes of an approval's reactions: denials first, then removed ones,
// then approvals. An approval may be taken off during the look; a second look finds
// that.
func (v *Votes) Look(ctx context.Context, p chat.Pending) error {
	return v.lookAtCards(ctx, []chat.Pending{p}, false, func(err error) error { return err })
}

// lookAtCards looks at the cards of one approval. Approvals wait until all cards could
// be seen: an unseen one may hold a denial.
func (v *Votes) lookAtCards(ctx context.Context, cards []chat.Pending, all bool, gone func(error) error) error {
	var failed error
	var seen []sight
	for _, p := range cards {
		s, err := v.readStanding(ctx, p, all)
		if err != nil {
			failed = errors.Join(failed, gone(err))
			continue
		}
		seen = append(seen, s)
	}
	for _, s := range seen {
		if _, err := v.putAll(ctx, s, s.denials()); err != nil {
			return errors.Join(failed, err)
		}
	}
	if failed != nil {
		return failed
	}
	for _, s := range seen {
		if err := v.lookAgain(ctx, s); err != nil {
			failed = errors.Join(failed, gone(err))
		}
	}
	return failed
}

// lookAgain puts the differences on a card, and, where approvals were among them, those
// by then.
func (v *Votes) lookAgain(ctx context.Context, s sight) error {
	again, err := v.putAll(ctx, s, s.differences())
	if err != nil || !again {
		return err
	}
	p := s.of
	p.Approved = slices.DeleteFunc(s.on, func(r chat.Reaction) bool { return !slices.Contains(p.Approve, r.Emoji) })
	if s, err = v.readStanding(ctx, p, s.all); err != nil {
		return err
	}
	_, err = v.putAll(ctx, s, s.differences())
	return err
}

// sight is a look's view of a card; began is when the look began.
type sight struct {
	of    chat.Pending
	on    []chat.Reaction
	began time.Time
	all   bool
}

func (v *Votes) readStanding(ctx context.Context, p chat.Pending, all bool) (sight, error) {
	began := v.ballot.Now()
	on, err := v.ballot.Standing(ctx, p, all)
	return sight{p, on, began, all}, err
}

func (s sight) denials() (out []chat.Reaction) {
	for _, r := range s.on {
		if slices.Contains(s.of.Deny, r.Emoji) {
			out = append(out, r)
		}
	}
	return out
}

// differences compares the reactions on an approval with those that count.
func (s sight) differences() []chat.Reaction {
	has := func(list []chat.Reaction, r chat.Reaction) bool {
		return slices.ContainsFunc(list, func(o chat.Reaction) bool { return o.By.ID == r.By.ID && o.Emoji == r.Emoji })
	}
	var removed, approvals []chat.Reaction
	for _, r := range s.of.Approved {
		if !has(s.on, r) {
			r.Removed = true
			removed = append(removed, r)
		}
	}
	for _, r := range s.on {
		if !slices.Contains(s.of.Deny, r.Emoji) && slices.Contains(s.of.Approve, r.Emoji) && !has(s.of.Approved, r) {
			approvals = append(approvals, r)
		}
	}
	return slices.Concat(s.denials(), removed, approvals)
}

// putAll puts those that are news. It says whether an approval was among them.
func (v *Votes) putAll(ctx context.Context, s sight, all []chat.Reaction) (approved bool, err error) {
	for _, r := range all {
		r.On, r.Found = s.of.Ref, true
		if v.stale(r, s.began, s.of.Votes) {
			continue
		}
		if err := v.ballot.Put(ctx, r, s.began); err != nil {
			return approved, err
		}
		v.found.Put(voteOf(r), finding{r.Removed, s.of.Votes})
		approved = approved || !r.Removed && slices.Contains(s.of.Approve, r.Emoji)
	}
	return approved, nil
}

// stale says whether something newer is known of a reaction than a look that began
// then, with so many votes in the log. A removal is reported again only once the log
// has moved on. Until then it takes back the same approval; afterwards another process
// may have heard a new one.
func (v *Votes) stale(r chat.Reaction, began time.Time, votes int) bool {
	if at, ok := v.heard.Get(voteOf(r)); ok && !at.Before(began) {
		return true
	}
	then, known := v.found.Get(voteOf(r))
	return known && then.removed == r.Removed && (!r.Removed || then.votes == votes)
}
