package script

import (
	"context"
	"fmt"
	"sync"
	"time"

	"nod/memory"
)

// mostCommits is how often a conversation may be brought further in one moment of the
// bubble's time. One that is brought further for ever, and nowhere, would let no time
// pass, and so the test would hang.
const mostCommits = 2000

// restless is a store that ends a conversation which does not come to rest.
type restless struct {
	memory.Full
	end func(why string)

	mu   sync.Mutex
	at   time.Time
	n    int
	over bool
}

// Commit implements memory.Store.
func (r *restless) Commit(ctx context.Context, held *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	if why, over := r.count(bodies); over {
		if why != "" {
			r.end(why)
		}
		return nil, memory.ErrFenced
	}
	return r.Full.Commit(ctx, held, bodies...)
}

// count counts a commit; why is said once.
func (r *restless) count(bodies []memory.Body) (why string, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return "", true
	}
	if now := time.Now(); !now.Equal(r.at) {
		r.at, r.n = now, 0
	}
	if r.n++; r.n <= mostCommits {
		return "", false
	}
	r.over = true
	return fmt.Sprintf("the conversation does not come to rest: %d commits at one moment, the last is of %#v", r.n, bodies), true
}
