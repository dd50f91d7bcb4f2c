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
	mu     sync.Mutex
	cond   *sync.Cond
	now    func() time.Time
	ready  map[string][]int64 // platform → threads, oldest first
	queued map[int64]bool
	held   map[int64]*held
	token  uint64
	due    time.Time // the earliest deadline in the file; zero: none
	tick   chan struct{}
	gone   bool
}

// held is a claimed thread.
type held struct {
	id       int64
	platform string
	token    uint64
	seq      uint64 // of the last entry
	mail     chan struct{}
	lost     chan struct{}
}

func (q *queue) init(now func() time.Time) {
	q.cond = sync.NewCond(&q.mu)
	q.now = now
	q.ready, q.queued, q.held = map[string][]int64{}, map[int64]bool{}, map[int64]*held{}
	q.tick = make(chan struct{}, 1)
	q.token = uint64(now().UnixNano())
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
func (q *queue) wake(platform string, id int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if h := q.held[id]; h != nil {
		select {
		case h.mail <- struct{}{}:
		default:
		}
		return
	}
	if q.queued[id] {
		return
	}
	q.queued[id] = true
	q.ready[platform] = append(q.ready[platform], id)
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
		for _, p := range platforms {
			if ids := q.ready[p]; len(ids) > 0 {
				q.ready[p] = ids[1:]
				return q.hold(p, ids[0]), nil
			}
		}
		q.cond.Wait()
	}
}

func (q *queue) hold(platform string, id int64) *held {
	delete(q.queued, id)
	q.token++
	h := &held{id: id, platform: platform, token: q.token, mail: make(chan struct{}, 1), lost: make(chan struct{})}
	q.held[id] = h
	return h
}

// holds says whether a run still has its thread.
func (q *queue) holds(h *held) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.gone && q.held[h.id] == h
}

func (q *queue) release(h *held) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held[h.id] == h {
		delete(q.held, h.id)
	}
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

func (q *queue) setDue(at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.due = at
}

// loseAll takes the threads away from all runs.
func (q *queue) loseAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, h := range q.held {
		close(h.lost)
		delete(q.held, id)
	}
}

func (q *queue) close() {
	q.loseAll()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.gone = true
	q.cond.Broadcast()
}

// rescan queues what the file says is woken and held by nobody.
func (s *Store) rescan(ctx context.Context) error {
	rows, err := s.w.conn.QueryContext(ctx, "SELECT id, platform FROM thread WHERE woken > 0 ORDER BY woken")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		var platform string
		if err := rows.Scan(&id, &platform); err != nil {
			return err
		}
		s.queue.wake(platform, id)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	var due int64
	if err := s.w.conn.QueryRowContext(ctx, "SELECT coalesce(min(wake_at), 0) FROM thread WHERE wake_at > 0").Scan(&due); err != nil {
		return err
	}
	s.queue.setDue(fromMillis(due))
	return nil
}
