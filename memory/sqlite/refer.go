package sqlite

import (
	"context"

	"nod/chat"
	"nod/memory"
)

// Refer implements memory.Referrer. All threads are in one file, so it does the same as
// a commit for a message of the thread's own channel. The reference lasts as long as
// the thread.
func (s *Store) Refer(ctx context.Context, ref chat.MessageRef, thread chat.ThreadID) error {
	at := millis(s.now())
	return s.do(ctx, "refer to a thread", func(w *writer) {
		var id int64
		w.queryRow(touchThread, []any{thread.String(), thread.Platform, at, at, "", 0}, &id)
		w.indexMessage(id, ref)
	}, func() { s.queue.wake(thread.Platform, thread.String()) })
}

var _ memory.Referrer = (*Store)(nil)
