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

// A viewer reads a file without a service as one that never changes: SQLite takes no
// lock and caches pages. If a service starts meanwhile, old and new pages mix. Rows are
// missing, belong to another thread, or look damaged. So the viewer checks the file
// after reading, and drops everything if it changed.

// errTaken ends a reading because a service took the file meanwhile.
var errTaken = errors.New("the service was started while this read its store, so the result may be wrong; run it again")

// fileSnapshot is the file when no process had it; nil if one had.
type fileSnapshot struct {
	path string
	was  fs.FileInfo
}

// snapshotFile notes the size and time of a file, if no process has it. A process that
// has the file has a write-ahead log beside it.
func snapshotFile(path string) (*fileSnapshot, error) {
	was, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return &fileSnapshot{path, was}, nil
}

// check returns err, or errTaken if the file changed.
func (u *fileSnapshot) check(err error) error {
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

// checked yields the values of a reading. Its end, or an error, may turn out to be
// errTaken.
func checked[T any](u *fileSnapshot, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for one, err := range all {
			if err != nil {
				err = u.check(err)
			}
			if !yield(one, err) || err != nil {
				return
			}
		}
		if err := u.check(nil); err != nil {
			yield(none, err)
		}
	}
}

// Audit implements memory.Auditor.
func (v *Viewer) Audit(ctx context.Context, thread chat.ThreadID) iter.Seq2[memory.AuditLine, error] {
	return checked(v.alone, v.reader.Audit(ctx, thread))
}

// Lines implements memory.Auditor.
func (v *Viewer) Lines(ctx context.Context) iter.Seq2[memory.KeptLine, error] {
	return checked(v.alone, v.reader.Lines(ctx))
}

// Heads implements memory.Auditor.
func (v *Viewer) Heads(ctx context.Context) (map[chat.ThreadID]memory.Head, error) {
	heads, err := v.reader.Heads(ctx)
	return heads, v.alone.check(err)
}

// Newer implements memory.Auditor.
func (v *Viewer) Newer(ctx context.Context, mark string, each func(memory.KeptLine)) (end string, older bool, err error) {
	end, older, err = v.reader.Newer(ctx, mark, each)
	return end, older, v.alone.check(err)
}

// Mark implements memory.Auditor.
func (v *Viewer) Mark(ctx context.Context) (string, error) {
	mark, err := v.reader.Mark(ctx)
	return mark, v.alone.check(err)
}

// People implements memory.Auditor.
func (v *Viewer) People(ctx context.Context) ([]memory.Person, error) {
	people, err := v.reader.People(ctx)
	return people, v.alone.check(err)
}

// Blob gives a file of a thread.
func (v *Viewer) Blob(ctx context.Context, thread chat.ThreadID, name string) ([]byte, error) {
	data, err := v.reader.Blob(ctx, thread, name)
	return data, v.alone.check(err)
}

// Noted gives a note of the installation.
func (v *Viewer) Noted(ctx context.Context, name string) ([]byte, error) {
	value, err := v.reader.Noted(ctx, name)
	return value, v.alone.check(err)
}

// Read implements memory.Reader.
func (v *Viewer) Read(ctx context.Context, thread chat.ThreadID) ([]memory.Entry, error) {
	log, err := v.reader.Read(ctx, thread)
	return log, v.alone.check(err)
}

// Tail implements memory.Reader.
func (v *Viewer) Tail(ctx context.Context, thread chat.ThreadID, after uint64) (memory.Tail, error) {
	tail, err := v.reader.Tail(ctx, thread, after)
	return tail, v.alone.check(err)
}

// Threads implements memory.Lister.
func (v *Viewer) Threads(ctx context.Context, q memory.ListQuery) ([]memory.Listed, error) {
	list, err := v.reader.Threads(ctx, q)
	return list, v.alone.check(err)
}
