package web

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"nod/chat"
	"nod/front"
)

// board is all that stands on the page. Whatever changes on it gets the next
// number, by which a browser knows what it has not seen yet.
type board struct {
	epoch string // tells the boards of different processes apart

	mu       sync.Mutex
	changed  uint64 // the last number given
	placed   uint64 // the last place given: the order of items
	past     uint64 // the same, of those that an earlier process had
	items    map[chat.MessageRef]*item
	working  map[chat.ThreadID]chat.Work
	watchers map[chan struct{}]bool
}

// item is one message on the board: somebody's, or a post of the bot's.
type item struct {
	ref     chat.MessageRef
	thread  chat.ThreadID
	at      time.Time
	changed uint64 // the number of its last change
	place   uint64 // its place in the order in which messages came

	message   *chat.Message
	post      *chat.Post
	only      chat.UserID // who alone sees it; "" is everybody
	reactions []mark
	replies   int                         // of the first message of a thread
	waits     int                         // approvals that wait in its thread, of the first message
	why       chat.UserID                 // who denied it, and is asked why
	wrong     []chat.UserID               // who is asked what was wrong with it
	again     map[chat.UserID]*front.Form // of steps: who has which call in a form, to run it again; never changed in place
	gone      bool                        // it was not taken in
	grows     bool                        // it is being written, and no message yet
	off       bool                        // it stands here no more
	edited    bool                        // it says something else than it did at first
	deleted   bool                        // by who wrote it: only that there was something is left
}

// mark is an emoji on a message, and who put it there.
type mark struct {
	emoji string
	by    []chat.UserID
}

func newBoard() *board {
	return &board{
		epoch: newID(), placed: mostPast,
		items: map[chat.MessageRef]*item{}, working: map[chat.ThreadID]chat.Work{}, watchers: map[chan struct{}]bool{},
	}
}

// mostPast is how many places there are for what an earlier process had: it stands
// before all else, although more may be posted while it is read.
const mostPast = 1 << 32

// before gives the next place of the past.
func (b *board) before() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.past++
	return b.past
}

// put sets an item up, unless one stands there already, and says whether it did.
func (b *board) put(it item) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.items[it.ref]; ok {
		return false
	}
	if it.place == 0 {
		b.placed++
		it.place = b.placed
	}
	b.items[it.ref] = &it
	b.touch(&it)
	b.count(it.thread)
	return true
}

// change changes an item; do says whether it did.
func (b *board) change(ref chat.MessageRef, do func(it *item) bool) (known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	it, ok := b.items[ref]
	if ok && do(it) {
		b.touch(it)
		b.count(it.thread)
	}
	return ok
}

// touch notes that an item changed; b.mu is held.
func (b *board) touch(it *item) {
	b.changed++
	it.changed = b.changed
	b.wake()
}

// count brings what the first message of a thread says of the thread up to date.
func (b *board) count(thread chat.ThreadID) {
	root, ok := b.items[chat.MessageRef{Platform: thread.Platform, Channel: thread.Channel, ID: thread.Root}]
	if !ok || thread.Root == "" {
		return
	}
	replies, waits := 0, 0
	for _, it := range b.items {
		if it.thread != thread || it == root || it.only != "" || it.grows || it.off {
			continue
		}
		replies++
		if it.waiting() {
			waits += 1 + len(it.post.Approval.By) // each vote changes for whom it waits
		}
	}
	if replies != root.replies || waits != root.waits {
		root.replies, root.waits = replies, waits
		b.touch(root)
	}
}

// card is the approval on an item; nil where there is none.
func (it *item) card() *chat.Approval {
	if it.post == nil {
		return nil
	}
	return it.post.Approval
}

// waiting says whether an item is an approval that waits.
func (it *item) waiting() bool { return !it.off && it.card() != nil && it.card().Outcome == "" }

