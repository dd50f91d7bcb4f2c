package sqlite

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"nod/memory"
)

// cache stands between a store's files and its disk, like a system's cache: a power cut
// loses unflushed writes. A flush may fail, as on Linux: the error comes once, and the
// pages count as written from then on. Some systems drop them, so that the old ones are
// read again (Rebello et al., Can Applications Recover from fsync Failures?, 2020).
type cache struct {
	mu      sync.Mutex
	dir     string
	files   map[string]*cached // by base name
	flushes int
	fails   int  // which flush does
	drops   bool // and drops what it should have written
	late    int  // writes over files that were open when a flush failed
}

// cached is a file: what the disk has of it, and which pages it is still to get.
type cached struct {
	disk  []byte
	dirty map[int64]bool
}

const cachePage = 4096

func (c *cache) wrote(name string, from, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.files[name]
	if f == nil {
		f = &cached{dirty: map[int64]bool{}}
		c.files[name] = f
	}
	for page := from / cachePage; page*cachePage < from+size; page++ {
		f.dirty[page] = true
	}
}

// flush brings a file to the disk, or does not.
func (c *cache) flush(name string) (ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.files[name]
	if f == nil {
		return true, nil
	}
	c.flushes++
	path := filepath.Join(c.dir, name)
	now, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	fails := c.flushes == c.fails
	if fails {
		opened.Range(func(at, f any) bool {
			if f := f.(openFile); f.cache == c {
				spent.Store(at, true)
			}
			return true
		})
	}
	was := make([]byte, len(now))
	copy(was, f.disk)
	if !fails {
		f.disk = was
	}
	from, to := now, was
	if fails && c.drops {
		from, to = was, now
	}
	for page := range f.dirty {
		if at := page * cachePage; (!fails || c.drops) && at < int64(len(now)) {
			end := min(at+cachePage, int64(len(now)))
			copy(to[at:end], from[at:end])
		}
	}
	clear(f.dirty)
	if fails && c.drops {
		err = rewrite(path, now)
	}
	return !fails, err
}

// rewrite puts content into a file that is open.
func rewrite(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(content, 0); err != nil {
		return err
	}
	return f.Close()
}

func (c *cache) flushed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flushes
}

func (c *cache) remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.files, name)
}

