package sqlite

import (
	"errors"
	"os"
)

// errMoved is said when the file is not where it was, or another one is there.
var errMoved = errors.New("the store's file was deleted, moved or replaced while this process has it: put it back, or restart")

// place is where the store stands: the file, as it was when it was opened. SQLite
// itself would go on to write to one that nobody finds any more.
type place struct {
	file string
	was  os.FileInfo
}

func (p *place) note(file string) (err error) {
	p.file = file
	p.was, err = os.Stat(file)
	return err
}

// stands says whether this process may write: the file is where it was, and the lock
// is its own. Where another process has had the file, what this one knows of it is
// wrong, and it never writes again. What can't be found out is no reason not to.
// Who has the pen calls it.
func (s *Store) stands() error {
	if s.taken {
		return ErrInUse
	}
	now, err := os.Stat(s.place.file)
	if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(now, s.place.was) {
		return errMoved
	}
	if ours, err := locked(s.lock); err != nil || ours {
		return nil //nolint:nilerr // as said
	}
	return s.lockAnew()
}

// lockAnew takes the lock again whose file somebody deleted.
func (s *Store) lockAnew() error {
	lock, err := take(s.lock.Name())
	if err != nil {
		s.taken = errors.Is(err, ErrInUse)
		return err
	}
	s.log.Warn("the lock file of the store was deleted; it is made anew")
	old := s.lock
	s.lock = lock
	// Another process may have been there, and gone again.
	return errors.Join(release(old), s.rescan(background))
}

// locked says whether a lock file is still the one under its name, and so the one
// that others would find locked.
func locked(f *os.File) (bool, error) {
	have, err := f.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Stat(f.Name())
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(have, now), err
}
