package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// Viewer reads a file that another process may have, and changes nothing.
type Viewer struct{ reader }

// View opens the file for reading only, beside a process that may use it. A file of
// another format is a memory.FormatError.
func View(ctx context.Context, path string) (*Viewer, error) {
	v, err := view(ctx, path)
	return v, unopened(path, err)
}

func view(ctx context.Context, path string) (*Viewer, error) {
	file, err := resolve(path)
	if err != nil {
		return nil, err
	}
	nobody, err := snapshotFile(file)
	if err != nil {
		return nil, err
	}
	// If no process has the file, SQLite would make its shared files and leave them
	// behind.
	mode := "ro"
	if nobody != nil {
		mode = modeAlone
	}
	v := &Viewer{reader{alone: nobody}}
	if err := v.open(file, mode); err != nil {
		return nil, err
	}
	have, err := formatOf(ctx, v.db)
	if err == nil && have == 0 {
		err = errors.New("there is no store in it")
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// Close closes the file.
func (v *Viewer) Close() error { return v.close() }

// Ping says whether the file can be read.
func (v *Viewer) Ping(ctx context.Context) error {
	var n int
	_, err := v.readRow(ctx, "SELECT count(*) FROM thread", nil, &n)
	return err
}

// A viewer reads a file without a service as one that never changes: SQLite takes no
// lock and caches pages. If a service starts meanwhile, old and new pages mix. Rows are
// missing, belong to another thread, or look damaged. So each query checks the file
// when it has its rows, and drops them if the file changed.

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
