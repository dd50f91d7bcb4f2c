package run

import (
	"context"
	"sync"
	"time"

	"nod/agent"
	"nod/chat"
	"nod/memory"
)

// mostAsked is how many approvals of one person may wait, in all threads.
const mostAsked = 32

// asksKnown is how long it is taken for known which approvals wait. What is asked
// for here meanwhile is counted, and who seems to have too many is looked up anew:
// so what may be missed is what other processes asked for just now.
const asksKnown = 10 * time.Second

// waits is what a store may be besides: it knows which approvals wait.
type waits interface {
	memory.Catchup
	memory.Reader
}

// askers remembers who asked for the approvals that wait. The store knows only which
// wait; without this, one more would be a look into the logs of all.
type askers struct {
	mu     sync.Mutex // never held while something is waited for
	by     map[ask]asker
	of     map[person]int
	listed map[string]time.Time // by platform
}

// ask is a call that waits for an approval.
type ask struct {
	thread chat.ThreadID
	call   string
}

// asker is who asked for a call; nobody where the log does not know it as waiting.
type asker struct {
	who     chat.UserID
	opening bool // it is asked for here, and not in the log yet
}

type person struct {
	platform string
	id       chat.UserID
}

// due says whether the store is to be asked again. It says so to one at a time.
func (a *askers) due(platform string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at, ok := a.listed[platform]; ok && now.Sub(at) < asksKnown {
		return false
	}
	if a.by == nil {
		a.by, a.of, a.listed = map[ask]asker{}, map[person]int{}, map[string]time.Time{}
	}
	a.listed[platform] = now
	return true
}

// note notes calls that somebody asks for now, unless that would be too many, as far
// as is known.
func (a *askers) note(thread chat.ThreadID, open []memory.Asked) (ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of[person{thread.Platform, open[0].Requester.ID}]+len(open) > mostAsked {
		return false
	}
	for _, o := range open {
		a.set(ask{thread, o.Call}, asker{o.Requester.ID, true})
	}
	return true
}

// asked notes that calls that were about to be asked for are in the log.
func (a *askers) asked(thread chat.ThreadID, open []memory.Asked) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range open {
		if k := (ask{thread, o.Call}); a.by[k].opening {
			a.by[k] = asker{a.by[k].who, false}
		}
	}
}

// forget forgets those that are not asked for after all.
func (a *askers) forget(thread chat.ThreadID, open []memory.Asked) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range open {
		if k := (ask{thread, o.Call}); a.by[k].opening {
			a.drop(k)
		}
	}
}

func (a *askers) set(k ask, v asker) {
	a.drop(k)
	a.by[k] = v
	if v.who != "" {
		a.of[person{k.thread.Platform, v.who}]++
	}
}

func (a *askers) drop(k ask) {
	p := person{k.thread.Platform, a.by[k].who}
	if a.of[p]--; a.of[p] <= 0 {
		delete(a.of, p)
	}
	delete(a.by, k)
}

// compare holds what is known against the calls that the store lists, which are those
// whose cards stand. It gives the threads of calls of which it is not known who asked
// for them, and of those that are not listed: they wait no more, or their cards do not
// stand yet.
func (a *askers) compare(platform string, waiting map[ask]bool) (unknown, unlisted map[chat.ThreadID][]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	unknown, unlisted = map[chat.ThreadID][]string{}, map[chat.ThreadID][]string{}
	for k, v := range a.by {
		if k.thread.Platform == platform && !waiting[k] && !v.opening {
			unlisted[k.thread] = append(unlisted[k.thread], k.call)
		}
	}
	for k := range waiting {
		if _, known := a.by[k]; !known {
			unknown[k.thread] = append(unknown[k.thread], k.call)
		}
	}
	return unknown, unlisted
}

// waits keeps, of calls of a thread, those that wait by its log.
func (a *askers) waits(thread chat.ThreadID, calls []string, by map[string]chat.UserID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range calls {
		if _, waits := by[c]; !waits {
			a.drop(ask{thread, c})
		}
	}
}

// tell notes whose the calls of a thread are that wait.
func (a *askers) tell(thread chat.ThreadID, calls []string, by map[string]chat.UserID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range calls {
		a.set(ask{thread, c}, asker{who: by[c]})
	}
}

// tooMany says whether a person has asked for as many approvals as may wait, with
// those that are to be opened now. When that can't be found out it is asked: a store
// that does not answer takes no approval either.
func (d *driver) tooMany(ctx context.Context, open []memory.Asked) bool {
	store, ok := d.Store.(waits)
	if !ok {
		return false
	}
	if platform := d.thread.Platform; d.askers.due(platform, d.Host.Now()) {
		d.listAsks(ctx, store, platform)
	}
	if d.askers.note(d.thread, open) {
		return false
	}
	d.listAsks(ctx, store, d.thread.Platform) // what was decided meanwhile counts no more
	return !d.askers.note(d.thread, open)
}

// listAsks finds out which approvals wait. It looks into the logs of those whose cards
// do not stand, and where so many wait at all that it matters whose they are, of those
// that it did not know.
func (d *driver) listAsks(ctx context.Context, store waits, platform string) {
	waiting := map[ask]bool{}
	for p, err := range store.Pending(ctx, platform) {
		if err != nil {
			return
		}
		waiting[ask{p.Thread, p.Call}] = true
	}
	unknown, unlisted := d.askers.compare(platform, waiting)
	for thread, calls := range unlisted {
		if tail, err := store.Tail(ctx, thread, 0); err == nil {
			d.askers.waits(thread, calls, agent.Askers(tail.Log))
		}
	}
	if len(waiting) < mostAsked {
		return
	}
	for thread, calls := range unknown {
		if tail, err := store.Tail(ctx, thread, 0); err == nil {
			d.askers.tell(thread, calls, agent.Askers(tail.Log))
		}
	}
}

// refused is what came of calls for which nobody can be asked now.
func refused(open []memory.Asked) []memory.Body {
	var out []memory.Body
	for _, a := range open {
		out = append(out, memory.Result{Call: a.Call, Tool: a.Tool, State: chat.CallDenied, Text: agent.TooMany})
	}
	return out
}
