package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"nod/chat"
	"nod/memory"
)

// slowDisk is one that takes nothing until it is let, and fails while it is ill.
type slowDisk struct {
	asked, free chan struct{}
	let         func()
	mu          sync.Mutex
	ill         error
}

func (d *slowDisk) sync() error {
	d.asked <- struct{}{}
	<-d.free
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ill
}

func (d *slowDisk) heals() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ill = nil
}

// onSlowDisk is a store on such a disk, and what puts a message in a goroutine of its own.
func onSlowDisk(t *testing.T) (*Store, *slowDisk, func(id string) chan error) {
	t.Helper()
	s, err := open(t.Context(), filepath.Join(t.TempDir(), "nod.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.done.Go(s.write) // and no sweep, which writes too
	d := &slowDisk{asked: make(chan struct{}, 16), free: make(chan struct{})}
	d.let = sync.OnceFunc(func() { close(d.free) })
	t.Cleanup(func() {
		d.let()
		_ = s.Close()
	})
	s.disk.mu.Lock()
	s.disk.sync = d.sync
	s.disk.mu.Unlock()
	return s, d, func(id string) chan error {
		done := make(chan error, 1)
		go func() {
			m := memory.Message{Message: chat.Message{Ref: chat.MessageRef{Platform: "board", Channel: "c", ID: id}, From: chat.User{ID: "ada"}, Text: id}}
			_, err := s.Put(context.Background(), chat.ThreadID{Platform: "board", Channel: "c", Root: id[len(id)-1:]}, m, id)
			done <- err
		}()
		return done
	}
}

// pending says that a put is not done yet.
func pending(t *testing.T, put chan error) {
	t.Helper()
	select {
	case err := <-put:
		t.Fatalf("it is done before it is on the disk: %v", err)
	default:
	}
}

// A thread is claimed while what woke it is on its way to the disk. Whoever put it is told
// only then, and so is whoever asks on behalf of the run, and whoever puts the same again.
func TestSeenBeforeTheDisk(t *testing.T) {
	t.Parallel()
	s, disk, put := onSlowDisk(t)
	first := put("1")
	<-disk.asked
	run := mustNext(t, s)
	settled := make(chan error, 1)
	go func() { settled <- run.Settled() }()
	again := put("1")
	pending(t, first)
	pending(t, settled)
	pending(t, again)
	disk.let()
	for _, done := range []chan error{first, settled, again} {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Commit(t.Context(), run, memory.Opened{Turn: 1}); err != nil {
		t.Error(err)
	}
	select {
	case <-disk.asked:
	default:
	}
	if err := run.Settled(); err != nil || len(disk.asked) > 0 {
		t.Errorf("the disk is asked again for what it has: %v", err)
	}
}

// What arrives in the transaction in which a thread is let go wakes it again.
func TestLetGoAndWoken(t *testing.T) {
	t.Parallel()
	s, disk, put := onSlowDisk(t)
	disk.let()
	if err := <-put("1"); err != nil {
		t.Fatal(err)
	}
	run := mustNext(t, s)
	s.pen.Lock()
	finished := make(chan error, 1)
	go func() {
		_, err := s.Finish(context.Background(), run, time.Time{})
		finished <- err
	}()
	waiting(t, s, 1)
	again := put("2 of 1")
	waiting(t, s, 2)
	s.pen.Unlock()
	if err := errors.Join(<-finished, <-again); err != nil {
		t.Fatal(err)
	}
	if next := mustNext(t, s); len(next.Log) != 2 {
		t.Errorf("claimed with %d entries, want both messages", len(next.Log))
	}
}

// waiting waits until so many operations wait for the writer.
func waiting(t *testing.T, s *Store, n int) {
	t.Helper()
	eventually(t, "operations wait", func() bool {
		s.ops.mu.Lock()
		defer s.ops.mu.Unlock()
		return len(s.ops.ops) == n
	})
}

// What the disk does not take is told to nobody as done, also where it takes what comes
// next, until all that was written is moved into the file itself.
func TestDiskTakesNothing(t *testing.T) {
	t.Parallel()
	s, disk, put := onSlowDisk(t)
	ours := errors.New("input/output error")
	disk.ill = ours
	disk.let()
	reads := beside(t, s.place.file) // so that nothing can be moved
	mustExec(t, reads, "BEGIN; SELECT * FROM number")
	if err := <-put("1"); !errors.Is(err, ours) {
		t.Errorf("put: %v", err)
	}
	run := mustNext(t, s)
	disk.heals()
	_, commits := s.Commit(t.Context(), run, memory.Opened{Turn: 1})
	for what, err := range map[string]error{"settled": run.Settled(), "put again": <-put("1"), "something else": <-put("2"), "commit": commits} {
		if !errors.Is(err, errLost) {
			t.Errorf("%s: %v, want %v", what, err, errLost)
		}
	}
	mustExec(t, reads, "ROLLBACK")
	eventually(t, "it is told as done", func() bool { return run.Settled() == nil })
	if err := <-put("1"); err != nil {
		t.Errorf("put then: %v", err)
	}
	if log, err := s.Read(t.Context(), run.Thread); err != nil || len(log) != 1 {
		t.Errorf("the thread has %d entries, want the message once: %v", len(log), err)
	}
}

// What is put while the disk is waited for goes into one transaction, and is waited for once.
func TestPutsShareTheDisk(t *testing.T) {
	t.Parallel()
	s, disk, put := onSlowDisk(t)
	puts := []chan error{put("1")}
	<-disk.asked
	for _, id := range []string{"2", "3", "4", "5", "6"} {
		puts = append(puts, put(id))
	}
	eventually(t, "the others are written or wait", func() bool {
		s.ops.mu.Lock()
		wait := len(s.ops.ops)
		s.ops.mu.Unlock()
		list, err := s.Threads(t.Context(), memory.ListQuery{Platforms: []string{"board"}, Most: len(puts)})
		return err == nil && len(list)+wait == len(puts) // the writer may have taken some, and waits
	})
	disk.let()
	for _, done := range puts {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n, asked := s.disk.written.Load(), 1+len(disk.asked); n > 3 || asked > 3 {
		t.Errorf("%d transactions, and the disk was asked %d times, want three at most", n, asked)
	}
}
