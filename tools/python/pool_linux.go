package python

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"nod/chat"
)

// Python holds the interpreters of all threads. It is safe for concurrent use.
type Python struct {
	o       Options
	box     *sandbox
	dir     string   // this process's part of Options.Dir
	locked  *os.File // says so
	once    sync.Once
	closing chan struct{}
	sweeper sync.WaitGroup

	calls chan struct{} // a token for each call that runs: Options.Most
	room  sync.Mutex    // held while interpreters that nobody uses are ended

	mu       sync.Mutex
	sessions map[string]*session // by the name of the thread's folder
}

// session is a thread that is in use.
type session struct {
	// lane is held by one of the thread's calls. It waits for it before it takes a place: a
	// thread that has many calls would leave no place to the others.
	lane chan struct{}

	// Under Python.mu, but while it is busy its call alone has i:
	users int          // who hold lane or wait for it
	busy  bool         // its call has a place
	i     *interpreter // nil: none
	used  time.Time    // last
}

var errClosed = errors.New("the bot stops")

const sweepEvery = time.Minute

// New makes the tool if a tried-out sandbox holds. An error with a *tools.Missing in
// its chain names the missing package or setting.
func New(ctx context.Context, o Options) (*Python, error) {
	o = o.withDefaults()
	if o.Dir == "" {
		return nil, errors.New("find python's folder: none is given")
	}
	box, err := newSandbox(o)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find python's folder: %w", err)
	}
	p := &Python{
		o: o, box: box, closing: make(chan struct{}), calls: make(chan struct{}, o.Most), sessions: map[string]*session{},
	}
	if p.dir, p.locked, err = lockPart(dir); err != nil {
		return nil, err
	}
	if err := p.prepare(ctx); err != nil {
		return nil, errors.Join(err, p.locked.Close())
	}
	p.sweeper.Go(func() {
		ticker := time.NewTicker(sweepEvery)
		defer ticker.Stop()
		for {
			select {
			case <-p.closing:
				return
			case <-ticker.C:
				p.sweep()
			}
		}
	})
	return p, nil
}

// prepare makes the folder for the threads' folders and tries the sandbox out.
func (p *Python) prepare(ctx context.Context) error {
	if err := os.MkdirAll(p.threads(), 0o711); err != nil {
		return fmt.Errorf("make python's folder: %w", err)
	}
	if err := p.box.reachable(p.threads()); err != nil {
		return err
	}
	return p.probe(ctx)
}

