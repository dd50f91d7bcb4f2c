package sqlite

import (
	"context"
	"slices"

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
	l := gathered(queryAll(w, readThread, []any{thread, 0, 0}, scanPart))
	if !l.found {
		return false
	}
	rows := slices.Concat(l.log, l.inbox)
	for i, body := range edit(append(entries(l.log), l.waiting()...)) {
		if body == nil {
			continue
		}
		changed = true
		raw, err := memory.Encode(body)
		w.fail(err)
		w.exec("UPDATE entry SET kind = ?2, body = ?3 WHERE id = ?1", rows[i].entry, body.Kind(), raw)
	}
	return changed
}
