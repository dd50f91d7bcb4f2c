package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrInUse is returned by Open if another process has the file.
var ErrInUse = errors.New("another process is using this store; stop it first, or use Redis to share a store")

// resolve follows symbolic links, since all names of a file must share one lock. The
// file need not exist yet.
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

// acquire takes the lock file. It tries again for at most wait: a draining process lets
// go soon.
func acquire(ctx context.Context, path string, wait time.Duration) (*os.File, error) {
	deadline := time.Now().Add(wait)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		f, err := tryLock(path)
		if err == nil || !errors.Is(err, ErrInUse) || time.Now().After(deadline) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// tryLock takes the lock file, if no process has it.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
		err = ErrInUse
	case err != nil:
		err = fmt.Errorf("lock %s: %w", path, err)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// Somebody may have deleted it between open and lock.
	if ours, err := ownsLock(f); err != nil || !ours {
		return nil, errors.Join(ErrInUse, err, release(f))
	}
	return f, nil
}

// release unlocks the lock file explicitly. Closing the file is not enough: a child
// that was just forked, and runs no program yet, still has it open.
func release(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}
