package sqlite

import (
	"context"
	"fmt"

	"nod/chat"
	"nod/memory"
)

// Rewrite implements memory.Rewriter.
func (s *Store) Rewrite(ctx context.Context, thread chat.ThreadID, edit func([]memory.Entry) []memory.Body) error {
	name, changed := thread.String(), false
	o := &op{do: func(w *writer) (err error) {
		changed, err = w.rewrite(name, edit)
		return err
	}, after: func() {
		if changed {
			s.recent.Take(name)
			s.queue.fence(name)
			s.purge.request()
		}
	}}
	if err := s.submit(ctx, o); err != nil {
		return fmt.Errorf("rewrite a thread: %w", err)
	}
	return nil
}

func (w *writer) rewrite(thread string, edit func([]memory.Entry) []memory.Body) (changed bool, err error) {
	rows, err := queryAll(w, readThread+" ORDER BY 1, 2", []any{thread, 0, 0}, scanPart)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	rows = rows[1:] // the first is the thread itself
	log := make([]row, len(rows))
	for i, p := range rows {
		if log[i] = p.row; p.part > inLog {
			log[i].seq = 0
		}
	}
	for i, body := range edit(entries(log)) {
		if body == nil {
			continue
		}
		changed = true
		raw, err := memory.Encode(body)
		if err != nil {
			return false, err
		}
		if err := w.exec("UPDATE entry SET kind = ?2, body = ?3 WHERE id = ?1", log[i].entry, body.Kind(), raw); err != nil {
			return false, err
		}
	}
	return changed, nil
}
