package sqlite

import (
	"context"
	"slices"
	"sync"
	"time"

	"nod/memory"
)

// queue holds the process's knowledge of threads beyond the file: the threads that wait
// for a run, those that have one, and the next deadline. A parked thread is not in it
// and costs nothing.
type queue struct {
	mu       sync.Mutex
	cond     *sync.Cond
	ready    []item          // oldest first
	queued   map[string]bool // by thread
	held     map[string]*held
	failures map[string]int   // unreadable claims, by thread
	handed   map[string]int64 // by thread: the inbox number up to which runs got entries without committing
	due      time.Time        // the earliest deadline in the file; zero: none
	tick     chan struct{}
	closed   bool
}

// item is a thread in the queue.
type item struct{ platform, thread string }

// held is a claimed thread. It belongs to the goroutine of the run, except for mail.
type held struct {
	thread   string // its name
	platform string
	bell     *memory.Bell
	mail     bool // woken since the claim; guarded by the queue

	id    int64
	seq   uint64 // of the last entry in the file's log
	woken int64
	seen  []row // inbox entries of the run, and a Due; not in the file's log yet
	n     int64 // the last of them in the inbox
}

func (q *queue) init() {
	q.cond = sync.NewCond(&q.mu)
	q.queued, q.held, q.failures, q.handed = map[string]bool{}, map[string]*held{}, map[string]int{}, map[string]int64{}
	q.tick = make(chan struct{}, 1)
}

// of gives the claim of a run. A run of another store is a mistake of the program, and
// gives a claim that holds nothing.
func of(run *memory.Run) *held {
	if h, ok := run.Held.(*held); ok {
		return h
	}
	return &held{}
}

// wake queues a thread, or rings the bell of its run.
func (q *queue) wake(platform, thread string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if h := q.held[thread]; h != nil {
		h.mail = true
		h.bell.Mail()
		return
	}
	q.enqueue(platform, thread)
}

// queueDue queues a thread whose deadline has passed, unless it has a run.
func (q *queue) queueDue(platform, thread string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held[thread] == nil {
		q.enqueue(platform, thread)
	}
}

func (q *queue) enqueue(platform, thread string) {
	if !q.closed && !q.queued[thread] {
		q.queued[thread] = true
		q.ready = append(q.ready, item{platform, thread})
		q.cond.Broadcast()
	}
}

// waitForThread blocks until a thread of one of the platforms is queued, and holds it.
func (q *queue) waitForThread(ctx context.Context, platforms []string) (*held, error) {
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
		if q.closed {
			return nil, memory.ErrFenced
		}
		if h := q.oldest(platforms); h != nil {
			return h, nil
		}
		q.cond.Wait()
	}
}

// oldest holds the thread that waited longest.
func (q *queue) oldest(platforms []string) *held {
	i := slices.IndexFunc(q.ready, func(at item) bool { return slices.Contains(platforms, at.platform) })
	if i < 0 {
		return nil
	}
	h := &held{thread: q.ready[i].thread, platform: q.ready[i].platform, bell: &memory.Bell{}}
	q.ready = slices.Delete(q.ready, i, i+1)
	delete(q.queued, h.thread)
	q.held[h.thread] = h
	return h
}

// holds says whether a run still has its thread.
func (q *queue) holds(h *held) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held[h.thread] == h
}

// When a claim ends, the thread waits for another event or is queued again, at the end.
func never(*held) bool      { return false }
func always(*held) bool     { return true }
func ifMailed(h *held) bool { return h.mail }

// release ends a claim; false if it held nothing any more.
func (q *queue) release(h *held, again func(*held) bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held[h.thread] != h {
		return false
	}
	delete(q.held, h.thread)
	if again(h) {
		q.enqueue(h.platform, h.thread)
	}
	return true
}

// fence takes a thread from its run, and queues it again.
func (q *queue) fence(thread string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if h := q.held[thread]; h != nil {
		h.bell.Lose()
		delete(q.held, thread)
		q.enqueue(h.platform, thread)
	}
}

// noteHanded notes how far a run was given the inbox, and returns how far earlier runs
// were that committed nothing. They may have acted on those entries all the same.
func (q *queue) noteHanded(thread string, n int64) (before int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before = q.handed[thread]
	q.handed[thread] = max(before, n)
	return before
}

// clearHanded forgets that: the entries are in the log now.
func (q *queue) clearHanded(thread string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.handed, thread)
}

// The pause before an unreadable thread is tried again. It grows less if the whole file
// is unreadable.
const (
	firstAside    = time.Second
	longestAside  = 5 * time.Minute
	longestUnread = 4 * time.Second
)

// putAside keeps an unreadable thread out of the queue for a growing pause, and returns
// how often that happened.
func (q *queue) putAside(h *held, longest time.Duration) (strikes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failures[h.thread]++
	strikes = q.failures[h.thread]
	pause := min(firstAside<<min(strikes-1, 10), longest)
	// It stays held, so that new entries don't queue it.
	time.AfterFunc(pause, func() { q.release(h, always) })
	return strikes
}

func (q *queue) clearFailures(h *held) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.failures, h.thread)
}

// noteDeadline notes that a thread wants to wake at a time.
func (q *queue) noteDeadline(at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if at.IsZero() || !q.due.IsZero() && !at.Before(q.due) {
		return
	}
	q.due = at
	signal(q.tick)
}

func (q *queue) nextDue() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.due
}

// clearDue forgets the deadline. Its caller then reads the next one from the file.
func (q *queue) clearDue() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.due = time.Time{}
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for thread, h := range q.held {
		h.bell.Lose()
		delete(q.held, thread)
	}
	q.cond.Broadcast()
}
