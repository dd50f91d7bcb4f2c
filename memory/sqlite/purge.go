package sqlite

import (
	"errors"
	"fmt"
	"time"
)

// purge empties the write-ahead log after an erasure, since the log still holds the
// erased text. It can't while another process reads the file, so it tries again; no
// caller waits for it. It belongs to the writer.
type purge struct {
	requested bool
	failed    int // tries
	notBefore time.Time
}

// purgeWait is the wait for readers of this process. A failed purge is tried again in a
// while; after so many tries it is logged.
const (
	purgeWait = 20 // ms
	sayPurge  = 3
)

func (p *purge) request() { p.requested, p.notBefore = true, time.Time{} }

func (p *purge) runIfDue(s *Store) {
	if !p.requested || s.w.broken != nil || time.Now().Before(p.notBefore) {
		return
	}
	err := s.w.checkpoint()
	if err == nil {
		if p.failed >= sayPurge {
			s.log.Info("erased text is gone from the write-ahead log")
		}
		*p = purge{}
		return
	}
	p.notBefore = time.Now().Add(checkEvery / 2)
	if p.failed++; p.failed == sayPurge {
		s.log.Warn("erased text is still in the write-ahead log; trying again", "error", err)
	}
}

var errReader = errors.New("somebody reads the file")

// checkpoint moves the write-ahead log into the file and empties it.
func (w *writer) checkpoint() error {
	if err := w.pragma("busy_timeout", purgeWait); err != nil {
		return err
	}
	busy, _, err := w.logState("TRUNCATE")
	if err == nil && busy {
		err = errReader
	}
	return errors.Join(err, w.pragma("busy_timeout", lockWait))
}

func (w *writer) pragma(name string, value int) error {
	_, err := w.conn.ExecContext(background, fmt.Sprintf("PRAGMA %s = %d", name, value))
	return err
}
