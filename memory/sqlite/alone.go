package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"

	"nod/chat"
	"nod/memory"
)

// A file that nobody has is read as one that does not change: SQLite looks at no lock
// then, and keeps what it read. When a service takes the file all the same, pages of
// before and after are mixed: what is read is not there, or is another thread's, or
// looks damaged. So nothing counts that was read by the time that is seen.

// errTaken ends what looks at a file that a service took meanwhile.
var errTaken = errors.New("the service was started while this looked at its store, so what was read may be wrong; run it again")

// unchanged is a file as it was when nobody had it; nil where somebody had.
type unchanged struct {
	path string
	was  fs.FileInfo
}

// look notes how a file is, if nobody has it. Whoever has the file has a write-ahead
// log beside it.
func look(path string) (*unchanged, error) {
	was, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return &unchanged{path, was}, nil
}

// still is err, or errTaken where the file is not as it was.
func (u *unchanged) still(err error) error {
	if u == nil {
		return err
	}
	now, gone := os.Stat(u.path)
	_, wal := os.Stat(u.path + "-wal")
	if gone != nil || !errors.Is(wal, fs.ErrNotExist) || now.Size() != u.was.Size() || !now.ModTime().Equal(u.was.ModTime()) {
		return errTaken
	}
	return err
}

// each goes through what is read; the end, or an error, may turn out to be that the
// file was taken.
func each[T any](u *unchanged, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for one, err := range all {
			if err != nil {
				err = u.still(err)
			}
			if !yield(one, err) || err != nil {
				return
			}
		}
		if err := u.still(nil); err != nil {
			yield(none, err)
		}
	}
}

// Audit implements memory.Auditor.
func (v *Viewer) Audit(ctx context.Context, thread chat.ThreadID) iter.Seq2[memory.AuditLine, error] {
	return each(v.alone, v.reader.Audit(ctx, thread))
}

// Lines implements memory.Auditor.
func (v *Viewer) Lines(ctx context.Context) iter.Seq2[memory.KeptLine, error] {
	return each(v.alone, v.reader.Lines(ctx))
}

// Heads implements memory.Auditor.
func (v *Viewer) Heads(ctx context.Context) (map[chat.ThreadID]memory.Head, error) {
	heads, err := v.reader.Heads(ctx)
	return heads, v.alone.still(err)
}

// Blob gives a file of a thread.
func (v *Viewer) Blob(ctx context.Context, thread chat.ThreadID, name string) ([]byte, error) {
	data, err := v.reader.Blob(ctx, thread, name)
	return data, v.alone.still(err)
}

// Noted gives a note of the installation.
func (v *Viewer) Noted(ctx context.Context, name string) ([]byte, error) {
	value, err := v.reader.Noted(ctx, name)
	return value, v.alone.still(err)
}

// Read implements memory.Reader.
func (v *Viewer) Read(ctx context.Context, thread chat.ThreadID) ([]memory.Entry, error) {
	log, err := v.reader.Read(ctx, thread)
	return log, v.alone.still(err)
}

// Tail implements memory.Reader.
func (v *Viewer) Tail(ctx context.Context, thread chat.ThreadID, after uint64) (memory.Tail, error) {
	tail, err := v.reader.Tail(ctx, thread, after)
	return tail, v.alone.still(err)
}

// Threads implements memory.Lister.
func (v *Viewer) Threads(ctx context.Context, q memory.ListQuery) ([]memory.Listed, error) {
	list, err := v.reader.Threads(ctx, q)
	return list, v.alone.still(err)
}
