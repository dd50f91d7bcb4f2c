package sqlite

import (
	"errors"
	"os"
)

// errMoved says that the file is gone, or that another one has its name.
var errMoved = errors.New("the store's file was deleted, moved or replaced while this process has it: put it back, or restart")

// fileIdentity is the file at the time of Open. SQLite itself would go on writing to a
// file without a name.
type fileIdentity struct {
	file string
	was  os.FileInfo
}

func (p *fileIdentity) note(file string) (err error) {
	p.file = file
	p.was, err = os.Stat(file)
	return err
}

// checkFile says whether this process may write: the file is in its place, and the lock
// is its own. After another process had the file, this one's knowledge of it is wrong,
// and it never writes again. An unreadable folder is no reason to refuse. The caller
// holds s.writing.
func (s *Store) checkFile() error {
	if s.taken {
		return ErrInUse
	}
	now, err := os.Stat(s.identity.file)
	if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(now, s.identity.was) {
		return errMoved
	}
	if ours, err := ownsLock(s.lock); err != nil || ours {
		return nil //nolint:nilerr // see above
	}
	return s.relock()
}

// relock takes a lock whose file was deleted.
func (s *Store) relock() error {
	lock, err := tryLock(s.lock.Name())
	if err != nil {
		s.taken = errors.Is(err, ErrInUse)
		return err
	}
	s.log.Warn("lock file of the store was deleted and is made anew")
	old := s.lock
	s.lock = lock
	// Another process may have had the file in between.
	return errors.Join(release(old), s.rescan(background))
}

// ownsLock says whether the open lock file still has its name, so that other processes
// find it locked.
func ownsLock(f *os.File) (bool, error) {
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
