package sqlite

import (
	"errors"
	"fmt"
	"time"
)

// purge empties the write-ahead log after something was erased, since the log
// still holds it. That can't be done while another process reads the file, and
// nobody waits for it. Who has the pen uses it.
type purge struct {
	wanted bool
	said   bool      // that it is not done
	at     time.Time // not before
	pause  time.Duration
	timer  *time.Timer
}

// How long a purge waits for readers of this process, how soon one that failed is
// tried again, and when that is worth a word.
const (
	purgeWait         = 20 // ms
	sayPurge          = time.Second
	firstPurgePause   = 200 * time.Millisecond
	longestPurgePause = time.Minute
)

// want asks for it, at once.
func (p *purge) want() { p.wanted, p.at = true, time.Time{} }

// due receives when it is time to try again; nil while nothing is to be done.
func (p *purge) due() <-chan time.Time {
	if !p.wanted {
		return nil
	}
	if p.timer == nil {
		p.timer = time.NewTimer(0)
	}
	p.timer.Reset(time.Until(p.at))
	return p.timer.C
}

// now does it, when it is wanted and due.
func (p *purge) now(s *Store) {
	if !p.wanted || time.Now().Before(p.at) {
		return
	}
	err := s.w.checkpoint()
	if err == nil {
		if p.said {
			s.log.Info("erased text is gone from the write-ahead log")
		}
		*p = purge{timer: p.timer}
		return
	}
	p.pause = min(max(2*p.pause, firstPurgePause), longestPurgePause)
	p.at = time.Now().Add(p.pause)
	if !p.said && p.pause > sayPurge {
		p.said = true
		s.log.Warn("erased text is still in the write-ahead log; trying again", "error", err)
	}
}

var errReader = errors.New("somebody reads the file")

// checkpoint moves everything from the write-ahead log into the file and empties
// it.
func (w *writer) checkpoint() error {
	// Pragmas are not prepared: they act when they are compiled.
	if err := w.pragma("busy_timeout", purgeWait); err != nil {
		return err
	}
	var busy, frames, moved int
	err := w.conn.QueryRowContext(background, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved)
	if err == nil && busy != 0 {
		err = errReader
	}
	return errors.Join(err, w.pragma("busy_timeout", lockWait))
}

func (w *writer) pragma(name string, value int) error {
	_, err := w.conn.ExecContext(background, fmt.Sprintf("PRAGMA %s = %d", name, value))
	return err
}
