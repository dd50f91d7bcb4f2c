package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrInUse is returned by Open when another process has the file.
var ErrInUse = errors.New("another process is using this store; stop it first, or use Redis to share a store")

// resolve gives the name of the file behind symbolic links, since all its names
// have to share one lock. The file need not exist yet.
func resolve(path string) (string, error) {
	for range 32 { // links to links
		file, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Abs(file)
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		to, err := os.Readlink(path)
		if err != nil { // no link: a file that is not there yet
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			return filepath.Abs(filepath.Join(dir, filepath.Base(path)))
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", errors.New("too many symbolic links")
}

// acquire takes the lock file. Trying again is bounded by wait: a process that
// is draining lets go soon.
func acquire(ctx context.Context, path string, wait time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(wait)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(ErrInUse, f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-tick.C:
		}
	}
}

// release lets go of the lock file. The lock is taken back by a word: to close the
// file is not enough while a child of this process, which was just forked and runs no
// program yet, has it open too.
func release(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}