// grow shows what is being written in a thread, in place of all that was.
func (b *board) grow(thread chat.ThreadID, now []item) {
	b.clear(thread, func(it *item) bool {
		return !slices.ContainsFunc(now, func(n item) bool { return n.ref == it.ref })
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range now {
		it, ok := b.items[n.ref]
		switch {
		case ok && it.grows && reflect.DeepEqual(it.post, n.post):
			continue
		case ok && it.grows:
			it.post = n.post
		default:
			b.placed++
			n.place, n.grows = b.placed, true
			it = &n
			b.items[n.ref] = it
		}
		b.touch(it)
	}
}

// clear takes away what is being written in a thread.
func (b *board) clear(thread chat.ThreadID, which func(*item) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, it := range b.items {
		if it.thread == thread && it.grows && which(it) {
			it.grows, it.off = false, true
			b.touch(it)
		}
	}
}

// work notes what the bot does in a thread.
func (b *board) work(thread chat.ThreadID, w chat.Work) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.working[thread] == w {
		return
	}
	b.working[thread] = w
	if w.What == "" {
		delete(b.working, thread)
	}
	b.wake()
}

// wake tells the watchers to look again; b.mu is held.
func (b *board) wake() {
	for w := range b.watchers {
		select {
		case w <- struct{}{}:
		default: // it has not looked since
		}
	}
}

// watch gives a channel that receives whenever something changed.
func (b *board) watch() (changed <-chan struct{}, stop func()) {
	w := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers[w] = true
	return w, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.watchers, w)
	}
}

// look is what a view shows of the board.
type look struct {
	now    uint64                // how far it goes
	items  []item                // in order
	sign   *sign                 // of work in the thread that is shown; nil: the bot is at rest there
	newest map[string]uint64     // by channel, the place of the newest message
	waits  map[chat.ThreadID]int // approvals that whoever looks may give; the zero one has all
}

// sign says what the bot does.
type sign struct {
	chat.Work
	Secs, Next int64  // for how long, and in how many seconds it tries again
	Ref        string // a message of the thread
}

// look gives what changed after a number, as far as a person sees it there.
func (b *board) look(after uint64, v view) look {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := look{now: b.changed, newest: map[string]uint64{}, waits: map[chat.ThreadID]int{}}
	for it := range maps.Values(b.items) {
		if it.only == "" && !it.grows && !it.off {
			l.newest[it.thread.Channel] = max(l.newest[it.thread.Channel], it.place)
		}
		if v.waits(it) {
			l.waits[it.thread]++
			l.waits[chat.ThreadID{}]++
		}
		if it.changed > after && v.sees(it) {
			l.items = append(l.items, it.clone())
		}
	}
	l.sign = b.signOf(v.thread())
	slices.SortFunc(l.items, func(a, b item) int { return cmp.Compare(a.place, b.place) })
	for i := range l.items {
		l.items[i].waits = l.waits[l.items[i].thread]
	}
	return l
}

// signOf is the sign of work in a thread; b.mu is held.
func (b *board) signOf(thread chat.ThreadID) *sign {
	w := b.working[thread]
	if !w.Busy() {
		return nil
	}
	s := &sign{Work: w}
	for _, it := range b.items {
		if it.thread == thread && !it.off && !it.grows {
			s.Ref = it.ref.String()
			break
		}
	}
	return s
}

// said lists what people wrote in a thread, in order, but for one message.
func (b *board) said(thread chat.ThreadID, but chat.MessageRef) (out []item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, it := range b.items {
		if it.thread == thread && it.message != nil && it.ref != but {
			out = append(out, it.clone())
		}
	}
	slices.SortFunc(out, func(a, b item) int { return cmp.Compare(a.place, b.place) })
	return out
}

// find gives an item as it is now.
func (b *board) find(ref chat.MessageRef) (item, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	it, ok := b.items[ref]
	if !ok || it.off {
		return item{}, false
	}
	return it.clone(), true
}

// clone copies what changes in place. What posts and messages point to does not.
func (it *item) clone() item {
	c := *it
	c.reactions, c.wrong = nil, slices.Clone(it.wrong)
	for _, m := range it.reactions {
		c.reactions = append(c.reactions, mark{m.emoji, slices.Clone(m.by)})
	}
	return c
}

// react puts somebody's emoji on an item, or takes it back.
func (it *item) react(emoji string, by chat.UserID, removed bool) bool {
	i := slices.IndexFunc(it.reactions, func(m mark) bool { return m.emoji == emoji })
	switch {
	case i < 0 && removed:
		return false
	case i < 0:
		it.reactions = append(it.reactions, mark{emoji, []chat.UserID{by}})
		return true
	}
	m := &it.reactions[i]
	at := slices.Index(m.by, by)
	switch {
	case removed == (at < 0):
		return false
	case !removed:
		m.by = append(m.by, by)
		return true
	}
	m.by = slices.Delete(m.by, at, at+1)
	if len(m.by) == 0 {
		it.reactions = slices.Delete(it.reactions, i, i+1)
	}
	return true
}
