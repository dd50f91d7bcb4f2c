package redis

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/internal/redistest"
	"nod/memory"
)

// contents gives everything that a server has.
func contents(t *testing.T, s *redistest.Server) map[string]string {
	t.Helper()
	c := s.Client(t)
	keys, err := c.Keys(within(t), "*").Result()
	if err != nil {
		t.Fatalf("list keys: %v", err)
	}
	out := map[string]string{}
	for _, k := range keys {
		if out[k], err = c.Dump(within(t), k).Result(); err != nil {
			t.Fatalf("dump %s: %v", k, err)
		}
	}
	return out
}

// A store of another format is refused in the words of the contract, and neither
// opening nor looking at it changes anything. The first format has no number.
func TestOtherFormats(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openStore(t, server.URL(), Options{Logger: quiet})
	mustPut(t, s, text("one"))
	key := s.keys.own(shardOfThread(someThread), "format")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c := server.Client(t)
	for have, want := range map[int]string{
		1: "store: format 1; this build reads 5: a build before 0.1.0 wrote it",
		4: "store: format 4; this build reads 5: a build before 0.1.0 wrote it",
		7: "store: format 7; this build reads 5",
	} {
		if err := c.Set(within(t), key, have, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if have == 1 {
			if err := c.Del(within(t), key).Err(); err != nil {
				t.Fatal(err)
			}
		}
		before := contents(t, server)
		for what, open := range map[string]func() error{
			"Open":  func() error { _, err := Open(within(t), server.URL(), Options{Logger: quiet}); return err },
			"View":  func() error { _, err := View(within(t), server.URL(), Options{}); return err },
			"Check": func() error { _, err := Check(within(t), server.URL(), Options{}); return err },
		} {
			if err := open(); !errors.Is(err, memory.FormatError{Have: have, Reads: format}) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		if diff := cmp.Diff(before, contents(t, server)); diff != "" {
			t.Errorf("it changed (-before +after):\n%s", diff)
		}
	}
}

// Looking at a store, or at an empty server, changes nothing in it.
func TestLookingChangesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	look := func(entries int) {
		t.Helper()
		before := contents(t, server)
		v, err := View(within(t), server.URL(), Options{})
		if err != nil {
			t.Fatalf("View: %v", err)
		}
		if log, err := v.Read(within(t), someThread); err != nil || len(log) != entries {
			t.Errorf("Read = %v, %v", log, err)
		}
		if _, err := v.Tail(within(t), someThread, 0); err != nil {
			t.Errorf("Tail: %v", err)
		}
		for _, err := range v.Audit(within(t), chat.ThreadID{}) {
			if err != nil {
				t.Errorf("Audit: %v", err)
			}
		}
		if err := v.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if lines, err := Check(within(t), server.URL(), Options{}); err != nil || len(lines) != 0 {
			t.Errorf("Check = %q, %v", lines, err)
		}
		if diff := cmp.Diff(before, contents(t, server)); diff != "" {
			t.Errorf("it changed (-before +after):\n%s", diff)
		}
	}
	look(0)
	s := openStore(t, server.URL(), Options{})
	mustPut(t, s, text("one"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	look(1)
}

// A store that another build brought to a later format while it was open takes
// no more, and changes nothing.
func TestLaterFormatWhileOpen(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openStore(t, server.URL(), Options{Logger: quiet})
	mustPut(t, s, text("one"))
	for shard := range shards {
		if err := s.cmd.Set(within(t), s.keys.own(shard, "format"), format+1, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Put(within(t), someThread, text("two")); !errors.Is(err, memory.FormatError{Have: format + 1, Reads: format}) {
		t.Errorf("Put: %v, want that the format is a later one", err)
	}
}