// lockPart takes a part of the folder that no other process uses. The kernel
// gives it back when this process ends, however it does.
func lockPart(dir string) (part string, lock *os.File, err error) {
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return "", nil, fmt.Errorf("make python's folder: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", nil, fmt.Errorf("look at python's folder: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(stat.Uid) != os.Geteuid() || info.Mode()&0o022 != 0 {
		return "", nil, off("its folder %s belongs to another user, or others may write to it; choose another one", dir)
	}
	for n := 0; ; n++ {
		part := filepath.Join(dir, strconv.Itoa(n))
		if err := os.Mkdir(part, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
			return "", nil, fmt.Errorf("make python's folder: %w", err)
		}
		lock, err := os.OpenFile(filepath.Join(part, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return "", nil, fmt.Errorf("lock python's folder: %w", err)
		}
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return part, lock, nil
		}
		if err = errors.Join(err, lock.Close()); !errors.Is(err, syscall.EWOULDBLOCK) {
			return "", nil, fmt.Errorf("lock python's folder: %w", err)
		}
	}
}

func (p *Python) threads() string { return filepath.Join(p.dir, "threads") }

// enter gives a thread's session to the caller alone, who has to leave it: first its
// lane, then one of the places for calls.
func (p *Python) enter(ctx context.Context, name string) (*session, error) {
	p.mu.Lock()
	s := p.sessions[name]
	if s == nil {
		s = &session{lane: make(chan struct{}, 1)}
		p.sessions[name] = s
	}
	s.users++
	p.mu.Unlock()
	err := p.take(ctx, s.lane)
	if err == nil {
		if err = p.take(ctx, p.calls); err != nil {
			<-s.lane
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		s.users--
		p.tidy(name, s)
		return nil, err
	}
	s.busy = true
	return s, nil
}

func (p *Python) leave(name string, s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	<-p.calls
	<-s.lane
	s.users--
	s.busy, s.used = false, p.o.Now()
	p.tidy(name, s)
}

// tidy forgets a session that nobody needs. The caller holds the lock.
func (p *Python) tidy(name string, s *session) {
	if s.users == 0 && s.i == nil {
		delete(p.sessions, name)
	}
}

// take waits for room in a channel.
func (p *Python) take(ctx context.Context, room chan<- struct{}) error {
	select {
	case room <- struct{}{}:
		return nil
	case <-p.closing:
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin gives the session an interpreter.
func (p *Python) begin(ctx context.Context, s *session, f *folder) (err error) {
	if err = p.makeRoom(time.Time{}); err != nil {
		return err
	}
	if s.i, err = p.box.start(ctx, f.work()); err != nil {
		return err
	}
	// From here on the record tells of a loss, even if this process dies.
	f.note.Alive, f.note.Names, f.note.Used = true, nil, p.o.Now()
	return f.save()
}

// makeRoom ends interpreters that nobody uses: those not used since a time, and of too
// many the one that was not used for the longest. While there are too many there is such
// a one, since no more calls run than there may be interpreters.
func (p *Python) makeRoom(since time.Time) error {
	p.room.Lock()
	defer p.room.Unlock()
	for {
		i := p.takeOldest(since)
		if i == nil {
			return nil
		}
		if err := i.end(); err != nil {
			return err
		}
	}
}

// takeOldest takes the interpreter that has to go from its session; nil where none has to.
func (p *Python) takeOldest(since time.Time) *interpreter {
	p.mu.Lock()
	defer p.mu.Unlock()
	alive, name := 0, ""
	var oldest *session
	for n, s := range p.sessions {
		switch {
		case s.busy: // it has one, or is about to
			alive++
		case s.i != nil:
			if alive++; oldest == nil || s.used.Before(oldest.used) {
				name, oldest = n, s
			}
		}
	}
	if oldest == nil || alive <= p.o.Most && oldest.used.After(since) {
		return nil
	}
	i := oldest.i
	oldest.i = nil
	p.tidy(name, oldest)
	return i
}

// stop ends the interpreter of a session that the caller holds. What it knew is
// told at the next call, since the folder's record still says that it lives.
func (p *Python) stop(s *session) error {
	if s.i == nil {
		return nil
	}
	err := s.i.end()
	s.i = nil
	return err
}

// sweep ends interpreters that nobody uses, and erases the folders of threads
// that were silent for long.
func (p *Python) sweep() {
	now := p.o.Now()
	if err := p.makeRoom(now.Add(-p.o.Idle)); err != nil {
		p.o.Log.Error("end an idle interpreter", "error", err)
	}
	entries, err := os.ReadDir(p.threads())
	if err != nil {
		p.o.Log.Error("look at python's folders", "error", err)
		return
	}
	for _, e := range entries {
		if err := p.eraseSilent(e.Name(), now); err != nil {
			p.o.Log.Error("erase python's folder of a silent thread", "error", err)
		}
	}
}

func (p *Python) eraseSilent(name string, now time.Time) error {
	path := filepath.Join(p.threads(), name)
	note, err := readRecord(path)
	if err != nil || now.Sub(note.Used) < p.o.Keep {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sessions[name] != nil {
		return nil
	}
	return erase(path)
}

// Forget erases a thread's interpreter and folder. It waits for a running call.
func (p *Python) Forget(thread chat.ThreadID) error {
	name := folderName(thread)
	s, err := p.enter(context.Background(), name)
	if err != nil {
		return err
	}
	defer p.leave(name, s)
	return errors.Join(p.stop(s), erase(filepath.Join(p.threads(), name)))
}

// Close ends all interpreters, and returns when none of their processes is left.
// Calls that run are stopped, and later ones are not begun.
func (p *Python) Close() (err error) {
	p.once.Do(func() { err = p.shut() })
	return err
}

func (p *Python) shut() error {
	close(p.closing)
	for range cap(p.calls) {
		p.calls <- struct{}{} // every call has ended
	}
	p.sweeper.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, s := range p.sessions {
		if s.i != nil {
			errs = append(errs, s.i.end())
		}
	}
	// A program that another goroutine just forks has the file too, and the lock with it.
	return errors.Join(append(errs, syscall.Flock(int(p.locked.Fd()), syscall.LOCK_UN), p.locked.Close())...)
}
