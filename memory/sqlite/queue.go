package sqlite

import (
	"context"
	"sync"
	"time"

	"nod/memory"
)

// queue is what the process knows of threads beyond the file: which wait for
// a run, which have one, and when the next deadline is. A parked thread is not
// in it and costs nothing.
type queue struct {
	mu      sync.Mutex
	cond    *sync.Cond
	ready   map[string][]item // by platform, oldest first
	ticket  uint64            // counts items
	queued  map[string]bool   // by thread
	held    map[string]*held
	strikes map[string]int   // how often a thread could not be read
	handed  map[string]int64 // by thread: up to where its inbox was given to runs that committed nothing yet
	due     time.Time        // the earliest deadline in the file; zero: none
	tick    chan struct{}
	gone    bool
}

// item is a thread in the queue.
type item struct {
	thread string
	ticket uint64
}

// held is a claimed thread. But for what the queue guards, it belongs to whoever
// has the run.
type held struct {
	thread   string // its name
	platform string
	bell     *memory.Bell
	mail     bool // guarded by the queue: woken since it was taken

	id      int64
	seq     uint64 // of the last entry in the file's log
	woken   int64
	marked  bool  // the file says that it is woken
	touched int64 // as the file says
	seen    []row // what the run has of the inbox, and a Due; not in the file's log yet
	n       int64 // of the last of them in the inbox
}

func (q *queue) init() {
	q.cond = sync.NewCond(&q.mu)
	q.ready, q.queued, q.held, q.strikes = map[string][]item{}, map[string]bool{}, map[string]*held{}, map[string]int{}
	q.handed = map[string]int64{}
	q.tick = make(chan struct{}, 1)
}

// of is the claim that a run was made of. A run of another store is a mistake
// of the program, and is held by nobody here.
func of(run *memory.Run) *held {
	if h, ok := run.Held.(*held); ok {
		return h
	}
	return &held{}
}

// wake queues a thread for a run, or tells the run that it has.
func (q *queue) wake(platform, thread string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if h := q.held[thread]; h != nil {
		h.mail = true
		h.bell.Mail()
		return
	}
	q.add(platform, thread)
}

// remind queues a thread whose deadline has passed, unless it has a run.
func (q *queue) remind(platform, thread string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held[thread] == nil {
		q.add(platform, thread)
	}
}

func (q *queue) add(platform, thread string) {
	if q.gone || q.queued[thread] {
		return
	}
	q.ticket++
	q.queued[thread] = true
	q.ready[platform] = append(q.ready[platform], item{thread, q.ticket})
	q.cond.Broadcast()
}

// take waits for a thread of one of the platforms and holds it.
func (q *queue) take(ctx context.Context, platforms []string) (*held, error) {
	stop := context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.cond.Broadcast()
	})
	defer stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if q.gone {
			return nil, memory.ErrFenced
		}
		if h := q.oldest(platforms); h != nil {
			return h, nil
		}
		q.cond.Wait()
	}
}

// oldest holds the thread that has waited for longest.
func (q *queue) oldest(platforms []string) *held {
	var from string
	var first item
	for _, p := range platforms {
		if items := q.ready[p]; len(items) > 0 && (first.ticket == 0 || items[0].ticket < first.ticket) {
			from, first = p, items[0]
		}
	}
	if first.ticket == 0 {
		return nil
	}
	q.ready[from] = q.ready[from][1:]
	delete(q.queued, first.thread)
	h := &held{thread: first.thread, platform: from, bell: &memory.Bell{}}
	q.held[h.thread] = h
	return h
}

// holds says whether a run still has its thread.
func (q *queue) holds(h *held) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.gone && h.bell != nil && q.held[h.thread] == h
}

// release lets go of a thread.
func (q *queue) release(h *held) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held[h.thread] == h {
		delete(q.held, h.thread)
	}
}

// hand notes up to where a run was given the inbox, and says up to where earlier
// ones were, that committed nothing: they may have acted on it all the same.
func (q *queue) hand(thread string, n int64) (before int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before = q.handed[thread]
	q.handed[thread] = max(before, n)
	return before
}

// kept notes that what was handed out is in the log now.
func (q *queue) kept(thread string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.handed, thread)
}

// spare lets go of a thread that was taken for nothing, but for what came since
// then: the look at the file may have been too early for it.
func (q *queue) spare(h *held) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held[h.thread] != h {
		return
	}
	delete(q.held, h.thread)
	if h.mail {
		q.add(h.platform, h.thread)
	}
}

// handOn lets go of a thread that goes on elsewhere, at the end of the queue.
func (q *queue) handOn(h *held) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.gone || h.bell == nil || q.held[h.thread] != h {
		return false
	}
	delete(q.held, h.thread)
	q.add(h.platform, h.thread)
	return true
}

// The pause before a thread that could not be read is tried again; where the whole
// file can't be read it grows less.
const (
	firstAside    = time.Second
	longestAside  = 5 * time.Minute
	longestUnread = 4 * time.Second
)

// aside lets go of a thread that can't be read, until a growing pause is over,
// and says how often that was so.
func (q *queue) aside(h *held, longest time.Duration) (strikes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.strikes[h.thread]++
	strikes = q.strikes[h.thread]
	pause := min(firstAside<<min(strikes-1, 10), longest)
	// It stays held, so that nothing that comes for it takes it out of the corner.
	time.AfterFunc(pause, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.held[h.thread] == h {
			delete(q.held, h.thread)
			q.add(h.platform, h.thread)
		}
	})
	return strikes
}

// sound forgets what aside counted.
func (q *queue) sound(h *held) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.strikes, h.thread)
}

// deadline notes that a thread is to be woken at a time.
func (q *queue) deadline(at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if at.IsZero() || !q.due.IsZero() && !at.Before(q.due) {
		return
	}
	q.due = at
	select {
	case q.tick <- struct{}{}:
	default:
	}
}

func (q *queue) nextDue() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.due
}

// noDue forgets the deadline: whoever calls it then looks at the file, and notes
// the next one.
func (q *queue) noDue() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.due = time.Time{}
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.gone = true
	for thread, h := range q.held {
		h.bell.Lose()
		delete(q.held, thread)
	}
	q.cond.Broadcast()
}