// next is the same machine with its files in another folder, as a starting process
// finds them: after a kill the cache's content, after a power cut the disk's.
func (c *cache) next(t *testing.T, cut bool) *cache {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	out := &cache{dir: t.TempDir(), files: map[string]*cached{}}
	for name, f := range c.files {
		content := f.disk
		if !cut {
			var err error
			if content, err = os.ReadFile(filepath.Join(c.dir, name)); err != nil {
				t.Fatal(err)
			}
			out.files[name] = &cached{disk: f.disk, dirty: maps.Clone(f.dirty)}
		}
		if err := os.WriteFile(filepath.Join(out.dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	caches.Store(out.dir, out)
	return out
}

// caches are those there are, by folder.
var caches sync.Map

func cacheOf(path string) (*cache, string) {
	if c, ok := caches.Load(filepath.Dir(path)); ok {
		return c.(*cache), filepath.Base(path)
	}
	return nil, ""
}

// opened are SQLite's open files that have a cache, by where SQLite has them; spent are
// those that were open when a flush failed.
var opened, spent sync.Map

type openFile struct {
	*cache
	name string
	own  *lib.Tsqlite3_io_methods // SQLite's
}

func openFileAt(at uintptr) openFile {
	f, _ := opened.Load(at)
	return f.(openFile)
}

func pointer(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

// address makes a function one of SQLite's, and function is the way back.
func address[F any](f F) uintptr {
	alive.Store(&f, f) // SQLite has no more than a number
	return *(*uintptr)(unsafe.Pointer(&f))
}

func function[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&address)) }

var alive sync.Map

type (
	opens  = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32
	erases = func(tls *libc.TLS, vfs, name uintptr, sync int32) int32
	writes = func(tls *libc.TLS, file, from uintptr, size int32, at int64) int32
	closes = func(tls *libc.TLS, file uintptr) int32
)

// SQLite's files go through their cache, where they have one.
func init() { //nolint:gochecknoinits // before a test opens a file
	vfs := (*lib.Tsqlite3_vfs)(pointer(lib.Xsqlite3_vfs_find(libc.NewTLS(), 0)))
	open, erase := function[opens](vfs.FxOpen), function[erases](vfs.FxDelete)
	vfs.FxOpen = address(func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
		rc := open(tls, vfs, name, file, flags, out)
		if name == 0 || rc != lib.SQLITE_OK {
			return rc
		}
		if c, base := cacheOf(libc.GoString(name)); c != nil {
			f := (*lib.Tsqlite3_file)(pointer(file))
			opened.Store(file, openFile{c, base, (*lib.Tsqlite3_io_methods)(pointer(f.FpMethods))})
			f.FpMethods = through(tls, f.FpMethods)
		}
		return rc
	})
	vfs.FxDelete = address(func(tls *libc.TLS, vfs, name uintptr, sync int32) int32 {
		if c, base := cacheOf(libc.GoString(name)); c != nil {
			c.remove(base)
		}
		return erase(tls, vfs, name, sync)
	})
}

var hooked sync.Map // what through made

// through are the methods of files that have a cache.
func through(tls *libc.TLS, methods uintptr) uintptr {
	own := (*lib.Tsqlite3_io_methods)(pointer(methods))
	ours := *own
	ours.FxWrite = address(func(tls *libc.TLS, file, from uintptr, size int32, at int64) int32 {
		f := openFileAt(file)
		if _, ok := spent.Load(file); ok {
			f.mu.Lock()
			f.late++
			f.mu.Unlock()
		}
		rc := function[writes](f.own.FxWrite)(tls, file, from, size, at)
		f.wrote(f.name, at, int64(size))
		return rc
	})
	ours.FxSync = address(func(_ *libc.TLS, file uintptr, _ int32) int32 {
		f := openFileAt(file)
		if ok, err := f.flush(f.name); !ok || err != nil {
			return lib.SQLITE_IOERR_FSYNC
		}
		return lib.SQLITE_OK
	})
	ours.FxClose = address(func(tls *libc.TLS, file uintptr) int32 {
		f := openFileAt(file)
		opened.Delete(file)
		spent.Delete(file)
		return function[closes](f.own.FxClose)(tls, file)
	})
	at := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(ours))) // SQLite counts with addresses, which none of Go's may be
	*(*lib.Tsqlite3_io_methods)(pointer(at)) = ours
	kept, _ := hooked.LoadOrStore(methods, at)
	return kept.(uintptr)
}

