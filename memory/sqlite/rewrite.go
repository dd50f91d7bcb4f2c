package sqlite

import (
	"context"

	"nod/chat"
	"nod/memory"
)

// Rewrite implements memory.Rewriter.
func (s *Store) Rewrite(ctx context.Context, thread chat.ThreadID, edit func([]memory.Entry) []memory.Body) error {
	name, changed := thread.String(), false
	return s.do(ctx, "rewrite a thread", func(w *writer) { changed = w.rewrite(name, edit) }, func() {
		if changed {
			s.recent.Take(name)
			s.queue.fence(name)
			s.purge.request()
		}
	})
}

func (w *writer) rewrite(thread string, edit func([]memory.Entry) []memory.Body) (changed bool) {
	rows := queryAll(w, readThread+" ORDER BY 1, 2", []any{thread, 0, 0}, scanPart)
	if len(rows) == 0 {
		return false
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
		w.fail(err)
		w.exec("UPDATE entry SET kind = ?2, body = ?3 WHERE id = ?1", log[i].entry, body.Kind(), raw)
	}
	return changed
}
