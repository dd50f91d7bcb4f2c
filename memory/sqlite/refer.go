package sqlite

import (
	"context"
	"fmt"

	"nod/chat"
	"nod/memory"
)

// Refer implements memory.Referrer. All threads are in one file, so it does the same as
// a commit for a message of the thread's own channel. The reference lasts as long as
// the thread.
func (s *Store) Refer(ctx context.Context, ref chat.MessageRef, thread chat.ThreadID) error {
	at := millis(s.now())
	o := &op{do: func(w *writer) error {
		var id int64
		if _, err := w.queryRow(touchThread, []any{thread.String(), thread.Platform, at, at, "", 0}, &id); err != nil {
			return err
		}
		return w.indexMessage(id, ref)
	}, after: func() { s.queue.wake(thread.Platform, thread.String()) }}
	if err := s.submit(ctx, o); err != nil {
		return fmt.Errorf("refer to a thread: %w", err)
	}
	return nil
}

var _ memory.Referrer = (*Store)(nil)
