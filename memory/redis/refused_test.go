package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/chat"
	"nod/internal/redistest"
	"nod/memory"
)

// probe does what the scripts do: it names every command that any of them uses.
func TestProbeNamesEveryCommand(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`redis\.p?call\('([A-Z]+)'`)
	names := func(file string) (out []string) {
		for _, m := range call.FindAllStringSubmatch(source(file), -1) {
			out = append(out, m[1])
		}
		return out
	}
	probed := append(names("probe"), "TIME", "PUBLISH") // in the prelude; and nothing depends on it
	files, err := sources.ReadDir("lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, name := range names(strings.TrimSuffix(f.Name(), ".lua")) {
			if !slices.Contains(probed, name) {
				t.Errorf("%s uses %s, which probe does not try", f.Name(), name)
			}
		}
	}
}

// A user without dangerous commands is good enough for everything; a check names the
// settings that it can't see.
func TestUserWithoutDangerousCommands(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	if err := server.Client(t).Do(within(t), "acl", "setuser", "nod", "on", ">pw", "~{nod:*", "&nod:*", "+@all", "-@dangerous").Err(); err != nil {
		t.Fatal(err)
	}
	url := "redis://nod:pw@" + server.Addr()
	lines, err := Check(within(t), url, Options{})
	if err != nil || len(lines) != 1 || !strings.Contains(lines[0], "hides its settings") {
		t.Errorf("Check = %q, %v, want that settings are hidden", lines, err)
	}
	s := openStore(t, url, Options{Logger: quiet})
	mustPut(t, s, text("one"))
	run := mustClaim(t, s)
	mustCommit(t, s, run, memory.Started{Call: "1"})
	if err := s.Ping(within(t)); err != nil {
		t.Errorf("Ping: %v", err)
	}
	if _, err := s.Finish(within(t), run, time.Time{}); err != nil {
		t.Errorf("Finish: %v", err)
	}
	if err := s.mend(within(t), shardOfThread(someThread)); err != nil {
		t.Errorf("mend: %v", err)
	}
}

// If anything keeps a server from taking writes, check, start and Ping say so, and Ping
// leaves nothing behind.
func TestWritesAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		refuse     func(t *testing.T, server *redistest.Server)
		user       string
	}{
		{"not its keys", "may not do", func(t *testing.T, server *redistest.Server) {
			do(t, server, "acl", "setuser", "nod", "resetkeys", "~other:*")
		}, "nod:pw@"},
		{"not one of the commands", "may not do", func(t *testing.T, server *redistest.Server) {
			do(t, server, "acl", "setuser", "nod", "-set")
		}, "nod:pw@"},
		{"full", "is full", func(t *testing.T, server *redistest.Server) { do(t, server, "config", "set", "maxmemory", "1") }, ""},
		{"a replica", "is a replica", func(t *testing.T, server *redistest.Server) {
			do(t, server, "replicaof", "127.0.0.1", "1")
			do(t, server, "config", "set", "replica-serve-stale-data", "yes")
		}, ""},
		{"too few replicas", "min-replicas-to-write", func(t *testing.T, server *redistest.Server) {
			do(t, server, "config", "set", "min-replicas-to-write", "1")
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			do(t, server, "acl", "setuser", "nod", "on", ">pw", "~*", "&*", "+@all")
			url := "redis://" + c.user + server.Addr()
			s := openStore(t, url, Options{Logger: quiet})
			if err := s.Ping(within(t)); err != nil {
				t.Errorf("Ping before: %v", err)
			}
			for key := range contents(t, server) {
				if strings.Contains(key, "ping") || strings.Contains(key, "probe") {
					t.Errorf("Ping or Open leave %s behind", key)
				}
			}
			c.refuse(t, server)
			for what, err := range map[string]error{
				"Ping":  s.Ping(within(t)),
				"Check": second(Check(within(t), url, Options{})),
				"Open":  second(Open(within(t), url, Options{Logger: quiet})),
			} {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v, want %q", what, err, c.want)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := s.Put(ctx, someThread, text("one"), "e1"); err == nil {
				t.Error("Put: no error")
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

func do(t *testing.T, server *redistest.Server, args ...any) {
	t.Helper()
	if err := server.Client(t).Do(within(t), args...).Err(); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
}

// A full server loses nothing that it has taken, and the same commit goes through
// once there is room.
func TestFullServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openStore(t, server.URL(), Options{Logger: quiet})
	mustPut(t, s, text("one"))
	run := mustClaim(t, s)
	mustCommit(t, s, run, memory.Opened{Turn: 1})
	do(t, server, "config", "set", "maxmemory", "1")
	for range 3 {
		if _, err := s.Commit(within(t), run, memory.Started{Call: "1"}); err == nil || errors.Is(err, memory.ErrFenced) {
			t.Errorf("Commit: %v, want an error that may pass", err)
		}
		if _, err := s.Finish(within(t), run, time.Time{}); err == nil || errors.Is(err, memory.ErrFenced) {
			t.Errorf("Finish: %v, want an error that may pass", err)
		}
	}
	do(t, server, "config", "set", "maxmemory", "0")
	mustCommit(t, s, run, memory.Started{Call: "1"})
	if _, err := s.Finish(within(t), run, time.Time{}); err != nil {
		t.Errorf("Finish: %v", err)
	}
	wantLog(t, s, run)
}

// A server that is away at the start is waited for, for as long as was asked.
func TestAwayAtTheStart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill(t)
	logged := &messages{}
	opened := make(chan error)
	go func() {
		s, err := Open(within(t), server.URL(), Options{Wait: time.Minute, Logger: slog.New(slog.NewTextHandler(logged, nil))})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	if _, err := Check(within(t), server.URL(), Options{Wait: time.Minute}); err == nil || !strings.Contains(err.Error(), "reach "+server.Addr()) {
		t.Errorf("Check: %v, want that it can't be reached", err)
	}
	server.Restart(t)
	if err := <-opened; err != nil {
		t.Errorf("Open: %v", err)
	}
	logged.has(t, "waiting for it")
}

// A damaged thread is its own trouble: others are claimed, swept and finished
// beside it.
func TestDamagedThread(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openStore(t, server.URL(), Options{Logger: quiet})
	beside := func(i int) chat.ThreadID {
		return chat.ThreadID{Platform: someThread.Platform, Channel: someThread.Channel, Root: fmt.Sprint("beside", i)}
	}
	mustPut(t, s, text("one"))
	if err := s.cmd.Set(within(t), s.keys.key(shardOfThread(someThread), "t", someThread.String()), "no hash", 0).Err(); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		if _, err := s.Put(within(t), beside(i), text("two")); err != nil {
			t.Fatalf("Put: %v", err)
		}
		run := mustClaim(t, s)
		if _, err := s.Finish(within(t), run, run.Now.Add(150*time.Millisecond)); err != nil {
			t.Fatalf("Finish: %v", err)
		}
		if run = mustClaim(t, s); run.Thread != beside(i) || run.Log[len(run.Log)-1].Body != (memory.Due{}) {
			t.Fatalf("claimed %v with %v, want the deadline", run.Thread, run.Log)
		}
		if _, err := s.Finish(within(t), run, time.Time{}); err != nil {
			t.Fatalf("Finish: %v", err)
		}
	}
}
