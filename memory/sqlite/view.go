package sqlite

import (
	"context"
	"errors"
	"fmt"

	"nod/memory"
)

// Viewer reads a file that another process may have, and changes nothing.
type Viewer struct {
	reader
	alone *fileSnapshot
}

// View opens the file for reading only, beside a process that may use it. A file of
// another format is a memory.FormatError.
func View(ctx context.Context, path string) (*Viewer, error) {
	v, err := view(ctx, path)
	if format, ok := errors.AsType[memory.FormatError](err); ok {
		return nil, format
	}
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	return v, nil
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
	v := &Viewer{alone: nobody}
	if err := v.open(ctx, file, mode); err != nil {
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
