package sqlite

import (
	"errors"
	"os"
	"strings"
)

// errMoved says that the file is gone, or that another one has its name.
var errMoved = errors.New("the store's file was deleted, moved or replaced while this process has it: put it back, or restart")

// errUnsaved says that the log or its index has no name any more, and that the log can't
// be moved into the file yet.
var errUnsaved = errors.New("the store's -wal or -shm file was deleted, moved or replaced while this process has it, and the log is not saved yet")

// parts are the ends of the names of the files that are one store: the file, its
// write-ahead log and the index of the log.
var parts = [...]string{"", "-wal", "-shm"}

// fileIdentity is the three files when they were opened. SQLite itself would go on
// writing to a file without a name. It only asks for their inodes: who closes a second
// descriptor of a file drops SQLite's locks of it.
type fileIdentity struct {
	file string
	was  [len(parts)]os.FileInfo
}

func (p *fileIdentity) note(file string) (err error) {
	p.file = file
	for i, end := range parts {
		if p.was[i], err = os.Stat(file + end); err != nil {
			return err
		}
	}
	return nil
}

// away names the files that are not in their places. An unreadable folder is no reason.
func (p *fileIdentity) away() (names []string) {
	for i, end := range parts {
		now, err := os.Stat(p.file + end)
		if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(now, p.was[i]) {
			names = append(names, p.file+end)
		}
	}
	return names
}

// checkFiles says whether this process may write: the files are in their places, the
// lock is its own, and no flush failed. It mends, if it can. After another process had
// the file, this one's knowledge of it is wrong, and it never writes again.
func (s *Store) checkFiles() error {
	if s.taken {
		return ErrInUse
	}
	away := s.identity.away()
	if len(away) > 0 && !s.w.shut {
		s.save(away)
	}
	switch {
	case len(away) > 0 && away[0] == s.identity.file:
		return errMoved
	case s.w.unsaved:
		return errUnsaved
	}
	if err := s.checkLock(); err != nil || s.w.broken == nil {
		return err
	}
	return s.reopen()
}

// isInPlace says whether nothing needs checkFiles.
func (s *Store) isInPlace() bool {
	ours, err := ownsLock(s.lock)
	return (ours || err != nil) && len(s.identity.away()) == 0
}

// save moves the log into the file over the connections, which still read a log that has
// no name. Then they must be opened anew.
func (s *Store) save(away []string) {
	first := !errors.Is(s.w.broken, errMoved)
	if !first && !s.w.unsaved {
		return
	}
	err := s.w.checkpoint()
	s.w.unsaved, s.w.broken = err != nil, errMoved
	if first {
		s.log.Error("files of the store were deleted, moved or replaced", "files", strings.Join(away, " "), "log_saved", err == nil)
	}
}

// checkLock locks the file again if the lock file was deleted.
func (s *Store) checkLock() error {
	if ours, err := ownsLock(s.lock); err != nil || ours {
		return nil //nolint:nilerr // see away
	}
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
