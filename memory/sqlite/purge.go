package sqlite

import (
	"errors"
	"fmt"
	"time"
)

// purge empties the write-ahead log after an erasure, since the log still holds the
// erased text. It can't while another process reads the file, so it tries again; no
// caller waits for it. Store.writing guards it.
type purge struct {
	requested bool
	warned    bool
	notBefore time.Time
	pause     time.Duration
	timer     *time.Timer
}

// purgeWait is the wait for readers of this process. A failed purge is tried again
// after a pause that grows; above sayPurge it is logged.
const (
	purgeWait         = 20 // ms
	sayPurge          = time.Second
	firstPurgePause   = 200 * time.Millisecond
	longestPurgePause = time.Minute
)

func (p *purge) request() { p.requested, p.notBefore = true, time.Time{} }

// due receives at the next try; nil if none is requested.
func (p *purge) due() <-chan time.Time {
	if !p.requested {
		return nil
	}
	if p.timer == nil {
		p.timer = time.NewTimer(0)
	}
	p.timer.Reset(time.Until(p.notBefore))
	return p.timer.C
}

func (p *purge) runIfDue(s *Store) {
	if !p.requested || s.w.broken != nil || time.Now().Before(p.notBefore) {
		return
	}
	err := s.w.checkpoint()
	if err == nil {
		if p.warned {
			s.log.Info("erased text is gone from the write-ahead log")
		}
		*p = purge{timer: p.timer}
		return
	}
	p.pause = min(max(2*p.pause, firstPurgePause), longestPurgePause)
	p.notBefore = time.Now().Add(p.pause)
	if !p.warned && p.pause > sayPurge {
		p.warned = true
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
