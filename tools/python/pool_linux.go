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
	room  sync.Mutex    // held while interpreters of others are ended

	mu       sync.Mutex
	sessions map[string]*session // by the name of the thread's folder
}

// session is a thread that is in use.
type session struct {
	// lane is held by one of the thread's calls. It waits for it before it takes a place: a
	// thread that has many calls would leave no place to the others.
	lane chan struct{}
	turn chan struct{} // held by the user of i
	i    *interpreter  // nil: none

	// Under Python.mu:
	calls int       // who hold lane or wait for it
	users int       // who hold turn or wait for it
	alive bool      // there is an interpreter, or is about to be
	used  time.Time // last
}

var errClosed = errors.New("the bot stops")

const sweepEvery = time.Minute

// open tries the sandbox out and makes the tool.
func open(ctx context.Context, o Options) (*Python, error) {
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

func newSession() *session {
	return &session{lane: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
}

// count counts more or fewer calls and users of a thread's session, which is there as long
// as it has any, or an interpreter.
func (p *Python) count(name string, calls, users int) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[name]
	if s == nil {
		s = newSession()
		p.sessions[name] = s
	}
	s.calls += calls
	s.users += users
	if s.calls+s.users == 0 && !s.alive {
		delete(p.sessions, name)
	}
	return s
}

// enter gives a thread's session to the caller alone, who has to leave it: first its
// lane, then one of the places for calls, then its interpreter.
func (p *Python) enter(ctx context.Context, name string) (*session, error) {
	s := p.count(name, 1, 0)
	if err := p.take(ctx, s.lane); err != nil {
		p.count(name, -1, 0)
		return nil, err
	}
	if err := p.take(ctx, p.calls); err != nil {
		p.next(name, s)
		return nil, err
	}
	p.count(name, 0, 1)
	if err := p.take(ctx, s.turn); err != nil {
		p.free(name, s)
		return nil, err
	}
	return s, nil
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

func (p *Python) leave(name string, s *session) {
	<-s.turn
	p.free(name, s)
}

// free gives a call's place back, and lets the next call of the thread have its turn.
func (p *Python) free(name string, s *session) {
	p.count(name, 0, -1)
	<-p.calls
	p.next(name, s)
}

func (p *Python) next(name string, s *session) {
	<-s.lane
	p.count(name, -1, 0)
}

// begin gives the session an interpreter. When there are too many, the one that
// was not used for the longest time ends. There is one that nobody uses, since no
// more calls run than there may be interpreters.
func (p *Python) begin(ctx context.Context, s *session, f *folder) error {
	if err := p.makeRoom(s); err != nil {
		return err
	}
	i, err := p.box.start(ctx, f.work())
	if err != nil {
		p.setAlive(s, false)
		return err
	}
	s.i = i
	// From here on the record tells of a loss, even if this process dies.
	f.note.Alive, f.note.Names, f.note.Used = true, nil, p.o.Now()
	return f.save()
}

func (p *Python) makeRoom(s *session) error {
	p.room.Lock()
	defer p.room.Unlock()
	for {
		name, oldest := p.claimOldest(s)
		if oldest == nil {
			return nil
		}
		if err := p.stopClaimed(name, oldest); err != nil {
			return err
		}
	}
}

// claimOldest counts s in if there is room for it, else it gives who has to go.
func (p *Python) claimOldest(s *session) (name string, oldest *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	alive := 0
	for n, other := range p.sessions {
		if !other.alive || other == s {
			continue
		}
		alive++
		if other.users == 0 && (oldest == nil || other.used.Before(oldest.used)) {
			name, oldest = n, other
		}
	}
	if alive < p.o.Most {
		s.alive = true
		return "", nil
	}
	oldest.users++
	return name, oldest
}

func (p *Python) setAlive(s *session, alive bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.alive = alive
}

// stop ends the interpreter of a session that the caller holds. What it knew is
// told at the next call, since the folder's record still says that it lives.
func (p *Python) stop(s *session) error {
	if s.i == nil {
		return nil
	}
	err := s.i.end()
	s.i = nil
	p.setAlive(s, false)
	return err
}

// stopClaimed ends the interpreter of a session that was unused when it was claimed. It
// holds room, so that only one claims at a time, and every claimer finds a session.
func (p *Python) stopClaimed(name string, s *session) error {
	s.turn <- struct{}{}
	err := p.stop(s)
	<-s.turn
	p.count(name, 0, -1)
	return err
}

// sweep ends interpreters that nobody uses, and erases the folders of threads
// that were silent for long.
func (p *Python) sweep() {
	now := p.o.Now()
	p.room.Lock()
	defer p.room.Unlock()
	for name, s := range p.claimIdle(now) {
		if err := p.stopClaimed(name, s); err != nil {
			p.o.Log.Error("end an idle interpreter", "error", err)
		}
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

func (p *Python) claimIdle(now time.Time) map[string]*session {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := map[string]*session{}
	for name, s := range p.sessions {
		if s.users == 0 && s.alive && now.Sub(s.used) >= p.o.Idle {
			s.users++
			idle[name] = s
		}
	}
	return idle
}

func (p *Python) eraseSilent(name string, now time.Time) error {
	path := filepath.Join(p.threads(), name)
	note, err := readRecord(path)
	if err != nil || now.Sub(note.Used) < p.o.Keep {
		return err
	}
	p.mu.Lock()
	_, busy := p.sessions[name]
	if busy {
		p.mu.Unlock()
		return nil
	}
	s := newSession()
	s.users = 1
	s.turn <- struct{}{}
	p.sessions[name] = s
	p.mu.Unlock()
	defer func() {
		<-s.turn
		p.count(name, 0, -1)
	}()
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
