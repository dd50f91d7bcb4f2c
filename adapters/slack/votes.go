package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"nod/chat"
	"nod/chat/outbox"
)

// found remembers which reactions were found, and which were heard of, so that
// a look does not tell again what nothing has changed about, and does not
// bring back what was taken off while it looked.
type found struct {
	mu   *sync.Mutex
	put  map[string]bool
	last map[string]time.Time
}

const mostFound = 10_000

func newFound() found {
	return found{mu: &sync.Mutex{}, put: map[string]bool{}, last: map[string]time.Time{}}
}

func reactionKey(r chat.Reaction) string {
	return r.On.String() + " " + string(r.By.ID) + " " + r.Emoji
}

func (f *found) heard(r chat.Reaction, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.last) >= mostFound {
		clear(f.last)
	}
	f.last[reactionKey(r)] = at
	delete(f.put, reactionKey(r))
}

// stale says whether the reaction is better known than by a look that began then.
func (f *found) stale(r chat.Reaction, began time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, ok := f.last[reactionKey(r)]
	return ok && !at.Before(began) || !r.Removed && f.put[reactionKey(r)]
}

func (f *found) done(r chat.Reaction) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.put) >= mostFound {
		clear(f.put)
	}
	if r.Removed {
		delete(f.put, reactionKey(r))
		return
	}
	f.put[reactionKey(r)] = true
}

// reactions looks at all approvals that wait.
func (a *Adapter) reactions(ctx context.Context) error {
	var waiting []chat.Pending
	for p, err := range a.o.Inbox.Pending(ctx, Platform) {
		if err != nil {
			return fmt.Errorf("list approvals: %w", err)
		}
		waiting = append(waiting, p)
	}
	var failed error
	for _, p := range waiting {
		if err := a.look(ctx, p); err != nil {
			failed = errors.Join(failed, missing(err))
		}
	}
	return failed
}

// look puts what changed about the reactions on an approval: denials first,
// then what was taken off, then approvals. An approval that is put may have
// been taken off since the look, which a second look finds.
func (a *Adapter) look(ctx context.Context, p chat.Pending) error {
	for range 2 {
		began := a.o.Now()
		on, err := a.reactionsOn(ctx, p.Ref)
		if err != nil {
			return err
		}
		again, err := a.differences(ctx, p, on, began)
		if err != nil || !again {
			return err
		}
		p.Approved = slices.DeleteFunc(on, func(r chat.Reaction) bool { return !slices.Contains(p.Approve, r.Emoji) })
	}
	return nil
}

// differences puts the differences between what is on an approval and what
// counts. It says whether an approval was among them.
func (a *Adapter) differences(ctx context.Context, p chat.Pending, on []chat.Reaction, began time.Time) (approved bool, err error) {
	has := func(list []chat.Reaction, r chat.Reaction) bool {
		return slices.ContainsFunc(list, func(o chat.Reaction) bool { return reactionKey(o) == reactionKey(r) })
	}
	var denials, removed, approvals []chat.Reaction
	for _, r := range p.Approved {
		if r.On = p.Ref; !has(on, r) {
			r.Removed, r.Found = true, true
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
		if a.found.stale(r, began) {
			continue
		}
		if r.By, err = a.user(ctx, string(r.By.ID)); err != nil {
			return approved, fmt.Errorf("look up who reacted: %w", err)
		}
		if err := a.putFound(ctx, r, began); err != nil {
			return approved, err
		}
		approved = approved || !r.Removed && slices.Contains(p.Approve, r.Emoji)
	}
	return approved, nil
}

// putFound puts a reaction that was found. Its id bears the time of the look:
// it may have been put on, taken off and put on again, and to count one twice
// does no harm.
func (a *Adapter) putFound(ctx context.Context, r chat.Reaction, began time.Time) error {
	what := fmt.Sprintf("found:%v:%s:%s", r.Removed, r.By.ID, r.Emoji)
	_, err := a.o.Inbox.Reaction(ctx, r, changeKeys("", what, channelOf(r.On.Channel), r.On.ID, stamp(began))...)
	if err != nil {
		return fmt.Errorf("put a reaction: %w", err)
	}
	a.found.done(r)
	return nil
}

// reactionsOn gives the reactions of people on a message.
func (a *Adapter) reactionsOn(ctx context.Context, ref chat.MessageRef) ([]chat.Reaction, error) {
	var said struct {
		Message struct {
			Reactions []struct {
				Name  string   `json:"name"`
				Users []string `json:"users"`
			} `json:"reactions"`
		} `json:"message"`
	}
	args := url.Values{"channel": {channelOf(ref.Channel)}, "timestamp": {ref.ID}, "full": {"true"}}
	if err := a.web.call(ctx, request{method: "reactions.get", args: args, priority: outbox.Approval, answer: &said}); err != nil {
		return nil, err
	}
	var out []chat.Reaction
	for _, r := range said.Message.Reactions {
		for _, u := range r.Users {
			if u != a.who().UserID {
				out = append(out, chat.Reaction{On: ref, By: chat.User{ID: chat.UserID(u)}, Emoji: chat.NormalEmoji(r.Name), Found: true})
			}
		}
	}
	return out, nil
}