// begin opens the store with its writer, and without its other goroutines.
func (c *cache) begin(t *testing.T, checkpoint int) *Store {
	t.Helper()
	s, err := open(t.Context(), filepath.Join(c.dir, "nod.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.done.Go(s.runWriter)
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.do(t.Context(), "set", func(*writer) { s.maxFrames = checkpoint }); err != nil {
		t.Fatal(err)
	}
	return s
}

// One failed flush loses nothing that was acknowledged, before or after it, and nothing
// more is written over the files that were open then. The process may go on or be killed
// at once, and the system may keep or drop the unwritten pages.
func TestFlushFails(t *testing.T) {
	t.Parallel()
	every := 1
	if testing.Short() {
		every = 5
	}
	for _, drops := range []bool{false, true} {
		for _, killed := range []bool{false, true} {
			for _, checkpoint := range []int{2000, 6} {
				t.Run(fmt.Sprintf("drops=%t/killed=%t/checkpoint=%d", drops, killed, checkpoint), func(t *testing.T) {
					t.Parallel()
					n := 1
					for ; !t.Failed() && failingFlush(t, n, drops, killed, checkpoint); n += every {
					}
					if n < 10 {
						t.Errorf("only %d flushes", n)
					}
				})
			}
		}
	}
}

// failingFlush has the n-th flush fail; more says that there was one.
func failingFlush(t *testing.T, n int, drops, killed bool, checkpoint int) (more bool) {
	t.Helper()
	c := (&cache{files: map[string]*cached{}}).next(t, true)
	s := c.begin(t, checkpoint)
	c.mu.Lock()
	c.fails, c.drops = c.flushes+n, drops
	c.mu.Unlock()
	var done []string
	// try repeats what fails, as those who call the store do; by the process that follows, where this one is killed.
	try := func(name string, do func() error) {
		for tries := 0; ; tries++ {
			err := do()
			if err == nil {
				done = append(done, name)
				return
			}
			if tries == 5 {
				t.Fatalf("flush %d, %s: %v", n, name, err)
			}
			if killed {
				c = c.next(t, false)
				s = c.begin(t, checkpoint)
			}
		}
	}
	put := func(name string) {
		try(name, func() error {
			_, err := s.Put(t.Context(), onBoard(name), message(name, strings.Repeat(name, 300)), name)
			return err
		})
	}
	begin := func(call string) {
		try(call, func() error {
			run := mustNext(t, s)
			_, err := s.Commit(t.Context(), run, memory.Posted{Key: "steps/" + call})
			if err == nil {
				_, err = s.Commit(t.Context(), run, memory.Started{Call: call})
			}
			_ = s.Handoff(t.Context(), run)
			return err
		})
	}
	for i := range 4 {
		put(fmt.Sprintf("m%d", i))
		begin(fmt.Sprintf("call%d", i))
	}
	c.mu.Lock()
	if c.late > 0 {
		t.Errorf("flush %d: after it failed the same files were written %d times", n, c.late)
	}
	c.mu.Unlock()
	more = c.fails == 0 || c.flushed() >= c.fails // 0: another process follows one in which it failed

	left := c.next(t, true).begin(t, checkpoint)
	var sound string
	if err := left.db.QueryRow("PRAGMA integrity_check").Scan(&sound); err != nil || sound != "ok" {
		t.Errorf("flush %d: the file is %q, %v", n, sound, err)
	}
	found := map[string]bool{}
	for i := range 4 {
		log, err := left.Read(t.Context(), onBoard(fmt.Sprintf("m%d", i)))
		if err != nil {
			t.Errorf("flush %d: %v", n, err)
		}
		for _, e := range log {
			switch b := e.Body.(type) {
			case memory.Message:
				found[b.Ref.ID] = true
			case memory.Started:
				found[b.Call] = true
			}
		}
	}
	for _, name := range done {
		if !found[name] {
			t.Errorf("flush %d: %s was told as done, and is gone", n, name)
		}
	}
	return more
}

// Entries that are put during a transaction share one flush.
func TestPutsShareAFlush(t *testing.T) {
	t.Parallel()
	c := (&cache{files: map[string]*cached{}}).next(t, true)
	s := c.begin(t, 2000)
	release := gate(t, s)
	var puts sync.WaitGroup
	for i := range 5 {
		puts.Go(func() { mustPut(t, s, fmt.Sprint(i), message(fmt.Sprint(i), "hi")) })
	}
	waiting(t, s, 5)
	before := c.flushed()
	release()
	puts.Wait()
	if n := c.flushed() - before; n > 1 {
		t.Errorf("five puts were flushed %d times", n)
	}
}

// A commit whose flush failed is not done, though the log in the system's cache has it:
// the same commit again is the first one, and a reader never sees it twice.
func TestFlushFailsOfACommit(t *testing.T) {
	t.Parallel()
	c := (&cache{files: map[string]*cached{}}).next(t, true)
	var said lines
	s := c.begin(t, maxFrames)
	if err := s.do(t.Context(), "set", func(*writer) { s.log = said.logger() }); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, "a", message("m1", "hi"))
	run := mustNext(t, s)
	c.mu.Lock()
	c.fails = c.flushes + 1
	c.mu.Unlock()
	if _, err := s.Commit(t.Context(), run, memory.Started{Call: "1"}); err == nil || errors.Is(err, memory.ErrFenced) {
		t.Fatalf("Commit whose flush fails: %v, want an error that can be repeated", err)
	}
	if log, err := s.Read(t.Context(), run.Thread); err != nil || len(log) != 1 {
		t.Errorf("after it %d entries, %v, want the message", len(log), err)
	}
	if _, err := s.Commit(t.Context(), run, memory.Started{Call: "1"}); err != nil {
		t.Fatal(err)
	}
	if log, err := s.Read(t.Context(), run.Thread); err != nil || len(log) != 2 {
		t.Errorf("%d entries, %v, want the message and the call", len(log), err)
	}
	mustClose(t, s) // it is said once the callers have their answers
	if said.count("opened anew") != 1 || said.count("takes no writes") != 1 || said.count("takes writes again") != 1 {
		t.Errorf("said %q", said.buf.String())
	}
}
