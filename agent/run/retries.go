package run

import (
	"sync"
	"time"

	"nod/chat"
)

// retries counts how often in a row driving a thread ended with an error.
type retries struct {
	mu sync.Mutex
	of map[chat.ThreadID]int
}

// next notes another failure and says how long to wait.
func (r *retries) next(t chat.ThreadID) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[chat.ThreadID]int{}
	}
	r.of[t]++
	return min(mostPause, firstPause<<min(r.of[t], 16))
}

func (r *retries) count(t chat.ThreadID) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[t]
}

func (r *retries) clear(t chat.ThreadID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, t)
}
